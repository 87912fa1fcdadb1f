"""Reads graph files, and performs a collective on their rings or trees as NCCL does.

A ring carries an allgather, a reducescatter, and both in turn for an allreduce; the data of each
node are shared out to all rings.  In a broadcast, a reduce and in trees, the data of a way are cut
into slices that follow one another.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from syncoll.errors import FileFormatError, UncheckedError, VerificationError
from syncoll.importing.fitting import fitted
from syncoll.importing.xml_text import parse_xml
from syncoll.model import Algorithm, Instance, Topology
from syncoll.model.counting import bound_loads
from syncoll.plugins import CheckedExport, Options
from syncoll.plugins.foreign import ForeignAlgorithm, Meant
from syncoll.trust import require_valid
from syncoll_nccl_graph.wiring import RING, TREES, boxes_of, ways_of

_SLICES = 16
_MOST_CHANNELS = 64
_MOST_CHUNKS = 1 << 16
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,15}|[0-9]{1,15}")

Send = tuple[int, int, int]
"""Source, destination and step."""


@dataclass(frozen=True)
class _Channels:
    """The channels of a graph: for each the order of a host's GPUs, by their positions."""

    pattern: int
    cross: int
    orders: list[tuple[int, ...]]
    others: bool = False

    def ways(self, topology: Topology) -> list[tuple[int, ...]]:
        """Rings as nodes in order, or trees as the parent of each node."""
        size, nodes = len(self.orders[0]), topology.num_nodes
        boxes = [list(range(nodes))] if size == nodes else boxes_of(topology)
        if len(boxes[0]) != size:
            raise VerificationError(
                f"its channels have {size} GPUs, and {topology.name} has {len(boxes)} x "
                f"{nodes // len(boxes)}"
            )
        return ways_of(self.orders, boxes, self.pattern, self.cross)


class NcclGraphChecker:
    """Checks one file."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; with an instance, no link may carry more than R
        allows."""
        (content,) = files.values()
        found = _read(content)
        facts: dict[str, int | str] = {"channels": len(found.orders), "pattern": found.pattern}
        about = "NCCL graph", "not stated", len(found.orders[0]), None, facts
        if instance is None:
            return CheckedExport(*about, False, all_nodes=False)
        topology = instance.topology
        own, algorithm = fitted(_performed(found, instance), topology, None)
        require_valid(own, algorithm)
        loads = np.array(bound_loads(topology, algorithm)).sum(axis=-1)
        rates = [bound.chunks_per_round for bound in topology.bounds]
        needed = max((Fraction(int(x)) / b for x, b in zip(loads, rates, strict=True)), default=0)
        if needed * instance.chunks > instance.rounds * own.chunks:
            raise VerificationError(
                f"its channels need an R/C of {needed / own.chunks}, more than "
                f"{Fraction(instance.rounds, instance.chunks)}"
            )
        about = about[0], instance.collective, topology.num_nodes, None, facts
        links = frozenset((a, b) for _, a, b, _ in algorithm.sends.tolist())
        return CheckedExport(*about, links=links)

    def read(self, files: Mapping[str, bytes], meant: Meant) -> ForeignAlgorithm:
        """The algorithm of the rings or trees for the collective and the machine that were
        named."""
        (content,) = files.values()
        found, topology, collective = _read(content), meant.machine(), meant.result()
        least = collective.least_chunks(topology.num_nodes, topology.num_nodes**2) or 1
        steps = topology.num_nodes * 2
        asked = collective.instantiate(topology, chunks=least, steps=steps, rounds=steps)
        return _performed(found, asked)


def _performed(found: _Channels, instance: Instance) -> ForeignAlgorithm:
    """The algorithm for a collective, with each chunk cut so that all channels get equal shares."""
    ways, nodes = found.ways(instance.topology), instance.topology.num_nodes
    combining = instance.combining
    everywhere = (instance.post if combining else instance.pre | instance.post).all()
    ends = instance.pre.all(axis=1).all() if combining else everywhere
    one = (instance.post if combining else instance.pre).sum(axis=1) == 1
    whole = combining and everywhere
    if not ends or not (one.all() or whole) or (found.pattern != RING and not whole):
        kind = "trees" if found.pattern in TREES else "rings"
        raise UncheckedError(f"NCCL does not run {instance.collective} on {kind}")
    sliced = found.pattern != RING or (len(instance.chunk_classes) == 1 and not whole)
    shares = len(ways) * (_SLICES if sliced else nodes if whole else 1)
    cut = lcm(*(shares // np.gcd(shares, len(some)) for some in instance.chunk_classes))
    if instance.num_chunks * cut > _MOST_CHUNKS:
        raise UncheckedError(f"{instance.num_chunks * cut} chunks are too many")
    pre, post = (np.repeat(x, cut, axis=0) for x in (instance.pre, instance.post))
    rows: list[tuple[int, ...]] = []
    for some in instance.chunk_classes:
        every = [chunk * cut + part for chunk in some.tolist() for part in range(cut)]
        for turn, chunk in enumerate(every):
            way, turn = ways[turn % len(ways)], turn // len(ways)
            if found.pattern != RING:
                sends = _along_tree(way, turn % _SLICES)
            else:
                node = int((post if combining else pre)[chunk].argmax())
                home = way[turn % nodes] if whole else node
                late = turn % _SLICES if sliced else 0
                sends = _along_ring(way, home, late, reduces=combining, copies=bool(everywhere))
            rows += [(chunk, *send) for send in sends]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    algorithm = Algorithm((0,) * (int(table[:, 3].max(initial=-1)) + 1), table)
    noun = "rings" if found.pattern == RING else "trees"
    derived = f"The file has {noun} and no steps; its {len(ways)} {noun} share the data equally"
    derived += f", each in {_SLICES} slices that follow one another." if sliced else "."
    if found.others:
        derived += "  Its trees are not used."
    name, chunks = instance.collective, instance.chunks * cut
    return ForeignAlgorithm(name, algorithm, pre, post, combining, chunks, derived=derived)


def _along_ring(
    ring: tuple[int, ...], home: int, late: int, *, reduces: bool, copies: bool
) -> Iterator[Send]:
    """The sends of a chunk that is reduced at a node, or copied from it, or both."""
    nodes, at = len(ring), ring.index(home)
    hops = range(1 if reduces else nodes, 2 * nodes if copies else nodes + 1)
    for step, (a, b) in enumerate(pairwise(hops), late):
        yield ring[(at + a) % nodes], ring[(at + b) % nodes], step


def _along_tree(parents: tuple[int, ...], late: int) -> Iterator[Send]:
    """The sends of a chunk that is reduced at the root of a tree and copied back."""
    depths = [0] * len(parents)
    for node, up in enumerate(parents):
        while up >= 0:
            depths[node], up = depths[node] + 1, parents[up]
    late += max(depths)
    for node, (up, depth) in enumerate(zip(parents, depths, strict=True)):
        if depth:
            yield node, up, late - depth
            yield up, node, late + depth - 1


def _read(content: bytes) -> _Channels:
    """The rings of a file, or else its trees."""
    try:
        text = content.decode("utf-8-sig")
        root = parse_xml(text)
    except UnicodeDecodeError as error:
        raise VerificationError(f"byte {error.start} is not UTF-8") from None
    except FileFormatError as error:
        raise VerificationError(f"{'line ' * bool(getattr(error, 'line', 0))}{error}") from None
    plain = re.sub(r"<!--.*?-->", lambda x: "\n" * x[0].count("\n"), text, flags=re.DOTALL)
    starts = re.finditer(r"<(?:graph|channel)(?=[\s/>])", plain)
    counted = (1 + plain.count("\n", 0, start.start()) for start in starts)
    parts = (x for x in root.iter() if x.tag in ("graph", "channel"))
    lines = {part: f"line {line}" for part, line in zip(parts, counted, strict=False)}
    if root.tag != "graphs" or root.get("version") != "1":
        raise VerificationError(
            f'line 1: <{root.tag}> of version {root.get("version")}; expected <graphs version="1">'
        )
    found: dict[int, _Channels] = {}
    for graph in root.iterfind("graph"):
        line, under = lines[graph], graph.findall("channel")
        number, pattern, channels, cross = (
            _whole(graph.get(key), f"{line}: {key} of graph", 1 << 15)
            for key in ("id", "pattern", "nchannels", "crossnic")
        )
        if number not in (0, 1):
            continue  # of switches that reduce
        if pattern not in ((RING,) if number == 0 else TREES):
            raise VerificationError(f"{line}: graph {number} has pattern {pattern}")
        if not 1 <= channels <= _MOST_CHANNELS or len(under) != channels:
            raise VerificationError(
                f"{line}: nchannels is {channels}, and there are {len(under)}; expected as "
                f"many, and 1 to {_MOST_CHANNELS}"
            )
        if number in found:
            raise VerificationError(f"{line}: a second graph of id {number}")
        gpus = [
            [_whole(x.get("dev"), f"{lines[one]}: dev of gpu", 1 << 60) for x in one.iter("gpu")]
            for one in under
        ]
        known = sorted(set(gpus[0]))
        for one, order in zip(under, gpus, strict=True):
            wrong = [gpu for gpu, count in Counter(order).items() if count > 1]
            wrong += sorted(set(order) ^ set(known))
            if wrong or len(known) < 2:
                raise VerificationError(
                    f"{lines[one]}: GPU {wrong[0] if wrong else known} is not once in this "
                    "channel; expected each GPU of the host once, and at least two"
                )
        position = {gpu: i for i, gpu in enumerate(known)}
        orders = [tuple(position[gpu] for gpu in order) for order in gpus]
        alike = _whole(graph.get("samechannels"), f"{line}: samechannels of graph", 2)
        if alike and cross != 2 and len(set(orders)) > 1:
            raise VerificationError(f"{line}: samechannels is 1, and the channels differ")
        found[number] = _Channels(pattern, cross, orders)
    if not found:
        raise VerificationError("it has neither rings (graph 0) nor trees (graph 1)")
    return replace(found[min(found)], others=len(found) > 1)


def _whole(text: str | None, what: str, end: int) -> int:
    """A number below `end`, decimal or hexadecimal."""
    value = int(text, 16 if text[1:2] in "xX" else 10) if _NUMBER.fullmatch(text or "") else end  # type: ignore[arg-type,index]
    if value >= end:
        raise VerificationError(
            f"{what} is {(text or '')[:40]!r}; expected a whole number below {end}"
        )
    return value
