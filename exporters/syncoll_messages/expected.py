"""The chunks that start and must end at each rank, and the check that played ranks achieve it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport
from syncoll_messages.play import NodeKind, Place, Played, RankGraph, play, waits_for
from syncoll_threadblocks import STANDARD, OwnSpecification, Specification, masks_of, rank_names

CUSTOM = "custom"


@dataclass(frozen=True)
class Expected:
    """The chunks with which ranks start, and that they must end with; reduced if combining.  The
    sizes of chunks, in bytes, if they are stated."""

    combining: bool
    num_chunks: int
    starts: tuple[frozenset[int], ...]
    ends: tuple[frozenset[int], ...]
    sizes: tuple[int, ...] | None = field(default=None, compare=False)

    def name(self) -> str:
        """The runtimes' name of the collective; ``custom`` if they have none."""
        starts, ends = masks_of(self.starts), masks_of(self.ends)
        ranks = len(self.starts)
        demands = Counter((starts[chunk], ends[chunk]) for chunk in starts | ends)
        if demands.total() < self.num_chunks or ranks == 1 or not demands:
            return CUSTOM
        ((start, end), share), *_ = demands.items()
        for name in STANDARD:
            for root in {max(0, mask.bit_length() - 1) for mask in (start, end)}:
                spec = Specification(name, ranks, share, root)
                if spec.combining == self.combining and demands == spec.demands():
                    return name
        return CUSTOM


def expected_of_instance(instance: Instance) -> Expected:
    """The demands of an instance."""
    own = OwnSpecification.of_instance(instance)
    starts, ends = (tuple(map(frozenset, places)) for places in (own.inputs, own.outputs))
    return Expected(instance.combining, instance.num_chunks, starts, ends)


def require_stated(expected: Expected, name: str, where: str) -> None:
    """Raises VerificationError unless the collective's name is the one in the files."""
    if name != expected.name():
        raise VerificationError(
            f"{where}: the collective is named {name}, but its chunks make it {expected.name()}"
        )


def require_same(
    graphs: Sequence[RankGraph], expected: Expected | None, instance: Instance
) -> None:
    """Raises VerificationError unless files are about an instance and use only its links.  Without
    stated demands, `expected` None, it raises UncheckedError."""
    topology = instance.topology
    if len(graphs) != topology.num_nodes:
        raise VerificationError(
            f"there are {len(graphs)} ranks; {topology.name} has {topology.num_nodes} nodes"
        )
    if expected is None:
        raise UncheckedError(
            f"{graphs[0].where}: the contents of messages are not stated, so they cannot be "
            f"compared with {instance.collective}"
        )
    if expected != expected_of_instance(instance):
        raise VerificationError(
            f"{graphs[0].where}: {instance.collective} needs other chunks: they start or end "
            "at other ranks"
        )
    links = set(topology.links)
    for graph in graphs:
        for node in graph.nodes.values():
            if node.kind is NodeKind.SEND and (graph.rank, node.peer) not in links:
                missing = f"from node {graph.rank} to node {node.peer}"
                raise graph.wrong(node.number, f"{topology.name} has no link {missing}")


def checked(
    kind: str,
    graphs: Sequence[RankGraph],
    expected: Expected | None,
    instance: Instance | None,
    *,
    rendezvous: bool = False,
) -> CheckedExport:
    """Plays ranks, and follows their data if the files state their demands.

    With `rendezvous` sends may wait for their receives; ranks that end if all sends wait end in any
    case.  Raises as `play`, `require_achieved` and `require_same`.
    """
    if instance is not None:
        require_same(graphs, expected, instance)
    more: dict[str, str] = {}
    try:
        played = play(graphs, rendezvous=rendezvous)
        if rendezvous:
            more = {"rendezvous": "ends whether sends wait for their receives or not"}
    except VerificationError as error:
        if not rendezvous:
            raise
        played = play(graphs)
        more = {"rendezvous": f"ends only if sends do not wait for their receives: {error}"}
    if expected is not None:
        require_achieved(graphs, played, expected)
    nodes = [(graph.rank, node) for graph in graphs for node in graph.nodes.values()]
    sends = [(rank, node) for rank, node in nodes if node.kind is NodeKind.SEND]
    followed = expected is not None
    facts: dict[str, int | str] = {
        "messages": len(sends),
        "bytes": sum(node.size for _, node in sends),
        "computations": sum(len(node.reads) + len(node.inputs) > 1 for _, node in nodes)
        if followed
        else sum(node.kind is NodeKind.COMPUTE for _, node in nodes),
        "data": "followed"
        if followed
        else "not followed, as the files do not state the contents of messages; all of them arrive",
        **more,
    }
    return CheckedExport(
        kind,
        "not stated" if expected is None else expected.name(),
        len(graphs),
        None,
        facts,
        followed,
        links=frozenset((rank, node.peer) for rank, node in sends),
        num_chunks=None if expected is None else expected.num_chunks,
    )


Content = dict[int, int]
"""For each chunk a bit mask of the ranks whose contributions are reduced; 0 for plain data."""


def require_achieved(graphs: Sequence[RankGraph], played: Played, expected: Expected) -> None:
    """Raises VerificationError unless the ranks produce the result for any durations.

    The result of a node is chunks, each with the set of ranks whose contributions are in it.  Sends
    and computations state their inputs; the result of a receive is the content of its message.
    """
    _require_ordered(graphs, played)
    contents: dict[Place, Content] = {}
    sizes: dict[tuple[int, ...], int] = {}
    if expected.sizes is not None:
        sizes = {(chunk,): size for chunk, size in enumerate(expected.sizes)}
    for place in played.order:
        graph, number = graphs[place[0]], place[1]
        node = graph.nodes[number]
        if node.kind is NodeKind.RECEIVE:
            if node.reads or node.inputs or node.chunks:
                raise graph.wrong(number, "it states inputs, but a receive has none")
            contents[place] = contents[played.senders[place]]
            continue
        content = contents[place] = _read(graph, number, expected, contents)
        if node.kind is NodeKind.SEND:
            moved = tuple(sorted(content))
            if not moved:
                raise graph.wrong(number, "a send must read exactly one input for each chunk")
            known = [sizes.get((chunk,), 0) for chunk in moved]
            size = sum(known) if all(known) else sizes.setdefault(moved, node.size)
            if size != node.size:
                differ = f"{node.size} bytes here, and {size} elsewhere"
                shown = f"chunk {moved[0]} has" if len(moved) == 1 else f"{len(moved)} chunks have"
                raise graph.wrong(number, f"{shown} {differ}")
    _require_ends(graphs, expected, contents)


def _require_ordered(graphs: Sequence[RankGraph], played: Played) -> None:
    """Raises VerificationError unless equal messages are sent and received one after the other."""
    for places in played.together.values():
        for group in places:
            for (rank, earlier), (_, later) in pairwise(group):
                if not waits_for(graphs[rank], later, earlier):
                    raise graphs[rank].wrong(
                        later,
                        f"it has the same ranks, tag and size as node {earlier} and does not wait "
                        "for it, so the receiver of each message depends on timing",
                    )


def _read(
    graph: RankGraph, number: int, expected: Expected, contents: Mapping[Place, Content]
) -> Content:
    """The content of a send's message, or of a computation's result."""
    rank, node = graph.rank, graph.nodes[number]
    parts: list[Content] = []
    for other in node.reads:
        if other not in node.data_waits and not waits_for(graph, number, other):
            raise graph.wrong(number, f"it reads the result of node {other} without waiting for it")
        part = contents[rank, other]
        if not part or graph.nodes[other].kind is NodeKind.SEND:
            raise graph.wrong(number, f"it reads the result of node {other}, which has none")
        parts.append(part)
    for chunk in node.inputs:
        if chunk not in expected.starts[rank]:
            own = f"chunk {chunk} of its own data, but the rank does not start with it"
            raise graph.wrong(number, f"it reads {own}")
        parts.append({chunk: 1 << rank if expected.combining else 0})
    wanted = node.chunks
    if wanted is None:
        wanted = tuple(dict.fromkeys(chunk for part in parts for chunk in part))
        if len(wanted) > 1:
            raise graph.wrong(number, f"it adds chunk {wanted[1]} to chunk {wanted[0]}")
    for part in parts:
        if part.keys().isdisjoint(wanted):
            raise graph.wrong(number, f"it reads chunk {next(iter(part))} and has no use for it")
    found: Content = {}
    for chunk in wanted:
        masks = [part[chunk] for part in parts if chunk in part]
        if not masks:
            raise graph.wrong(number, f"it has chunk {chunk}, but none of its inputs has it")
        if len(masks) > 1 and node.kind is NodeKind.SEND:
            raise graph.wrong(number, "a send must read exactly one input for each chunk")
        if len(masks) > 1 and not expected.combining:
            raise graph.wrong(number, "it reduces data, but the collective only moves them")
        total = 0
        for mask in masks:
            if total & mask:
                ranks = rank_names(total & mask)
                raise graph.wrong(number, f"it adds the contribution of {ranks} twice")
            total |= mask
        found[chunk] = total
    return found


def _require_ends(
    graphs: Sequence[RankGraph], expected: Expected, contents: Mapping[Place, Content]
) -> None:
    contributors = masks_of(expected.starts)
    found = [
        dict.fromkeys(own, 1 << rank if expected.combining else 0)
        for rank, own in enumerate(expected.starts)
    ]
    for (rank, _), content in contents.items():
        for chunk, mask in content.items():
            found[rank][chunk] = max(found[rank].get(chunk, 0), mask, key=int.bit_count)
    for graph in graphs:
        rank = graph.rank
        for chunk in sorted(expected.ends[rank]):
            wanted, most = contributors[chunk] if expected.combining else 0, found[rank].get(chunk)
            if most == wanted:  # no sum has other contributions
                continue
            if expected.combining:
                raise VerificationError(
                    f"{graph.where}: rank {rank} never gets the whole result of chunk {chunk}: its "
                    f"most complete partial sum lacks the contribution of "
                    f"{rank_names(wanted & ~(most or 0))}"
                )
            raise VerificationError(f"{graph.where}: rank {rank} never gets chunk {chunk}")
