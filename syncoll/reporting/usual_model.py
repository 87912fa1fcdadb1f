"""Alpha and beta of a report, given, described, or assumed."""

from fractions import Fraction

from syncoll import values
from syncoll.model import Topology
from syncoll.planning import CostModel, unit_bandwidth
from syncoll.reporting.times import ASSUMED_ALPHA, ASSUMED_BANDWIDTH
from syncoll.simulating import physical_network

__all__ = ["DESCRIBED", "usual_model"]

DESCRIBED = "as the machine is described"


def usual_model(
    topology: Topology, alpha: float | str | None = None, beta: float | str | None = None
) -> tuple[CostModel, str, str]:
    """Alpha and beta, with the origin of each."""
    bandwidth: Fraction | None = unit_bandwidth(topology)
    latency, alpha_from, beta_from = ASSUMED_ALPHA, "assumed", DESCRIBED
    if beta is not None:
        bandwidth, beta_from = values.bandwidth_of("beta", beta), "given"
    if bandwidth is None:
        bandwidth, beta_from = ASSUMED_BANDWIDTH, "assumed"
    if alpha is not None:
        latency, alpha_from = values.time_of("alpha", alpha), "given"
    elif topology.fabric is not None and topology.fabric.states_latencies:
        latency = physical_network(topology, None, bandwidth).greatest_latency
        alpha_from = DESCRIBED
    return CostModel(latency, bandwidth), alpha_from, beta_from
