"""The classics as seeds: requirements and proposals.

The plain form of an algorithm is proposed first, then forms with more links or shorter pipelines.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import lcm

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import NEVER
from syncoll.errors import OutOfTimeError, UsageError
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, Options, Proposal, SeedLimits
from syncoll.wording import counted
from syncoll_classics import boxed, exchanges, grid
from syncoll_classics.ask import Ask
from syncoll_classics.bigraph import numbered_bigraph, rank_mapping, recognise_bigraph
from syncoll_classics.demand import refusal
from syncoll_classics.dissemination import Carrying, Dissemination, exchanged, one_shot, up_and_down
from syncoll_classics.exchanges import swing_peers, torus_shape
from syncoll_classics.hamiltonian import a_cycle
from syncoll_classics.packing import RingSet, pack_rings


@dataclass(frozen=True)
class ClassicSeed:
    """A classic.

    Args:
        plan: the proposals for a request that `refuses` accepts.
        refuses: the reason why the construction does not fit; empty if it does.
        adds_up: whether it has a form for allreduce.
    """

    plan: Callable[[Ask], Iterator[Proposal]]
    refuses: Callable[[Ask], str] = lambda ask: ""
    adds_up: bool = False

    def fits(self, topology: Topology, collective: Collective) -> Answer:
        """Whether the construction fits, or why not."""
        reason = refusal(topology, collective, adds_up=self.adds_up)
        if not reason:
            reason = self.refuses(Ask(topology, collective, SeedLimits(), {}, NEVER))
        return Answer(not reason, reason)

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Iterator[Proposal]:
        """See `syncoll.plugins.Seed`; a `UsageError` if all are too large and time is unlimited."""
        deadline = limits.deadline()
        if not self.fits(topology, collective).ok:
            return
        ask = Ask(topology, collective, limits, options, deadline)
        empty = True
        try:
            deadline.check()
            for proposal in self.plan(ask):
                empty = False
                yield proposal
                deadline.check()
        except OutOfTimeError:
            return
        if empty and deadline.is_never and ask.too_large:
            raise UsageError(ask.too_large[0])


def _ring(ask: Ask) -> Iterator[Proposal]:
    for found in _ring_sets(ask):
        yield from _on_rings(ask, found)


def _ring_sets(ask: Ask) -> tuple[RingSet, ...]:
    seconds = float(ask.options["seconds"])
    if ask.deadline.seconds is not None:
        # Rounded, so that the same rings are remembered for the next collective.
        seconds = min(seconds, round(ask.deadline.seconds / 3, 1))
    return pack_rings(ask.topology, seconds)


def _nccl_ring(ask: Ask) -> Iterator[Proposal]:
    rings = boxed.card_rings(ask.topology)
    found = RingSet(tuple(rings), 1, False) if rings else _ring_sets(ask)[-1]
    yield from _on_rings(ask, found, both_ways=False)


def _on_rings(ask: Ask, found: RingSet, *, both_ways: bool = True) -> Iterator[Proposal]:
    rooted = ask.least.one_source is not None
    best = "; no ring set has more rings a round" if found.proved else ""
    ways = [exchanges.around(ring, ask.nodes - 1) for ring in found.rings]
    pairs = found.pairs if both_ways and ask.nodes > 2 else []
    forth = [exchanges.around(ring, ask.nodes // 2) for ring, _ in pairs]
    back = [exchanges.around(ring, (ask.nodes - 1) // 2) for ring, _ in pairs]
    both = forth if rooted else [way for pair in zip(forth, back, strict=True) for way in pair]

    def one_way(words: str, used: int) -> str:
        return f"{counted(used, 'ring')}{best if used == len(ways) else ''}{words}"

    def either_way(words: str, used: int) -> str:
        return f"{counted(2 * used if rooted else used, 'ring')}, both ways at once{words}"

    for segments in ask.segments() if rooted else (1,):
        words = f", {counted(segments, 'segment')}" if rooted else ""
        for some, note in ((ways, one_way), (both, either_way)):
            if some:
                yield from ask.spread(some, partial(note, words), segments=segments, late=rooted)


def _no_ring(ask: Ask) -> str:
    found = a_cycle(ask.topology)
    return found if isinstance(found, str) else ""


def _no_nccl_ring(ask: Ask) -> str:
    return _no_copies(ask) or ("" if boxed.card_rings(ask.topology) else _no_ring(ask))


def _no_copies(ask: Ask) -> str:
    if ask.collective.combining or ask.least.destinations.all():
        return ""
    return f"in {ask.collective.name} not all data goes to all nodes; NCCL sends it directly"


def _recursive_doubling(ask: Ask) -> Iterator[Proposal]:
    digits = ask.nodes.bit_length() - 1
    for ascending in (True, False):
        order = "nearest ranks first" if ascending else "farthest ranks first"
        orders = exchanges.digit_orders(digits, ascending=ascending)
        peers = [exchanges.doubling_peers(order) for order in orders]
        for several in dict.fromkeys((1, digits if ascending else 1)):
            words = order if several == 1 else f"{several} orders of the dimensions"
            yield from _exchanged(ask, peers[:several], words)


def _exchanged(ask: Ask, peers: list[Ints], words: str) -> Iterator[Proposal]:
    """Exchanges of all data, or of partial sums; each order takes a share of the data."""
    if not ask.collective.combining:
        yield from ask.spread([exchanges.exchange(one) for one in peers], words)
        return
    yield from ask.combine(
        len(peers),
        lambda chunk: exchanged(chunk, peers[chunk % len(peers)]),
        ask.nodes * len(peers[0]),
        len(peers[0]),
        words,
    )


def _halved(ask: Ask, trees: list[Dissemination], owners: Ints, words: str) -> Iterator[Proposal]:
    """An allreduce by recursive halving, each chunk towards its owner, then doubling."""
    if not ask.collective.combining:
        yield from ask.spread(trees, words)
        return
    nodes, height = ask.nodes, trees[0].num_steps
    yield from ask.combine(
        nodes * len(trees),
        lambda chunk: up_and_down(
            chunk, trees[chunk // nodes % len(trees)], int(owners[chunk % nodes]), height
        ),
        2 * nodes,
        2 * height,
        words,
    )


def _swing(ask: Ask) -> Iterator[Proposal]:
    shape = torus_shape(ask.topology)
    name = " x ".join(map(str, shape)) + (" torus" if len(shape) > 1 else " ring")
    peers = [
        swing_peers(shape, first, mirrored=mirrored)
        for first in range(len(shape))
        for mirrored in (False, True)
    ]
    trees = [exchanges.exchange(nearest_first[::-1]) for nearest_first in peers]
    for several in dict.fromkeys((1, len(peers))):
        words = f"{name}, {counted(several, 'exchange')} at once"
        if ask.collective.combining:
            yield from _exchanged(ask, peers[:several], f"{words}, all data in each step")
            words += ", halving and doubling"
        yield from _halved(ask, trees[:several], np.arange(ask.nodes), words)


def _halving_doubling(ask: Ask) -> Iterator[Proposal]:
    digits, nodes = ask.nodes.bit_length() - 1, ask.nodes
    text, words = str(ask.options["bigraph"]), ""
    graph = numbered_bigraph(text, nodes) if text else recognise_bigraph(ask.topology)
    ranks = None if graph is None else rank_mapping(graph)
    if graph is not None and ranks is not None:
        switches, each = len(graph.upper) * 2, len(graph.upper[0])
        words = f", ranks mapped on a BiGraph of {switches} x {each}"
    orders = exchanges.digit_orders(digits)
    trees = [exchanges.exchange(exchanges.doubling_peers(order, ranks)) for order in orders]
    owners = np.arange(nodes) if ranks is None else ranks
    for several in dict.fromkeys((1, digits)):
        plain = "recursive halving and doubling"
        note = plain if several == 1 else f"{several} orders of the dimensions"
        yield from _halved(ask, trees[:several], owners, note + words)


def _trees_of_boxes(
    ask: Ask, boxes: boxed.Boxes, words: str, *, chains: bool
) -> Iterator[Proposal]:
    """Sums a chunk up a tree of boxes and spreads it; boxes of one node give binary trees."""
    size = len(boxes[0])
    count = size * min(2, len(boxes))
    across = max(exchanges.rooted(tree).num_steps for tree in exchanges.allreduce_trees(len(boxes)))
    height = across + (size - 1 if chains else min(1, size - 1))
    # Built only for a size that `combine` admits.
    trees = cache(partial(boxed.trees_of_boxes, ask.topology, boxes, chains=chains))

    @lru_cache(maxsize=2)
    def tree(number: int) -> tuple[Dissemination, int]:
        parents = trees()[number]
        return exchanges.rooted(parents), int(parents.argmin())

    def moved(chunk: int) -> Carrying:
        return up_and_down(chunk, *tree(chunk % count), height, chunk // count)

    for segments in ask.segments():
        note = f"{words}{counted(count, 'tree')}, {counted(segments, 'segment')}"
        yield from ask.combine(count * segments, moved, 2 * ask.nodes, 2 * height, note)


def _nccl_tree(ask: Ask) -> Iterator[Proposal]:
    boxes = boxed.boxes_of(ask.topology)
    yield from _trees_of_boxes(ask, boxes, "chains in boxes, ", chains=True)


def _nvls(ask: Ask) -> Iterator[Proposal]:
    boxes = boxed.boxes_that_sum(ask.topology)
    if ask.collective.combining:
        yield from _trees_of_boxes(ask, boxes, "sums in switches, ", chains=False)
    else:
        yield from ask.spread([exchanges.all_pairs(ask.nodes)], "copies in switches")


def _no_alike_boxes(ask: Ask) -> str:
    if not ask.collective.combining:
        return f"NCCL has trees for allreduce only, not for {ask.collective.name}"
    return "" if boxed.boxes_of(ask.topology) else "its boxes have different numbers of nodes"


def _no_nvls(ask: Ask) -> str:
    boxes = boxed.boxes_that_sum(ask.topology)
    if not boxes:
        return "no switch of each box copies and adds up"
    if len(boxes) > 1 and not ask.collective.combining:
        return f"NCCL has NVLSTree for allreduce only, not for {ask.collective.name}"
    return _no_copies(ask)


def _no_pat(ask: Ask) -> str:
    boxes = boxed.boxes_of(ask.topology)
    if ask.topology.fabric is not None and boxes and len(boxes[0]) > 1:
        return "NCCL uses PAT only with one GPU in each box"
    return _no_copies(ask)


def _pat(ask: Ask) -> Iterator[Proposal]:
    yield from ask.spread([exchanges.binomial(ask.nodes)], "farthest ranks first")


def _no_pairs(ask: Ask) -> str:
    many = (ask.least.destinations.sum(axis=1) > 1).any()
    return f"in {ask.collective.name} data goes to several nodes" if many else ""


def _pairwise(ask: Ask) -> Iterator[Proposal]:
    yield from ask.spread([exchanges.all_pairs(ask.nodes, in_turn=True)], "one peer a step")


def _no_power_of_two(ask: Ask) -> str:
    nodes = ask.nodes
    return f"P must be a power of two; it is {nodes}" if nodes & (nodes - 1) else ""


def _bruck(ask: Ask) -> Iterator[Proposal]:
    ways = [exchanges.bruck(ask.nodes), exchanges.bruck(ask.nodes, mirrored=True)]
    yield from ask.spread(ways[:1], "one way round")
    if ask.nodes > 2:
        yield from ask.spread(ways, lambda used: "both ways round" if used > 1 else "one way round")


def _all_pairs(ask: Ask) -> Iterator[Proposal]:
    if ask.collective.combining:
        yield from ask.combine(
            1,
            lambda chunk: one_shot(chunk, ask.nodes),
            ask.nodes**2,
            1,
            "every node's contribution to every node",
        )
    else:
        yield from ask.spread([exchanges.all_pairs(ask.nodes)], "directly")


def _two_hop(ask: Ask) -> Iterator[Proposal]:
    yield from ask.spread([boxed.two_hops(boxed.boxes_of(ask.topology))], "peers, then boxes")


def _no_two_hops(ask: Ask) -> str:
    boxes = boxed.boxes_of(ask.topology)
    if ask.collective.combining or not boxes:
        return "it moves data between boxes with equal numbers of nodes"
    return "" if 1 < len(boxes) < ask.nodes else "there are no boxes of several nodes"


def _binomial(ask: Ask) -> Iterator[Proposal]:
    root = ask.least.one_destination
    if ask.least.one_source is not None:
        yield from ask.spread([exchanges.binomial(ask.nodes)], "farthest first")
    elif root is not None:
        yield from ask.spread([exchanges.binomial_gather(ask.nodes, root)], "nearest first")


def _no_root(ask: Ask) -> str:
    if ask.least.one_source is None and ask.least.one_destination is None:
        return f"a binomial tree has one root; in {ask.collective.name} many nodes send to many"
    return ""


def _double_binary_tree(ask: Ask) -> Iterator[Proposal]:
    if not ask.collective.combining:
        root = ask.least.one_source
        assert root is not None  # checked by `_no_source`
        ways = [exchanges.rooted(tree) for tree in exchanges.broadcast_trees(ask.nodes, root)]
        for segments in ask.segments():
            yield from ask.spread(
                ways,
                lambda used, m=segments: f"{counted(used, 'tree')}, {counted(m, 'segment')}",  # type: ignore[misc]
                segments=segments,
                late=True,
            )
        return
    yield from _trees_of_boxes(ask, [[node] for node in range(ask.nodes)], "", chains=False)


def _no_source(ask: Ask) -> str:
    if ask.collective.combining or ask.least.one_source is not None:
        return ""
    return f"a double binary tree has one root; in {ask.collective.name} many nodes send"


def _ring2d(ask: Ask) -> Iterator[Proposal]:
    folded = ask.options["closing"] == "fold"
    found = grid.recognise_grid(ask.topology)
    if found is None:
        return
    closing = (
        "" if found.closed else ", lines folded" if folded else ", lines closed over all links"
    )
    words = f"{found.name}{closing}"
    if not ask.collective.combining:
        ways = grid.grid_disseminations(found, folded=folded)
        yield from ask.spread(ways, lambda used: f"{words}, {counted(used, 'way')}")
        return
    rows, columns = found.nodes.shape
    yield from ask.combine(
        4 * lcm(rows, columns),
        lambda chunk: grid.grid_allreduce(found, chunk, folded=folded),
        4 * ask.nodes,
        2 * (rows + columns - 2),
        f"{words}, rings in rows and then in columns, and the other way round",
    )


def _no_grid(ask: Ask) -> str:
    if grid.recognise_grid(ask.topology) is None:
        return "the links form neither a mesh nor a torus of two dimensions"
    return ""


ALL_PAIRS = ClassicSeed(_all_pairs, adds_up=True)
BINOMIAL = ClassicSeed(_binomial, _no_root)
BRUCK = ClassicSeed(_bruck)
DOUBLE_BINARY_TREE = ClassicSeed(_double_binary_tree, _no_source, adds_up=True)
HALVING_DOUBLING = ClassicSeed(_halving_doubling, _no_power_of_two, adds_up=True)
NCCL_RING = ClassicSeed(_nccl_ring, _no_nccl_ring)
NCCL_TREE = ClassicSeed(_nccl_tree, _no_alike_boxes, adds_up=True)
NVLS = ClassicSeed(_nvls, _no_nvls, adds_up=True)
PAIRWISE = ClassicSeed(_pairwise, _no_pairs)
PAT = ClassicSeed(_pat, _no_pat)
RECURSIVE_DOUBLING = ClassicSeed(_recursive_doubling, _no_power_of_two, adds_up=True)
RING = ClassicSeed(_ring, _no_ring)
RING2D = ClassicSeed(_ring2d, _no_grid, adds_up=True)
SWING = ClassicSeed(_swing, _no_power_of_two, adds_up=True)
TWO_HOP = ClassicSeed(_two_hop, _no_two_hops)
