"""The chunks that each node holds, or for a combining collective the partial results.

A partial result of a chunk is a set of nodes: those nodes' contributions are reduced in it.  A node
starts with its own contribution and keeps every partial result that it receives.  It can form a set
that is a disjoint union of sets that it holds, so that no contribution counts twice.  This one rule
covers trees, overwriting a partial result by the full one, and algorithms that keep several partial
results apart.

Sets are bit masks in Python integers; finding disjoint parts is an exact cover.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.model.associations import Association, bit_masks
from syncoll.model.counting import Arrivals
from syncoll.wording import few

_MOST_REMAINDERS = 100_000
"""The limit of the search for disjoint parts, which only adversarial files reach."""


@dataclass(frozen=True)
class Violation:
    """One error of an algorithm.

    Args:
        kind: ``shape``, ``send``, ``carriers``, ``causality``, ``reduction``, ``order``,
            ``bandwidth`` or ``post``.
        message: the error, with the send, step or link set in question.
    """

    kind: str
    message: str


class Copies:
    """The paper's V_s for some chunks, ``[K]``: ``[K, P]``, starting at pre."""

    def __init__(self, instance: Instance, chunks: Ints) -> None:
        self._chunks, self._row = chunks, np.full(instance.num_chunks, -1)
        self._row[chunks] = np.arange(len(chunks))
        self._holds = instance.pre[chunks]

    def missing(self, step: int, sends: Ints, first: int) -> Iterator[Violation]:
        """The sends of a step whose chunk the sender does not hold when the step begins."""
        chunk, source, destination, _ = sends.T
        for i in np.flatnonzero(~self._holds[self._row[chunk], source]):
            yield Violation(
                "causality",
                f"step {step} sends chunk {chunk[i]} from node {source[i]} to node "
                f"{destination[i]}, but node {source[i]} does not hold it then",
            )

    def arrive(self, sends: Ints, first: int) -> None:
        """The nodes hold the data of a step's sends when the step has ended."""
        self._holds[self._row[sends[:, 0]], sends[:, 2]] = True

    def unmet(self, instance: Instance) -> Iterator[Violation]:
        """The nodes of post without their chunk."""
        for i, n in np.argwhere(instance.post[self._chunks] & ~self._holds).tolist():
            yield Violation("post", f"chunk {self._chunks[i]} never reaches node {n}")


class Partials:
    """The partial results that each node holds, as sets of contributors.

    Args:
        instance: its pre names the contributors of each chunk.
        algorithm: its `contributions` define the partial result of each send.
        chunks: ``[K]``, the chunks that are replayed.
        in_order: for a reduction that may not be commutative: only runs of contributors in the
            order of their numbers may be reduced, and only with the next run.
        arrivals: the data that nodes receive if switches add up; None: the sends themselves.
        added: for a reproducible one the association of each set of contributors.
    """

    def __init__(
        self,
        instance: Instance,
        algorithm: Algorithm,
        chunks: Ints,
        *,
        in_order: bool,
        arrivals: Arrivals | None = None,
        added: Mapping[int, Association] | None = None,
    ) -> None:
        self._added = added or {}
        self._in_order, numbers, pre = in_order, chunks.tolist(), instance.pre[chunks]
        assert algorithm.contributions is not None
        self._everyone: dict[int, int] = dict(zip(numbers, bit_masks(pre), strict=True))
        self._carried = bit_masks(algorithm.contributions)
        self._held = {(numbers[i], n): [1 << n] for i, n in np.argwhere(pre).tolist()}
        self._brought: dict[int, list[tuple[int, int, int]]] | None = None
        if arrivals is not None:
            self._brought = {}
            sums = bit_masks(arrivals.contributions)
            for (chunk, _, destination, step), mask in zip(
                arrivals.sends.tolist(), sums, strict=True
            ):
                self._brought.setdefault(step, []).append((chunk, destination, mask))

    def missing(self, step: int, sends: Ints, first: int) -> Iterator[Violation]:
        """The sends of a step whose partial result the sender cannot form when the step begins."""
        rows = sends.tolist()

        @cache
        def arriving() -> dict[tuple[int, int], list[int]]:
            """The partial results of a chunk that the step delivers to a node."""
            found: dict[tuple[int, int], list[int]] = {}
            for i, (chunk, _, destination, _) in enumerate(rows, start=first):
                found.setdefault((chunk, destination), []).append(self._carried[i])
            return found

        for i, (chunk, source, destination, _) in enumerate(rows, start=first):
            wanted, held = self._carried[i], self._held.get((chunk, source), [])
            everyone = self._everyone[chunk]
            in_order = not self._in_order or self._is_run(wanted, chunk)
            if wanted and not wanted & ~everyone and in_order and self._forms(chunk, wanted, held):
                continue
            what = (
                f"step {step} sends the reduction of {_nodes(wanted)} for chunk {chunk} from node "
                f"{source} to node {destination}"
            )
            if wanted == 0:
                yield Violation("reduction", f"{what}: it carries no contribution")
            elif others := wanted & ~everyone:
                yield Violation(
                    "reduction", f"{what}: {_nodes(others)} contribute nothing to that chunk"
                )
            elif not in_order:
                text = f"{what}: these do not follow one another, and order must be kept"
                yield Violation("order", text)
            elif chunk_order := self._against(chunk, wanted, held):
                yield Violation("order", f"{what}, but it cannot add up {chunk_order}")
            elif _can_form(wanted, [*held, *arriving().get((chunk, source), [])]):
                text = f"node {source} receives the missing contributions only in the same step"
                yield Violation("causality", f"{what}, but {text}")
            else:
                reach = _union(part for part in held if part & ~wanted == 0)
                text = f"node {source} could only form it by adding a contribution twice"
                if lacking := wanted & ~reach:
                    text = f"node {source} does not hold the contribution of {_nodes(lacking)} then"
                yield Violation("reduction", f"{what}, but {text}")

    def _forms(self, chunk: int, wanted: int, held: list[int]) -> bool:
        """Whether a node can form a partial result, in the association if there is one."""
        order = self._added.get(self._everyone[chunk])
        return _can_form(wanted, held) if order is None else order.forms(wanted, held)

    def _against(self, chunk: int, wanted: int, held: list[int]) -> str:
        """The association in words that alone keeps a node from forming a result; or nothing."""
        order = self._added.get(self._everyone[chunk])
        formed = order is not None and _can_form(wanted, held)
        return f"in the association {order} of the other chunks" if formed else ""

    def _is_run(self, wanted: int, chunk: int) -> bool:
        """Whether no other contributor lies between the first and the last of the set."""
        low = wanted & -wanted
        between = ((1 << wanted.bit_length()) - 1) & ~(low - 1)
        return between & self._everyone[chunk] == wanted

    def arrive(self, sends: Ints, first: int) -> None:
        """The nodes hold the data of a step's sends when the step has ended."""
        if self._brought is None:
            rows = enumerate(sends.tolist(), start=first)
            brought = [(chunk, end, self._carried[i]) for i, (chunk, _, end, _) in rows]
        else:
            brought = self._brought.get(int(sends[0, 3]), []) if len(sends) else []
        for chunk, destination, mask in brought:
            held = self._held.setdefault((chunk, destination), [])
            if mask not in held:
                held.append(mask)

    def unmet(self, instance: Instance) -> Iterator[Violation]:
        """Nodes of post that cannot form the reduction of all contributions."""
        watched = list(self._everyone)
        for i, n in np.argwhere(instance.post[watched]).tolist():
            c = watched[i]
            held, everyone = self._held.get((c, n), []), self._everyone[c]
            if self._forms(c, everyone, held):
                continue
            if order := self._against(c, everyone, held):
                yield Violation("order", f"node {n} cannot add up chunk {c} {order}")
                continue
            text = f"node {n} can form the result of chunk {c} only by adding a contribution twice"
            if lacking := everyone & ~_union(held):
                text = f"node {n} never gets the contribution of {_nodes(lacking)} to chunk {c}"
            yield Violation("post", text)


def _can_form(wanted: int, held: list[int]) -> bool:
    """Whether disjoint sets of the list add up to `wanted`."""
    return wanted in held or disjoint_parts(wanted, held) is not None


def disjoint_parts(wanted: int, held: Sequence[int]) -> list[int] | None:
    """The first exact cover of `wanted` by sets of the list, depth first; None without one.  Raises
    `VerificationError` if the search takes too long."""
    parts = [part for part in held if part and part & ~wanted == 0]
    dead: set[int] = set()  # remainders without a cover

    def cover(remainder: int) -> list[int] | None:
        if len(dead) > _MOST_REMAINDERS:
            raise VerificationError(
                f"a node holds {len(parts)} overlapping partial results of one chunk, too many "
                "to decide whether they add up"
            )
        if remainder == 0:
            return []
        if remainder in dead:
            return None
        lowest = remainder & -remainder
        for part in parts:
            if part & lowest and part & ~remainder == 0:
                others = cover(remainder & ~part)
                if others is not None:
                    return [part, *others]
        dead.add(remainder)
        return None

    return cover(wanted)


def _union(parts: Iterable[int]) -> int:
    return reduce(operator.or_, parts, 0)


def _nodes(mask: int) -> str:
    nodes = [n for n in range(mask.bit_length()) if mask >> n & 1]
    if not nodes:
        return "no node"
    return f"node{'s' if len(nodes) > 1 else ''} {few(nodes)}"
