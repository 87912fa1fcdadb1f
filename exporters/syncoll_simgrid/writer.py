"""Writes the folder of an algorithm for SimGrid.

A platform has a shared link for each bound of the topology, and a route for each pair of nodes.
Pairs without a link take a shortest path of links, as routed steps do.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

from syncoll.errors import ExportError
from syncoll.model import Counting, Topology
from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.plugins.exporters import PLACE
from syncoll.routing import next_links
from syncoll.runtime import TableExporter
from syncoll_simgrid.format import link_speeds, program, script

_WIDE = "1e15"
"""Bytes per second of a link that only adds a latency."""


class SimgridExporter:
    """Writes ``NAME.c``, ``platform.xml``, ``hosts.txt`` and ``run.sh``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        topology = request.instance.topology
        if any(bound.counts is not Counting.SENDS for bound in topology.bounds):
            raise ExportError(f"switches of {topology.name} copy or add up; SimGrid's do not")
        files = dict(TableExporter(program, ".c").export(request, options).files)
        texts = {
            "platform.xml": platform(topology, options),
            "hosts.txt": "\n".join(f"h{node}" for node in range(topology.num_nodes)),
            "run.sh": script(request.name, topology.num_nodes),
        }
        files |= {name: f"{text.rstrip()}\n".encode() for name, text in texts.items()}
        return Exported(files, (f"to run it: sh {PLACE}/run.sh",))


def platform(topology: Topology, options: Options) -> str:
    """The platform of a topology."""
    return "\n".join(_lines(topology, *link_speeds(topology, options)))


def _lines(topology: Topology, unit: Fraction, latencies: list[Fraction]) -> Iterator[str]:
    passed: dict[tuple[int, int], list[str]] = {}
    for link, bounds in zip(topology.links, topology.link_bounds, strict=True):
        passed[link] = [f"b{number}" for number in bounds]
    own = dict.fromkeys((f"b{number}" for number in range(len(topology.bounds))), Fraction(0))
    for names, latency in zip(passed.values(), latencies, strict=True):
        own[names[0]] = latency
    sums = [sum(own[name] for name in names) for names in passed.values()]
    if sums != latencies:  # the first bound of a link is a later one of another
        own = dict.fromkeys(own, Fraction(0))
        for number, names in enumerate(passed.values()):
            names.append(f"l{number}")
            own[names[-1]] = latencies[number]
    yield '<?xml version="1.0"?>'
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1">\n<zone id="zone" routing="Full">'
    for node in range(topology.num_nodes):
        yield f'<host id="h{node}" speed="1Gf"/>'
    rates = [f"{float(bound.chunks_per_round * unit)!r}Bps" for bound in topology.bounds]
    rates += [f'{_WIDE}Bps" sharing_policy="FATPIPE'] * (len(own) - len(rates))
    for (name, latency), rate in zip(own.items(), rates, strict=True):
        yield f'<link id="{name}" latency="{float(latency)!r}s" bandwidth="{rate}"/>'
    for (source, destination), way in _ways(topology).items():
        links = "".join(f'<link_ctn id="{name}"/>' for hop in way for name in passed[hop])
        yield f'<route src="h{source}" dst="h{destination}" symmetrical="NO">{links}</route>'
    yield "</zone>\n</platform>"


def _ways(topology: Topology) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """The links from any node to any other one."""
    onward, nodes = next_links(topology), range(topology.num_nodes)
    found = dict[tuple[int, int], list[tuple[int, int]]]()
    for source, destination in permutations(nodes, 2):
        way, at = [], source
        while at != destination and onward[at, destination] >= 0:
            way.append(topology.links[onward[at, destination]])
            at = way[-1][1]
        if way:
            found[source, destination] = way
    return found
