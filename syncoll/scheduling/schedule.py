"""From a packing of trees to algorithms.

Each root's data is cut into parts, one for each unit of weight of its trees.  Each part is cut into
m segments, which follow one another down the tree.  With one segment, S can be the height of the
trees; with many, R/C approaches the need of the busiest link set, since filling and draining the
pipelines matter less and less.  For each m the number of steps is a choice of its own: fewer steps
leave less room to balance the loads of links.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Protocol

import numpy as np

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology, ranges
from syncoll.scheduling.assignment import Assigner
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.packing import StepTree, TreePacking
from syncoll.scheduling.streams import SendPlan, Streams
from syncoll.scheduling.timetable import Timetable
from syncoll.wording import counted

SEGMENTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32)
"""Default numbers of segments of a part."""

MOST_SENDS = 1 << 23
"""Larger algorithms are not built: they would take GiBs of memory."""

_MOST_WASTED = 3.0
"""Integer programs are solved until this number of seconds of them were in vain."""

_LEAST_GAIN = 64
"""Between the fewest steps and the steps for which the rounds can be least, steps are tried only if
they may save more than one in this number of rounds."""

_NEAR = 1e-3
"""Smaller relative savings of rounds are not worth more steps."""

_MOST_LISTED = 4_000
"""Entries times steps of streams up to which list scheduling is tried after a timetable."""

_MANY = 1 << 62
_TOLERANCE = 1e-4


class SizeLimits(Protocol):
    """The limits on S, R and C of a search or of a call of a seed."""

    @property
    def max_steps(self) -> int | None:
        """S at most; None for no limit."""

    @property
    def max_rounds(self) -> int | None:
        """R at most; None for no limit."""

    @property
    def max_chunks(self) -> int | None:
        """C at most; None for no limit."""


class ScheduleLimits(SizeLimits, Protocol):
    """Limits of a schedule, such as a seed's."""

    def deadline(self) -> Deadline:
        """Nothing more is begun after it."""


@dataclass(frozen=True, eq=False)
class Scheduled:
    """An algorithm made of trees; `note`: ``8 trees, 4 segments``."""

    chunks: int
    algorithm: Algorithm
    note: str


@dataclass
class Costs:
    """S and R/C of the algorithms so far."""

    known: list[tuple[int, Fraction]] = field(default_factory=list)

    def are_new(self, steps: int, rounds: int, chunks: int) -> bool:
        """Whether no earlier algorithm is as good as one of these; then they are remembered."""
        cost = Fraction(rounds, chunks)
        if any(s <= steps and known <= cost for s, known in self.known):
            return False
        self.known.append((steps, cost))
        return True


def schedule_trees(
    topology: Topology,
    collective: Collective,
    trees: Iterable[StepTree],
    limits: ScheduleLimits,
    segments: Sequence[int] = SEGMENTS,
    found: Iterable[tuple[int, Fraction]] = (),
) -> Iterator[Scheduled]:
    """Algorithms that send every chunk down one of the trees.

    C is the least admissible one that gives every tree, and every segment, a whole number of
    chunks.  If the limits allow no such C, the largest admissible one is divided as evenly as
    possible.  Numbers of segments that make more than `MOST_SENDS` sends are left out.

    Where switches copy, a node sends a chunk in one step to all its children behind such a switch.

    Args:
        collective: not combining.
        trees: for each class of chunks at least one that leads from its start to all nodes that
            need it.  Its edges are links; it may contain other nodes.
        segments: numbers of segments of each part of a root's data, in this order.
        found: (S, R/C) of known algorithms; dominated ones are not built.

    Yields:
        Algorithms that are not dominated (in S and R/C) by `found` or earlier ones.

    Raises:
        ModelError: with the first result, on a combining collective, a tree that is invalid on this
            topology, chunks without a tree, no segments, or more than `MOST_SENDS` sends even
            without segments.
    """
    if collective.combining:
        raise ModelError(
            f"{collective.name} reduces data, and only moving data can be scheduled",
            None,
            "a collective that moves data, such as the inverse of this one",
        )
    if not segments or any(number < 1 for number in segments):
        raise ModelError(f"segments {tuple(segments)}", None, "numbers of at least 1")
    until = limits.deadline()
    packing = TreePacking(topology, trees)
    points = list(found)
    floors: dict[int, float] = {}  # for each S the least R/C with these shares
    wasted = 0.0
    for number, chunks in packing.chunk_counts(collective, segments, limits.max_chunks):
        streams = packing.deal(collective.tabulate(topology.num_nodes, chunks))
        if streams.num_sends > MOST_SENDS:
            if streams.num_sends > MOST_SENDS * max(number, 1):
                raise ModelError(
                    f"{streams.num_sends} sends for C = {chunks} of {collective.name} on "
                    f"{topology.name}",
                    None,
                    f"at most {MOST_SENDS}: fewer trees for each root, or a smaller C",
                )
            continue
        if not streams.num_sends:  # everything is in place
            yield Scheduled(chunks, Algorithm((), np.zeros((0, 4), dtype=np.int64)), "no tree")
            return
        sets = LinkSets(topology, streams.num_sends, streams.copies)
        assigner = Assigner(streams, sets)
        windows = assigner.windows
        for steps in _step_counts(streams.height, windows.least_rounds, assigner.tries):
            if until.passed:
                return
            if limits.max_steps is not None and steps > limits.max_steps:
                break
            cost = min((cost for least, cost in points if least <= steps), default=None)
            most = _MANY if cost is None else ceil(cost * chunks) - 1
            if limits.max_rounds is not None:
                most = min(most, limits.max_rounds)
            if number and floors.get(steps, 0.0) * chunks > most + _TOLERANCE:
                continue
            gain = most + 1 - windows.bound(steps)
            if gain * _LEAST_GAIN <= most and steps < windows.least_rounds:
                continue
            before = assigner.wasted
            plan = assigner.best(steps, most, until, wasted < _MOST_WASTED)
            wasted += assigner.wasted - before
            if number and steps in assigner.relaxed:
                floors[steps] = max(floors.get(steps, 0.0), assigner.relaxed[steps] / chunks)
            if plan is None:
                continue
            algorithm = algorithm_of(topology, streams, plan.merged(streams, sets))
            points.append((algorithm.steps, Fraction(algorithm.rounds, chunks)))
            yield Scheduled(chunks, algorithm, _note(len(set(streams.tree)), number))


class PathSchedules:
    """Algorithms of given streams that are paths, each of fewer rounds than before.

    A timetable gives the times; if that leaves a gap, and there are few streams, list scheduling is
    tried too.

    Args:
        most: R at most; None for no limit.
    """

    def __init__(
        self, topology: Topology, streams: Streams, chunks: int, most: int | None, note: str
    ) -> None:
        self._topology, self._streams, self._chunks, self._note = topology, streams, chunks, note
        self._sets = LinkSets(topology, streams.num_sends, streams.copies)
        self._timetable = Timetable(streams, self._sets)
        self._assigner: Assigner | None = None
        self._least = ceil(self._timetable.shares.least_rounds - _TOLERANCE)
        self._most = _MANY if most is None else most

    @property
    def ended(self) -> bool:
        """Whether more steps would hardly save rounds."""
        return self._most < self._least * (1 + _NEAR)

    def made(self, steps: int, until: Deadline) -> Scheduled | None:
        """An algorithm of some steps, the streams' height or more; None without fewer rounds or
        time."""
        plan = self._timetable.plan(steps, until)
        if plan is None:
            return None
        few = len(self._streams.link) * steps <= _MOST_LISTED
        if plan.total > self._least * (1 + _NEAR) and few:
            self._assigner = self._assigner or Assigner(self._streams, self._sets)
            plan = self._assigner.best(steps, plan.total - 1, until, False) or plan
        if plan.total > self._most:
            return None
        self._most = plan.total - 1
        merged = plan.merged(self._streams, self._sets)
        algorithm = algorithm_of(self._topology, self._streams, merged)
        return Scheduled(self._chunks, algorithm, self._note)


def _step_counts(height: int, least_rounds: int, tries: Callable[[int], int]) -> Iterator[int]:
    """The S to try: all near the height, then fewer and fewer, up to one round in each step."""
    last = max(height, least_rounds)
    steps = height
    while steps < last:
        yield steps
        # Where one schedule takes seconds only the ends are worth it.
        steps += max(1, (steps - height) // 4) if tries(steps) > 1 else last - steps
    yield last
    if tries(last) > 1:
        yield from sorted({last + 1, last + max(1, last // 10)})


def _note(trees: int, segments: int) -> str:
    shares = counted(segments, "segment") if segments else "uneven shares"
    return f"{counted(trees, 'tree')}, {shares}"


def algorithm_of(topology: Topology, streams: Streams, plan: SendPlan) -> Algorithm:
    """The algorithm of a plan: the chunks of a stream take an edge first in, first out."""
    links = topology.ends
    order = np.lexsort([plan.step, plan.entry])
    entry = np.repeat(plan.entry[order], plan.amount[order])
    step = np.repeat(plan.step[order], plan.amount[order])
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(streams.count)])
    turn = np.arange(len(entry)) - first[entry]
    sizes = np.array([len(chunks) for chunks in streams.chunks], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    chunk = np.concatenate([*streams.chunks, np.zeros(0, dtype=np.int64)])
    link, chunk = streams.link[entry], chunk[starts[streams.stream[entry]] + turn]
    if streams.copies:
        width = streams.width[link]
        begins = np.cumsum(streams.width) - streams.width
        every = [streams.copies.get(number, (number,)) for number in range(len(streams.width))]
        flat = np.array([one for each in every for one in each], dtype=np.int64)
        link = flat[ranges(begins[link], width)]
        chunk, step = np.repeat(chunk, width), np.repeat(step, width)
    return Algorithm(tuple(plan.rounds.tolist()), np.column_stack([chunk, links[link], step]))
