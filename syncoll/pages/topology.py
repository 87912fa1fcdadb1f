"""The page of a topology."""

from collections.abc import Iterator
from fractions import Fraction

from syncoll.model import UNREACHABLE, BandwidthBound, Counting, Fabric, Topology
from syncoll.pages.page import Page, PageParts, paged
from syncoll.units import format_time
from syncoll.wording import counted

_WIDEST_MATRIX = 110
"""Columns of a matrix where nothing else limits it; larger networks are shown as lists."""

_MOST_LINKS_SHOWN = 8


@paged
def topology_page(topology: Topology, doc: str = "", width: int | None = None) -> PageParts:
    """The documentation, nodes, switches and links of a topology; `width`: columns at most."""
    if doc:
        yield doc + "\n"
    diameter = int(topology.distances.max())
    yield (
        f"{topology.name}: {counted(topology.num_nodes, 'node')}, "
        f"{counted(len(topology.links), 'directed link')}, "
        + ("not connected" if diameter >= UNREACHABLE else f"diameter {diameter}")
    )
    if topology.grains > 1:
        yield f"rounds of a step: multiples of 1/{topology.grains}"
    fabric = topology.fabric
    if fabric is not None:
        switches = counted(fabric.num_switches, "switch")
        unit = f"; a chunk per round is {fabric.chunk_bandwidth} GB/s"
        yield (
            f"physical network: {switches}, {counted(len(fabric.links), 'directed link')}"
            f"{unit if fabric.measure == 'GB/s' else ''}{_latencies(fabric)}"
        )
    if topology.links:
        yield from _links(topology, width)
    yield from (_shared(bound) for bound in topology.bounds if len(bound.links) > 1)


def _latencies(fabric: Fabric) -> str:
    """From the least to the greatest, where they are known."""
    if not fabric.states_latencies:
        return ""
    known = sorted({link.latency for link in fabric.links if link.latency is not None})
    low, high = format_time(known[0]), format_time(known[-1])
    return f"; latency {low}" if low == high else f"; latencies from {low} to {high}"


def _links(topology: Topology, width: int | None) -> Iterator[str | Page]:
    """A matrix where it fits, else the neighbours of each node."""
    own: dict[tuple[int, int], Fraction] = {}
    for bound in topology.bounds:
        if len(bound.links) == 1:
            link = bound.links[0]
            own[link] = min(bound.chunks_per_round, own.get(link, bound.chunks_per_round))
    legend = "chunks per round"
    if any(link not in own for link in topology.links):
        legend += "; * means bounded only together with other links"
    nodes, links = range(topology.num_nodes), {x: str(own.get(x, "*")) for x in topology.links}
    widest = max(len(str(topology.num_nodes)), *(len(value) for value in links.values())) + 2
    available = width or _WIDEST_MATRIX
    if widest * (topology.num_nodes + 1) + 2 <= available:
        yield f"{legend}, from row to column\n"
        rows = [(a, *(links.get((a, b), ".") for b in nodes)) for a in nodes]
        yield Page().table((">", *(f">{b}" for b in nodes)), rows)
        return
    same = set(links.values()).pop() if len(set(links.values())) == 1 else None
    yield f"{legend}: {same} on every link" if same else f"{legend} in parentheses"
    targets: dict[int, list[str]] = {}
    for (a, b), value in links.items():
        targets.setdefault(a, []).append(str(b) if same else f"{b} ({value})")
    digits = len(str(topology.num_nodes - 1))
    for a, each in targets.items():
        yield f"  {a:>{digits}} -> {'  '.join(each)}"


_COUNTS = {
    Counting.SENDS: "",
    Counting.SOURCES: ", copies of one send counted once",
    Counting.DESTINATIONS: ", sends that a switch adds up counted once",
}


def _shared(bound: BandwidthBound) -> str:
    """A bound over several links in one line."""
    links = " ".join(f"{a}->{b}" for a, b in bound.links[:_MOST_LINKS_SHOWN])
    if len(bound.links) > _MOST_LINKS_SHOWN:
        links += f" … ({counted(len(bound.links), 'link')})"
    label = f"{bound.label}: " if bound.label else ""
    rate = bound.chunks_per_round
    amount = counted(int(rate), "chunk") if rate.denominator == 1 else f"{rate} chunks"
    return f"shared: {label}{amount} per round over {links}{_COUNTS[bound.counts]}"
