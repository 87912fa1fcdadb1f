"""The parts of a folder for SimGrid that its writer and its checker agree on."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from syncoll.model import Topology
from syncoll.planning import unit_bandwidth
from syncoll.plugins import OptionValue
from syncoll.simulating import physical_network
from syncoll_tables import mpi_format

FORMAT = mpi_format("simgrid")


def script(name: str, nodes: int) -> str:
    """The script that runs ``NAME.c``."""
    text = Path(__file__).with_name("run.sh.txt").read_text("utf-8")
    return text.replace("@NAME@", name).replace("@NODES@", str(nodes))


def link_speeds(
    topology: Topology, options: Mapping[str, OptionValue]
) -> tuple[Fraction, list[Fraction]]:
    """Bytes per second of a chunk per round, and seconds of each link."""
    alpha = Fraction(str(options["latency"])) / 10**6
    unit = Fraction(str(options["bandwidth"])) * 10**9
    unit = unit or unit_bandwidth(topology) or Fraction(10**9)
    if not alpha and topology.fabric is not None and topology.fabric.states_latencies:
        return unit, list(physical_network(topology, None, unit).link_latencies)
    return unit, [alpha or Fraction(1, 10**6)] * len(topology.links)
