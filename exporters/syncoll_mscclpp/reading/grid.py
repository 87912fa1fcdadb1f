"""Grid: the coarsest pieces of buffers that a plan never takes apart.

Plans cut buffers into many equal chunks, and move long runs of them.  Chunks that all operations
treat alike are one piece for the checker.  The borders of all operations are borders of pieces, and
each is carried over from one side of an operation to the others until there are no new ones.  The
parts of input and output of a standard collective all have the same borders, so that its definition
holds piece by piece.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from syncoll_mscclpp.reading.operations import SIGNATURES, in_packets
from syncoll_mscclpp.reading.plan import ExecutionPlan
from syncoll_mscclpp.reading.rules import PlanStep, steps_of

Home = tuple[int, str]
"""A rank and a buffer of its scratch; -1 and a name for all inputs and outputs."""

_PARTS: Home = (-1, "parts")

Run = tuple[Home, int, int]
"""Chunks of a buffer: the first one, and the end."""


class Grid:
    """The pieces of a plan's buffers, by its chunks.

    Args:
        plan: without groups of thread blocks that share operations, and without pipelines.
        share: chunks of a part of its standard collective.
    """

    def __init__(self, plan: ExecutionPlan, share: int) -> None:
        self.share = share
        together = {group for step in steps_of(plan, plan.gpus) for group in self._groups(step)}
        cuts: defaultdict[Home, set[int]] = defaultdict(set)
        cuts[_PARTS] |= {0, share}
        for gpu in plan.gpus:
            for name in ("s", "packets"):
                cuts[gpu.id, name] |= {0, gpu.scratch_chunks * (2 if name == "s" else 1)}
        for runs in together:
            for home, first, end in runs:
                self._add(cuts, home, (first, end))
        self._borders = {home: sorted(found) for home, found in cuts.items()}
        while changed := self._carry(together, cuts):
            for home in changed:
                self._borders[home] = sorted(cuts[home])
        self.pieces_of_part = len(self._borders[_PARTS]) - 1
        self.longest = max(
            (1 + sum(1 for _ in self._in(*run)) for runs in together for run in runs), default=1
        )
        """The pieces of an operation's run, at most."""

    def index(self, rank: int, buffer: str, chunk: int) -> int:
        """The piece of a buffer that begins with a chunk."""
        if buffer in "io":
            part, rest = divmod(chunk, self.share)
            return part * self.pieces_of_part + bisect_left(self._borders[_PARTS], rest)
        return bisect_left(self._borders[rank, buffer], chunk)

    def _groups(self, step: PlanStep) -> Iterator[tuple[Run, ...]]:
        """The chunks that an operation treats alike, piece by piece."""
        op = step.op
        runs = []
        for one, packed in zip(op.pieces, in_packets(op), strict=True):
            here = []
            for owner, buffer in step.owners(one):
                home = _PARTS if buffer in "io" else (owner.id, "packets" if packed else "s")
                here.append((home, one.index, one.index + one.size))
            runs.append(here)
        if SIGNATURES[op.name].paired:
            half = len(op.sources)
            for a, b in zip(runs[:half], runs[half:], strict=True):
                yield (*a, *b)
        elif runs:
            yield tuple(run for here in runs for run in here)

    def _add(self, cuts: dict[Home, set[int]], home: Home, at: Iterable[int]) -> bool:
        """Adds borders; returns whether one is new."""
        found = cuts[home]
        before = len(found)
        found.update((place % self.share for place in at) if home == _PARTS else at)
        return len(found) > before

    def _carry(
        self, together: set[tuple[Run, ...]], cuts: defaultdict[Home, set[int]]
    ) -> set[Home]:
        """Carries borders from each run to the others of its group; returns where some are new."""
        changed = set()
        for runs in together:
            inner = {
                place - first for home, first, end in runs for place in self._in(home, first, end)
            }
            if not inner:
                continue
            for home, first, _ in runs:
                if self._add(cuts, home, [first + one for one in inner]):
                    changed.add(home)
        return changed

    def _in(self, home: Home, first: int, end: int) -> Iterator[int]:
        """The borders within a run."""
        borders = self._borders[home]
        if home != _PARTS:
            yield from borders[bisect_right(borders, first) : bisect_left(borders, end)]
            return
        for part in range(first // self.share, -(-end // self.share)):
            start = part * self.share
            low = bisect_right(borders, first - start)
            yield from (start + one for one in borders[low : bisect_left(borders, end - start)])
