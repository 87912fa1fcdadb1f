"""The parts of a folder for SimGrid that its writer and its checker agree on."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from syncoll.model import Fabric, Topology
from syncoll.plugins import OptionValue
from syncoll.routing import route
from syncoll_tables import mpi_format

__all__ = ["FORMAT", "link_speeds", "script"]

FORMAT = mpi_format("simgrid")


def script(name: str, nodes: int) -> str:
    """The script that runs ``NAME.c``."""
    text = Path(__file__).with_name("run.sh.txt").read_text("utf-8")
    return text.replace("@NAME@", name).replace("@NODES@", str(nodes))


def link_speeds(
    topology: Topology, options: Mapping[str, OptionValue]
) -> tuple[Fraction, list[Fraction]]:
    """Bytes per second of a chunk per round, and seconds of each link."""
    fabric, alpha = topology.fabric, Fraction(str(options["latency"])) / 10**6
    unit = Fraction(str(options["bandwidth"])) * 10**9
    if not unit and fabric is not None and fabric.measure == "GB/s":
        unit = fabric.chunk_bandwidth * 10**9
    unit = unit or Fraction(10**9)
    if not alpha and fabric is not None and fabric.states_latencies:
        return unit, _stated(topology, fabric)
    return unit, [alpha or Fraction(1, 10**6)] * len(topology.links)


def _stated(topology: Topology, fabric: Fabric) -> list[Fraction]:
    """Seconds of each link by the cables on its way, the longest one if it divides."""
    known = {(x.source, x.destination): x.latency or Fraction(0) for x in fabric.links}
    members = list(zip(topology.links, topology.link_bounds, strict=True))
    if not fabric.num_switches:  # a bound of a single cable, also on the way of routed steps
        cable = {bounds[0]: known[link] for link, bounds in members if link in known}
        return [sum((cable[bound] for bound in bounds), Fraction(0)) for _, bounds in members]
    routing = route(fabric)
    return [
        sum(
            (
                max(sum((known[ends] for ends in pairwise(path)), Fraction(0)) for path, _ in parts)
                for parts in routing.pieces_of(link)
            ),
            Fraction(0),
        )
        for link in topology.links
    ]
