"""Times for each message size, and the assumptions behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from syncoll import values
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.model import Instance, Topology
from syncoll.pages.page import short_fraction
from syncoll.planning import CostModel, MessageMeasure, members_for, message_of, unit_bandwidth
from syncoll.reporting.subject import Subject
from syncoll.simulating import WIRE, Comparison, Runtime, Semantics, Timed, physical_network
from syncoll.simulating.comparison import compare
from syncoll.simulating.floors import with_floors
from syncoll.units import format_bandwidth, format_time

ASSUMED_ALPHA = Fraction(1, 10**6)
ASSUMED_BANDWIDTH = Fraction(25 * 10**9)
"""Used if the speed of the machine is unknown."""

MESSAGES = tuple(1 << power for power in range(10, 31))
"""Sizes that are simulated, in bytes as nccl-tests count them."""


@dataclass(frozen=True, eq=False)
class Rival:
    """An algorithm of a report, a classic, such as ``ring``, in its fastest form for each size, or
    a pipeline in some of them; without seconds if nothing is simulated."""

    name: str
    forms: tuple[Timed, ...]

    @property
    def classic(self) -> bool:
        """Whether it is a classic."""
        return bool(self.forms[0].classic)

    @cached_property
    def simulated(self) -> tuple[float, ...]:
        """Seconds at the sizes of the comparison, if any."""
        each = zip(*(one.seconds for one in self.forms), strict=True)
        return tuple(float(min(seconds)) for seconds in each)

    def seconds(self, model: CostModel, size: Fraction) -> float:
        """By the formula, for L bytes of one node's data."""
        every = (one.algorithm for one in self.forms)
        return float(min(model.seconds(one.steps, one.bandwidth, size) for one in every))


@dataclass(frozen=True, eq=False)
class Times:
    """The model of a report, and its times.

    Args:
        alpha_from: the origin of alpha: "given", "as the machine is described" or "assumed".
        beta_from: the same of beta.
        algorithms: of the report, in its order.
        rivals: pipelines, then classics that run on this machine.
        simulated: None without simulation.
        left_out: omissions, with the reasons.
    """

    model: CostModel
    alpha_from: str
    beta_from: str
    message: MessageMeasure
    algorithms: tuple[Rival, ...]
    rivals: tuple[Rival, ...]
    simulated: Comparison | None
    left_out: Mapping[str, str]

    @classmethod
    def of(
        cls,
        subject: Subject,
        model: CostModel,
        alpha_from: str,
        beta_from: str,
        compared: Comparison | None = None,
        left_out: Mapping[str, str] | None = None,
    ) -> "Times":
        """By the formula, and by the simulator where a comparison with classics is given: of the
        subject's algorithms in their order, then members of pipelines."""
        message, stored = message_of(one.instance for one in subject.stored), subject.stored
        timed = [Timed(one, ()) for one in stored] if compared is None else compared.algorithms
        own = [
            Rival(f"S = {one.steps}, R/C = {short_fraction(one.bandwidth)}", (each,))
            for one, each in zip(stored, timed, strict=False)
        ]
        forms: dict[tuple[str, bool], list[Timed]] = {}
        for one in timed[len(stored) :]:
            number = one.name.partition("[")[2].partition("]")[0]  # of families[0].member(5)
            name = "pipeline" if number == "0" else f"pipeline {number}"
            forms.setdefault((name, False), []).append(one)
        for one in () if compared is None else compared.classics:
            forms.setdefault((one.classic, True), []).append(one)
        rivals = (Rival(name, tuple(each)) for (name, _), each in forms.items())
        how = model, alpha_from, beta_from, message
        return cls(*how, tuple(own), tuple(rivals), compared, left_out or {})

    @property
    def runtime(self) -> Runtime:
        """Whose costs simulated times have."""
        return WIRE if self.simulated is None else self.simulated.runtime

    @property
    def words(self) -> str:
        """The model in a sentence."""
        return (
            f"alpha = {format_time(self.model.alpha)} a step ({self.alpha_from}); a link of one "
            f"chunk per round carries {format_bandwidth(self.model.bandwidth)} ({self.beta_from})"
        )

    def seconds(self, message: int) -> list[tuple[float, Rival]]:
        """The time of each one compared, simulated if the network is known; the fastest first."""
        every = [*self.algorithms, *self.rivals]
        if self.simulated is None:
            length = self.message.node_bytes(message)
            found = [one.seconds(self.model, length) for one in every]
        else:
            at = self.simulated.sizes.index(message)
            found = [one.simulated[at] for one in every]
        return sorted(zip(found, every, strict=True), key=lambda pair: pair[0])

    def entry(self) -> dict[str, Any]:
        """For the page; times are in seconds, bandwidths in bytes per second."""
        simulated = self.simulated and {
            "sizes": self.simulated.sizes,
            "entries": [one.simulated for one in self.algorithms],
            "rivals": [one.simulated for one in self.rivals],
            "floors": self.simulated.floors,
        }
        return {
            "alpha": float(self.model.alpha),
            "bandwidth": float(self.model.bandwidth),
            "alpha_from": self.alpha_from,
            "beta_from": self.beta_from,
            "per_node": float(self.message.per_node),
            "message": self.message.words,
            "rivals": [
                {
                    "name": one.name,
                    "classic": one.classic,
                    "forms": [(x.algorithm.steps, str(x.algorithm.bandwidth)) for x in one.forms],
                }
                for one in self.rivals
            ],
            "simulated": simulated,
            "runtime": self.runtime.words,
        }


def times_of(
    subject: Subject,
    alpha: float | str | None,
    beta: float | str | None,
    runtime: Runtime,
    classics: Callable[[Instance], tuple[dict[str, list[StoredAlgorithm]], dict[str, str]]],
) -> Times:
    """Times by the formula, and by the simulator if it can simulate the algorithms.

    Args:
        classics: of an instance's collective by name, and the reasons without others.
    """
    how = usual_model(subject.topology, alpha, beta)
    if not subject.entries:
        return Times.of(subject, *how)
    model, stored = how[0], subject.stored
    try:
        latency = None if how[1] == DESCRIBED else model.alpha
        network = physical_network(subject.topology, latency, model.bandwidth)
        if subject.frontier is not None:
            shown = {(one.steps, one.bandwidth) for one in stored}
            models = runtime.models(network, Semantics())
            members = members_for(subject.frontier, models, MESSAGES)
            stored += [one for one in members if (one.steps, one.bandwidth) not in shown]
        found, reasons = classics(stored[0].instance)
        compared = compare(stored, found, network, Semantics(), MESSAGES, reasons, runtime)
        compared = with_floors(compared, subject.frontier)
    except UsageError as error:
        return Times.of(subject, *how, left_out={"simulated times": str(error)})
    return Times.of(subject, *how, compared, compared.left_out)


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
