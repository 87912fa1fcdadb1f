"""Writes the rings or the trees of an algorithm as a graph file."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import gcd

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Topology
from syncoll.planning import unit_bandwidth
from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.plugins.exporters import PLACE
from syncoll_nccl_graph.wiring import RING, TREES, Boxes, boxes_of, joined, tree_of

_MOST_CHANNELS = 32
_NEITHER = "it is made of neither rings nor NCCL's trees: "

Way = tuple[int, ...]
"""A ring from node 0 on, a tree as the parent of each node, or the order of a host's GPUs."""


class NcclGraphExporter:
    """Writes ``NAME.xml``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """A channel for each ring, or for each order of the GPUs in trees."""
        topology = request.instance.topology
        try:
            boxes = boxes_of(topology)
        except VerificationError as error:
            raise ExportError(str(error)) from None
        rings, trees = _ways(request)
        cross = 0
        if rings:
            pattern, (orders, cross) = RING, _ring_orders(rings, boxes)
        else:
            pattern, orders = _tree_orders(trees, boxes)
        if len(orders) > _MOST_CHANNELS:
            raise ExportError(f"{len(orders)} channels; NCCL has {_MOST_CHANNELS}")
        within, between = _speeds(topology, joined(orders, boxes, pattern, cross), boxes)
        labels = () if topology.fabric is None else (one.label for one in topology.fabric.links)
        near = any("nvl" in label.lower() or "xgmi" in label.lower() for label in labels)
        lines = [
            '<graphs version="1">',
            f'  <graph id="{int(pattern != RING)}" pattern="{pattern}" crossnic="{cross}" '
            f'nchannels="{len(orders)}" speedintra="{within}" speedinter="{between}" '
            f'latencyinter="0" typeintra="{"NVL" if near else "PHB"}" typeinter="PIX" '
            f'samechannels="{int(len(set(orders)) == 1)}">',
        ]
        for order in orders:
            inner = [f'<gpu dev="{gpu:#x}"/>' for gpu in order]
            if len(boxes) > 1:
                first, last = (f'<net dev="{order[i]:#x}"/>' for i in (0, -1))
                inner = [first, *inner, last]
            lines += ["    <channel>", *(f"      {one}" for one in inner), "    </channel>"]
        lines += ["  </graph>", "</graphs>", ""]
        name = "Ring" if pattern == RING else "Tree"
        notes = [f"with NCCL_GRAPH_FILE={PLACE} and NCCL_ALGO={name} on all hosts NCCL uses it"]
        if len(boxes) > 1:
            notes.append("net dev k is the card of GPU k; NCCL may number cards in another way")
        return Exported({f"{request.name}.xml": "\n".join(lines).encode()}, tuple(notes))


def _path(edges: set[tuple[int, int]], nodes: int) -> Way:
    """The nodes of links that are one path through all nodes; else empty."""
    following = dict(edges)
    ends = set(following.values())
    path = [*set(following) - ends]
    if not path or not len(edges) == len(following) == len(ends) == nodes - 1:
        return ()
    while path[-1] in following:
        path.append(following[path[-1]])
    return tuple(path) if len(path) == nodes else ()


def _ways(request: ExportRequest) -> tuple[Counter[Way], Counter[Way]]:
    """The rings, or else the trees, of the chunks, each with its number of chunks.  Raises
    ExportError if there are neither, or rings do not share the data of each node equally.

    A chunk may be reduced around one ring and copied around another, if as many are so in turn.
    """
    algorithm, nodes = request.algorithm, request.instance.topology.num_nodes
    carried = algorithm.contributions
    edges = defaultdict[int, tuple[set[tuple[int, int]], ...]](lambda: (set(), set()))
    for i, (chunk, source, destination, _) in enumerate(algorithm.sends.tolist()):
        reduces = carried is not None and not carried[i, destination]
        edges[chunk][not reduces].add((source, destination))
    if not edges:
        raise ExportError("it sends nothing, and has neither rings nor trees")
    phases = [defaultdict[Way, Counter[int]](Counter) for _ in range(2)]
    trees, chunks, in_rings = Counter[Way](), request.instance.num_chunks, 0
    for both in edges.values():
        paths = [_path(some, nodes) for some in both]
        in_rings += all(path or not some for path, some in zip(paths, both, strict=True))
        for phase, path in enumerate(paths):
            if path:
                start = path.index(0)
                phases[phase][path[start:] + path[:start]][path[phase - 1]] += 1
        up, down = both
        if {(b, a) for a, b in up} == down and len(dict(up)) == len(up) == nodes - 1:
            trees[tuple(dict(up).get(node, -1) for node in range(nodes))] += 1
    used = [phase for phase in phases if phase]
    homes = {home for phase in used for counts in phase.values() for home in counts}
    each = [{w: Counter({counts[h] for h in homes}) for w, counts in one.items()} for one in used]
    even = all(len(counts) == 1 for phase in each for counts in phase.values())
    if in_rings == chunks and even and len(homes) in (1, nodes) and each[0] == each[-1]:
        return Counter({way: next(iter(counts)) for way, counts in each[0].items()}), Counter()
    if trees.total() == chunks:
        return Counter(), trees
    wrong = "its rings do not share the data of each node equally"
    if (most := max(in_rings, trees.total())) < chunks:
        wrong = f"{most} of {chunks} chunks have such ways"
    raise ExportError(_NEITHER + wrong)


def _ring_orders(rings: Counter[Way], boxes: Boxes) -> tuple[list[Way], int]:
    """The order of a host's GPUs in each channel, and NCCL's number for its use of cards."""
    size, hosts = len(boxes[0]), len(boxes)
    found: Counter[tuple[Way, Way]] = Counter()  # of even hosts, and of odd ones
    for ring, count in rings.items():
        for turned in (ring[i:] + ring[:i] for i in range(len(ring) if hosts > 1 else 1)):
            parts = [turned[size * host : size * host + size] for host in range(hosts)]
            if all(sorted(x) == box for x, box in zip(parts, boxes, strict=True)):
                orders = [tuple(map(box.index, x)) for x, box in zip(parts, boxes, strict=True)]
                if all(one == orders[host % 2] for host, one in enumerate(orders)):
                    found[orders[0], orders[hosts > 1]] += count
                    break
        else:
            raise ExportError("a ring does not pass through all hosts in turn in the same order")
    share = reduce(gcd, found.values())
    crossed = any(one != other for one, other in found)
    if crossed and (hosts % 2 or any(found[a, b] != found[b, a] for a, b in found)):
        raise ExportError("rings in other orders on every second host need others the other way")
    if not crossed:
        return [a for (a, _), count in found.items() for _ in range(count // share)], 0
    pairs = [(a, b, n // share) for (a, b), n in found.items() if a <= b]
    twice = 1 + any(a == b and n % 2 for a, b, n in pairs)
    turns = [(a, b, twice * n // (1 + (a == b))) for a, b, n in pairs]
    return [one for a, b, n in turns for _ in range(n) for one in (a, b)], 2


def _tree_orders(trees: Counter[Way], boxes: Boxes) -> tuple[int, list[Way]]:
    """The pattern, and the order of a host's GPUs for each channel, a pair of trees."""
    halves, box = range(min(2, len(boxes))), boxes[0]
    for pattern in TREES:
        found: defaultdict[Way, Counter[int]] = defaultdict(Counter)
        for parents, count in trees.items():
            below = {up: node for node, up in enumerate(parents) if up in box and node in box}
            chain = [node for node in box if parents[node] not in box]
            while chain[-1] in below and len(chain) <= len(box):
                chain.append(below[chain[-1]])
            order = tuple(map(box.index, chain))
            for half in halves if sorted(chain) == box else ():
                if tree_of(order, boxes, pattern, half) == parents:
                    found[order][half] = count
        even = all(len({counts[half] for half in halves}) == 1 for counts in found.values())
        known = {tree_of(order, boxes, pattern, half) for order in found for half in halves}
        if even and known == set(trees):
            share = reduce(gcd, (counts[0] for counts in found.values()))
            return pattern, [o for o, counts in found.items() for _ in range(counts[0] // share)]
    raise ExportError(f"{_NEITHER}NCCL's are chains in a host, and two trees of hosts")


def _speeds(topology: Topology, used: Sequence[tuple[int, int]], boxes: Boxes) -> tuple[str, str]:
    """GB/s of a channel within hosts and between them; in chunks per round without units."""
    count, unit = Counter(used), (unit_bandwidth(topology) or Fraction(10**9)) / 10**9
    host = {node: number for number, box in enumerate(boxes) for node in box}
    least: dict[bool, Fraction] = {}
    for bound in topology.bounds:
        load = sum(count[link] for link in bound.links)
        for inside in {host[a] == host[b] for a, b in bound.links if count[a, b]}:
            rate = bound.chunks_per_round * unit / load
            least[inside] = min(least.get(inside, rate), rate)
    within = least.get(True, Fraction(1))
    return f"{float(within):.4g}", f"{float(least.get(False, within)):.4g}"
