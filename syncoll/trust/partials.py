"""Which partial results each node holds, for combining collectives.

A partial result of a chunk is the reduction of some nodes' contributions to it, and all that
matters about it is whose: a set of nodes. A node starts with its own contribution; what it receives
it keeps beside what it has. It can form a set by reducing partial results that it holds whose sets
are disjoint, so that nothing counts twice, and add up to the set. That is the only rule: it covers
trees (everything received is added up and sent on), overwriting a partial result by the full one,
and algorithms that keep several partial results apart.

Sets are bit masks in Python integers. Finding the disjoint parts is an exact cover; with the
handful of partial results that a node holds of one chunk it takes microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.trust.violation import Violation

__all__ = ["Partials"]

IntArray = npt.NDArray[np.int64]

_MOST_REMAINDERS = 100_000
"""Where the search for disjoint parts gives up; only files made to be hard come near it."""


class Partials:
    """The partial results that each node holds, as sets of contributors.

    Args:
        instance: whose pre says who contributes to which chunk.
        algorithm: whose `contributions` say what each send carries.
        in_order: whether the reduction may not be commutative: then only runs of contributors that
            follow one another in the order of their numbers may be reduced, and only with the next
            run.
    """

    def __init__(self, instance: Instance, algorithm: Algorithm, *, in_order: bool) -> None:
        self._in_order = in_order
        self._held: dict[tuple[int, int], list[int]] = {}
        self._everyone: list[int] = []
        for c, row in enumerate(instance.pre):
            nodes = np.flatnonzero(row).tolist()
            self._everyone.append(sum(1 << n for n in nodes))
            for n in nodes:
                self._held[c, n] = [1 << n]
        assert algorithm.contributions is not None
        packed = np.packbits(algorithm.contributions, axis=1, bitorder="little")
        self._carried = [int.from_bytes(row.tobytes(), "little") for row in packed]

    def missing(self, step: int, sends: IntArray, first: int) -> Iterator[Violation]:
        """The sends of a step whose partial result the sender cannot form when the step begins."""
        arriving: dict[tuple[int, int], list[int]] = {}
        for i, (chunk, _, destination, _) in enumerate(sends.tolist(), start=first):
            arriving.setdefault((chunk, destination), []).append(self._carried[i])
        for i, (chunk, source, destination, _) in enumerate(sends.tolist(), start=first):
            wanted = self._carried[i]
            what = (
                f"step {step} sends the reduction of {_nodes(wanted)} for chunk {chunk} from node "
                f"{source} to node {destination}"
            )
            if wanted == 0:
                yield Violation("reduction", f"{what}: it carries nobody's contribution")
                continue
            if strangers := wanted & ~self._everyone[chunk]:
                yield Violation(
                    "reduction", f"{what}: {_nodes(strangers)} contribute nothing to that chunk"
                )
                continue
            if self._in_order and not self._is_run(wanted, chunk):
                yield Violation(
                    "order",
                    f"{what}: these do not follow one another, and order must be kept",
                )
                continue
            held = self._held.get((chunk, source), [])
            if not _can_form(wanted, held):
                late = arriving.get((chunk, source), [])
                yield Violation(
                    "causality" if _can_form(wanted, [*held, *late]) else "reduction",
                    f"{what}, but {self._why_not(wanted, held, late, source)}",
                )

    def _why_not(self, wanted: int, held: list[int], late: list[int], node: int) -> str:
        if _can_form(wanted, [*held, *late]):
            return f"node {node} receives what it needs for that only in the same step"
        reach = 0
        for part in held:
            if part & ~wanted == 0:
                reach |= part
        if lacking := wanted & ~reach:
            return f"node {node} does not hold the contribution of {_nodes(lacking)} then"
        return f"node {node} could only form it by adding a contribution twice"

    def _is_run(self, wanted: int, chunk: int) -> bool:
        """Whether no other contributor lies between the first and the last of the set."""
        low = wanted & -wanted
        between = ((1 << wanted.bit_length()) - 1) & ~(low - 1)
        return between & self._everyone[chunk] == wanted

    def arrive(self, sends: IntArray, first: int) -> None:
        """What the sends of a step bring is held when the step has ended."""
        for i, (chunk, _, destination, _) in enumerate(sends.tolist(), start=first):
            held = self._held.setdefault((chunk, destination), [])
            if self._carried[i] not in held:
                held.append(self._carried[i])

    def unmet(self, instance: Instance) -> Iterator[Violation]:
        """Nodes of post that cannot form the reduction of everybody's contribution."""
        for c, n in np.argwhere(instance.post).tolist():
            held, everyone = self._held.get((c, n), []), self._everyone[c]
            if _can_form(everyone, held):
                continue
            reach = 0
            for part in held:
                reach |= part
            if lacking := everyone & ~reach:
                text = f"node {n} never gets the contribution of {_nodes(lacking)} to chunk {c}"
            else:
                text = (
                    f"node {n} can form the result of chunk {c} only by adding a contribution twice"
                )
            yield Violation("post", text)


def _can_form(wanted: int, held: list[int]) -> bool:
    """Whether disjoint sets of the list add up to `wanted`: an exact cover, depth first."""
    parts = [part for part in held if part & ~wanted == 0]
    if wanted in parts:
        return True
    dead: set[int] = set()  # remainders that no parts add up to

    def cover(remainder: int) -> bool:
        if len(dead) > _MOST_REMAINDERS:
            raise VerificationError(
                f"a node holds {len(parts)} overlapping partial results of one chunk, too many to "
                "tell whether they add up"
            )
        if remainder == 0:
            return True
        if remainder in dead:
            return False
        lowest = remainder & -remainder
        for part in parts:
            if part & lowest and part & ~remainder == 0 and cover(remainder & ~part):
                return True
        dead.add(remainder)
        return False

    return cover(wanted)


def _nodes(mask: int) -> str:
    nodes = [n for n in range(mask.bit_length()) if mask >> n & 1]
    if not nodes:
        return "no node"
    shown = ", ".join(str(n) for n in nodes[:8]) + (", …" if len(nodes) > 8 else "")
    return f"node{'s' if len(nodes) > 1 else ''} {shown}"
