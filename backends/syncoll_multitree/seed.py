"""The seed: trees for a collective, and their algorithms.

If every chunk starts at one node and every node needs it (allgather, broadcast and the like), each
chunk is sent down a tree of its own.  The paper's schedule sends each tree edge in the time step in
which it was added: C = 1, a round each.  Beyond the paper, a time step may have several rounds,
which trades rounds for steps.  A node may have several trees, which brings R/C nearer to its bound.
The data of a tree may be cut and pipelined.

On a network with switches the paper's extension for switches runs first; then Algorithm 1 runs on
the topology, whose links are routes that share cables.  Its bounds decide the rounds of a step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np

from syncoll.arrays import Ints
from syncoll.bounding.at_once import least_cut
from syncoll.certificates.chunk_classes import demands
from syncoll.clock import remembering
from syncoll.deadline import Deadline
from syncoll.errors import ModelError, OutOfTimeError
from syncoll.model import UNREACHABLE, Collective, Topology
from syncoll.plugins import Answer, Options, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.scheduling import Costs, schedule_trees
from syncoll.wording import counted
from syncoll_multitree.construction import (
    TimedTrees,
    UnitNetwork,
    copies_of,
    multitree,
    places_of,
    usual_turns,
)
from syncoll_multitree.quotient import MOST_ORDERS, TranslationQuotient, fewest_steps
from syncoll_multitree.switched import SEARCHES, multitree_on_fabric
from syncoll_multitree.translations import find_translations

_MOST_TRIED = 64
"""Largest C, and most rounds of a time step, tried for the least admissible ones."""

_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Rounds of a time step, in multiples of the fewest possible."""

_FEW_ORDERS = 6
"""Orders of neighbours tried beyond the paper's schedule: the number for two dimensions."""

_SEGMENTS = (2, 4, 8, 16)
"""Numbers of segments of a tree's data, for the trees of the least R/C."""


def _refusal(topology: Topology, collective: Collective) -> str:
    if collective.combining:
        return f"{collective.name} combines; MultiTree's trees only distribute"
    if collective.ways:
        return f"{collective.name} is composed; the search runs MultiTree on its parts"
    nodes = topology.num_nodes
    if nodes < 2:
        return "a collective needs at least two nodes"
    chunks = next((c for c in range(1, _MOST_TRIED + 1) if collective.admits(nodes, c)), None)
    if chunks is None:
        return f"{collective.name} is not defined for any C up to {_MOST_TRIED}"
    roots = collective.tabulate(nodes, chunks).roots
    if roots is None:
        return (
            f"a chunk of {collective.name} does not start at exactly one node, or not every node "
            "needs it; MultiTree's trees span the network from one root"
        )
    network = UnitNetwork.of(topology, _rounds_for_all(topology), "index")
    if lost := network.lost(frozenset(roots.tolist())):
        return (
            "MultiTree needs links that lead from every root to every node; none lead from node "
            f"{lost[0]} to node {lost[1]}"
        )
    return ""


class MultiTreeSeed(ResumingSeed):
    """Proposes MultiTree's schedules."""

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether each chunk starts at one node, is needed everywhere and can get everywhere."""
        reason = _refusal(topology, collective)
        return Answer(not reason, reason or "a spanning tree for every chunk")

    def proposals(self, asked: Question) -> Proposals:
        """The paper's schedule first, then other C and rounds, last pipelines."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        limits, own = turn.limits, float(asked.options["seconds"])
        left = int(asked.options["sends"])
        found = Costs()
        best: tuple[tuple[Fraction, int], _Grown] | None = None
        waiting = bool(asked.options["pipelined"])

        def least_cost(chunks: int) -> Fraction:
            table = collective.tabulate(topology.num_nodes, chunks)
            return least_cut(topology, demands(table)).rounds / chunks

        def improves(steps: int, rounds: int, chunks: int) -> bool:
            within = limits.allow(steps=steps, rounds=rounds, chunks=chunks)
            return within and found.are_new(steps, rounds, chunks)

        def pipelined() -> Iterator[Proposal]:
            if best is None:
                return
            edges = len(best[1].chunk_of) * (topology.num_nodes - 1)
            segments = [m for m in _SEGMENTS if m * edges <= left]
            ends = turn.own(own)
            if not segments or ends.passed:
                return
            trees = best[1].expand().trees()
            rest = replace(limits, seconds=None, until=ends)
            for made in schedule_trees(topology, collective, trees, rest, segments):
                if improves(made.algorithm.steps, made.algorithm.rounds, made.chunks):
                    yield Proposal(made.chunks, made.algorithm, made.note)

        for grown in _grown(topology, collective, asked.options, turn):
            if (
                waiting
                and best is not None
                and grown.chunks > best[1].chunks
                and best[0][0] <= least_cost(best[1].chunks)
            ):  # more trees cannot lower R/C, but segments may save steps
                yield from pipelined()
                waiting = False
            # Pipelines need full links and low trees, hence the steps.
            cost = Fraction(grown.rounds, grown.chunks), grown.steps
            if best is None or cost < best[0]:
                best = cost, grown
            if not improves(grown.steps, grown.rounds, grown.chunks):
                continue
            algorithm = grown.expand().to_algorithm(grown.chunk_of, grown.rounds_per_step)
            left -= len(algorithm.sends)
            yield Proposal(grown.chunks, algorithm, grown.note)
            if left <= 0:
                break
        if waiting:
            yield from pipelined()


@dataclass(frozen=True)
class _Grown:
    """Trees with their cost; `expand` makes all sends later."""

    chunks: int
    chunk_of: Ints
    rounds_per_step: tuple[int, ...]
    note: str
    expand: Callable[[], TimedTrees]

    @property
    def steps(self) -> int:
        return len(self.rounds_per_step)

    @property
    def rounds(self) -> int:
        return sum(self.rounds_per_step)


@remembering
def _quotients(topology: Topology) -> tuple[TranslationQuotient, ...]:
    return tuple(TranslationQuotient(topology, group) for group in find_translations(topology))


_Way = Callable[[int, Deadline], Iterator[tuple[int, _Grown | None]]]
"""Yields trees for time steps of these rounds: their number of steps, and None if unusable."""


def _grown(
    topology: Topology, collective: Collective, options: Options, turn: Turn
) -> Iterator[_Grown]:
    """All trees, for ever longer time steps until the number of steps cannot fall."""
    limit, nodes = turn.until, topology.num_nodes
    switched = topology.fabric is not None and topology.fabric.num_switches > 0
    for chunks in range(1, min(int(options["trees"]), turn.limits.max_chunks or 1 << 30) + 1):
        if not collective.admits(nodes, chunks):
            continue
        roots = collective.tabulate(nodes, chunks).roots
        if roots is None:
            continue
        distinct = sorted(set(roots.tolist()))
        least = int(topology.distances[distinct].max())
        for make in (_over_switches, _over_links) if switched else (_over_links,):
            way, until = make(topology, chunks, roots, options), limit
            try:
                for rounds in _rounds(topology, frozenset(distinct)):
                    fewest = UNREACHABLE
                    for steps, trees in way(rounds, until):
                        fewest = min(fewest, steps)
                        if trees is None:
                            continue
                        yield trees
                        limit = turn.own(float(options["seconds"]))
                        if limit.passed:
                            return
                    if fewest <= least:
                        break
            except OutOfTimeError:
                return


def _over_links(topology: Topology, chunks: int, table_roots: Ints, options: Options) -> _Way:
    """Trees whose edges are sent in their own time steps."""
    order, turns = str(options["order"]), str(options["turns"])
    # Options for order or turns are obeyed; otherwise symmetry decides if there is any.
    if order == turns == "any":
        chunk_of = _turn_order(table_roots)
        copies = copies_of(topology, table_roots[chunk_of].tolist())
        quotients = () if copies is None else _quotients(topology)
        if copies is not None and quotients:
            return _translated(quotients, chunks, chunk_of, copies)
    # Ties are broken by the place in a grid if the network is one.
    places = None if order == "index" else places_of(topology)
    chunk_of = _turn_order(table_roots, places)
    roots = table_roots[chunk_of].tolist()

    def way(rounds: int, until: Deadline) -> Iterator[tuple[int, _Grown]]:
        for name in ("far", "scarce") if order == "any" else (order,):
            trees = multitree(
                topology, roots, rounds=rounds, order=name, turns=turns, places=places, until=until
            )
            how = f"order {name}"
            yield trees.num_steps, _tightened(topology, chunks, chunk_of, trees, rounds, how)

    return way


def _translated(
    quotients: tuple[TranslationQuotient, ...], chunks: int, chunk_of: Ints, copies: int
) -> _Way:
    """Trees that are translates of the trees of one node."""
    most = [MOST_ORDERS] if chunks == 1 else []  # most effort for the paper's schedule

    def way(rounds: int, until: Deadline) -> Iterator[tuple[int, _Grown]]:
        orders = most.pop() if most else _FEW_ORDERS
        trees = fewest_steps(quotients, copies, rounds, until, orders)
        note = _note(chunk_of, rounds, "translated from one root")
        made = _Grown(chunks, chunk_of, trees.rounds_per_step, note, trees.expand)
        yield made.steps, made

    return way


def _over_switches(topology: Topology, chunks: int, table_roots: Ints, options: Options) -> _Way:
    """Trees over the fabric's switches: a connection carries a chunk in a time step."""
    fabric = topology.fabric
    assert fabric is not None  # checked by the caller
    chunk_of = _turn_order(table_roots)
    roots = table_roots[chunk_of].tolist()
    order, turns, search = (str(options[name]) for name in ("order", "turns", "search"))
    order = "index" if order == "any" else order
    turns = usual_turns(topology, roots) if turns == "any" else turns

    def way(rounds: int, until: Deadline) -> Iterator[tuple[int, _Grown | None]]:
        for name in SEARCHES if search == "any" else (search,):
            unit, how = fabric.chunk_bandwidth / rounds, f"over switches, search {name}"
            try:
                trees, _ = multitree_on_fabric(
                    fabric, roots, unit=unit, search=name, order=order, turns=turns, until=until
                )
            except ModelError:  # links that trees need carry no chunk in these rounds
                return
            pairs = set(map(tuple, trees.edges[:, 1:3].tolist()))
            made = None
            if pairs <= topology.link_index.keys():  # otherwise a send has no route of its own
                made = _tightened(topology, chunks, chunk_of, trees, rounds, how)
            yield trees.num_steps, made

    return way


def _tightened(
    topology: Topology, chunks: int, chunk_of: Ints, trees: TimedTrees, rounds: int, how: str
) -> _Grown:
    algorithm = trees.to_algorithm(chunk_of, (rounds,) * trees.num_steps)
    least = tuple(algorithm.least_rounds(topology))
    return _Grown(chunks, chunk_of, least, _note(chunk_of, rounds, how), lambda: trees)


def _note(chunk_of: Ints, rounds: int, how: str) -> str:
    per_step = "a round" if rounds == 1 else f"{rounds} rounds"
    return f"{counted(len(chunk_of), 'tree')}, {per_step} per time step, {how}"


def _turn_order(roots: Ints, places: Ints | None = None) -> Ints:
    """The chunks in the order of turns: one of every root, sorted by place, then more."""
    copy = np.zeros(len(roots), dtype=np.int64)
    seen: dict[int, int] = {}
    for chunk, root in enumerate(roots.tolist()):
        copy[chunk] = seen[root] = seen.get(root, -1) + 1
    return np.lexsort((roots if places is None else places[roots], copy))


def _rounds_for_all(topology: Topology) -> int:
    """The fewest rounds of a time step in which every link carries a chunk."""
    return max((-(-1 // b.chunks_per_round) for b in topology.bounds), default=1)


def _rounds(topology: Topology, roots: frozenset[int]) -> Iterator[int]:
    """Rounds of a time step, ascending, from the fewest that let every root reach every node."""
    enough = _rounds_for_all(topology)
    span = lcm(*(b.chunks_per_round.denominator for b in topology.bounds))
    least = enough
    for rounds in range(1, min(enough, _MOST_TRIED)):
        if UnitNetwork.of(topology, rounds, "index").lost(roots) is None:
            least = rounds
            break
    tried = {least * multiple for multiple in _MULTIPLES}
    tried |= {r for r in (enough, span, 2 * span) if least <= r <= least * _MULTIPLES[-1]}
    yield from sorted(tried)
