"""The needed values of every rank, and the needed messages.

A value is a chunk at a rank with a set of contributions: it exists at the start, is received, or is
the reduction of two others.  It is made once, as soon as its parts are available, and never
changes; its place is decided later (`syncoll.runtime.slots`).

A send's data is composed of the fewest disjoint values that its node then has, in the order in
which they became available; so a rank reduces received data on arrival.  Backwards from the end,
values that neither post nor a needed send uses are dropped, with the messages that brought them.

The sends of a step may be in any order.  By number all ranks would begin with rank 0, and wait at
its port of a switch while other ports are idle.  So rank r sends to r + 1 first, then to r + 2, and
so on round to r - 1, and sends to the same rank take turns.  If ranks send alike, no two send to
the same rank at a time.  All formats use this order; tables of messages change it where rounds of
a step would collide (`syncoll.runtime.rounds`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.model.associations import PartialSum, associations, bit_masks, in_words
from syncoll.trust.holdings import disjoint_parts


def distance(source: int, destination: int, num_nodes: int) -> int:
    """The distance from source to destination in cyclic order."""
    return (destination - source) % num_nodes


def in_turn(sends: Ints, num_nodes: int) -> Ints:
    """The order in which sends are written.

    Args:
        sends: ``[M, 4]``: chunk, source, destination and step.
        num_nodes: P.

    Returns:
        ``[M]``, a permutation.  It sorts by step; by the number of the send among all between its
        two ranks, which are ordered by chunk; by the distance from source to destination; by
        source.
    """
    chunk, source, destination, step = sends.T
    pair = (step * num_nodes + source) * num_nodes + destination
    grouped = np.lexsort((chunk, pair))
    starts = np.flatnonzero(np.diff(pair[grouped], prepend=-1))
    turn = np.empty(len(sends), dtype=np.int64)
    turn[grouped] = np.arange(len(sends)) - np.repeat(starts, np.diff([*starts, len(sends)]))
    return np.lexsort((source, (destination - source) % num_nodes, turn, step))


@dataclass
class Value:
    """A chunk's data at a rank.

    Args:
        number: in order of creation; parts have smaller ones.
        mask: bit n is set if node n's contribution is in it; 0 for plain data.
        ready: first step in which it can be sent; 0 at the start.
        parts: the two values that it reduces; empty for others.
        sent: the message that brought it; None for others.
        needed: whether a final result depends on it.
    """

    number: int
    rank: int
    chunk: int
    mask: int
    ready: int
    parts: "tuple[Value, ...]" = ()
    sent: "Sent | None" = None
    needed: bool = False


@dataclass
class Sent:
    """A send of the algorithm that brings new data; the value is at its source."""

    value: Value
    destination: int
    step: int


@dataclass
class Values:
    """All needed values and messages, in order; and the output by chunk and rank."""

    values: list[Value] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    finals: dict[tuple[int, int], Value] = field(default_factory=dict)


def values_of(instance: Instance, algorithm: Algorithm) -> Values:
    """Needed values and messages of a verified algorithm; ExportError if it takes too long."""
    result = Values()
    held: dict[tuple[int, int], dict[int, Value]] = {}
    everyone = bit_masks(instance.pre)
    orders = associations(instance, algorithm) if instance.reproducible else {}

    def make(*what: Any, **how: Any) -> Value:
        value = Value(len(result.values), *what, **how)
        result.values.append(value)
        held.setdefault((value.chunk, value.rank), {})[value.mask] = value
        return value

    def form(rank: int, chunk: int, mask: int, step: int) -> Value:
        """The value with these contributions that is ready in a step; made if necessary."""
        there = {m: v for m, v in held.get((chunk, rank), {}).items() if v.ready <= step}
        if mask in there:
            return there[mask]
        if order := orders.get(everyone[chunk]):
            left, right = (form(rank, chunk, part, step) for part in order.parts[mask])
            ready = max(left.ready, right.ready)
            return make(rank, chunk, mask, ready, parts=(left, right))
        parts = [there[m] for m in _disjoint(mask, list(there))]
        parts.sort(key=lambda value: (value.ready, value.number))
        total = parts[0]
        for part in parts[1:]:
            both = total.mask | part.mask
            known = there.get(both)
            ready = max(total.ready, part.ready)
            total = known or make(rank, chunk, both, ready, parts=(total, part))
        return total

    for chunk, node in np.argwhere(instance.pre).tolist():
        make(node, chunk, 1 << node if instance.combining else 0, 0)
    sends = algorithm.sends.tolist()
    carried = algorithm.contributions
    masks = [0] * len(sends) if carried is None else bit_masks(carried)
    for i in in_turn(algorithm.sends, instance.topology.num_nodes).tolist():
        chunk, source, destination, step = sends[i]
        there = held.get((chunk, destination), {}).get(masks[i])
        if there is not None and there.ready <= step + 1:
            continue  # it has these contributions, or gets them in the same step from another node
        sent = Sent(form(source, chunk, masks[i], step), destination, step)
        result.messages.append(sent)
        make(destination, chunk, masks[i], step + 1, sent=sent)
    for chunk, node in np.argwhere(instance.post).tolist():
        mask = everyone[chunk] if instance.combining else 0
        result.finals[chunk, node] = form(node, chunk, mask, algorithm.steps)

    for value in result.finals.values():
        value.needed = True
    for value in reversed(result.values):
        if value.needed:
            for part in value.parts:
                part.needed = True
            if value.sent is not None:
                value.sent.value.needed = True
    result.messages = [
        value.sent for value in result.values if value.needed and value.sent is not None
    ]
    result.values = [value for value in result.values if value.needed]
    return result


def added_in_words(instance: Instance, algorithm: Algorithm) -> str:
    """Whether the sums of an algorithm are reproducible where exports run it, in words."""
    if not instance.combining:
        return ""
    values, sums = values_of(instance, algorithm), dict[int, PartialSum]()
    for value in values.values:  # parts, and values that are sent, come before
        if value.parts:
            left, right = value.parts
            sums[value.number] = sums[left.number] | sums[right.number]
        else:
            sent = None if value.sent is None else value.sent.value.number
            sums[value.number] = PartialSum(value.mask) if sent is None else sums[sent]
    return in_words((c, n, sums[value.number]) for (c, n), value in values.finals.items())


def _disjoint(wanted: int, held: Sequence[int]) -> list[int]:
    """The fewest disjoint sets of `held` with union `wanted`, by search from the largest."""
    try:
        found = disjoint_parts(wanted, sorted(held, key=lambda m: -m.bit_count()))
    except VerificationError as error:
        raise ExportError(str(error)) from error
    if found is None:
        raise ExportError(
            "the algorithm sends a partial result that its sender cannot form; verify it first"
        )
    return found
