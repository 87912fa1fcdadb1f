"""The fastest algorithm of a frontier for each size.

Times are simulated (`syncoll.planning.crossings`), or exact for steps in lockstep.

In the alpha-beta model of the SCCL paper (section 3.6) an algorithm has S steps and R rounds, and
cuts each node's data of L bytes (of a collective with sizes: each unit of L bytes) into C chunks.
With our addition, the overhead of starting a collective, it takes

    overhead + S * alpha + (R / C) * L * beta

Alpha is the latency of a step.  Beta is given by its inverse: the bandwidth of a link that carries
one chunk per round.  R already accounts for faster and slower links.

So in lockstep an algorithm's time is a straight line over L.  The fastest at each size form the
lower envelope of these lines, on which R/C falls from range to range.  A point of the frontier may
be above it everywhere: no other has both fewer steps and a lower R/C, but at every size one of two
others is faster.

All sizes of a plan are bytes of the message, as nccl-tests and the runtimes count them: the output
of an allgather or gather, P * L, and L of the other collectives.  `MessageMeasure` converts between
messages and L; the factor follows from pre and post.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, isqrt
from typing import Literal

from syncoll.arrays import Bools
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.model import Collective, Instance, Topology
from syncoll.planning.associations import in_one_association
from syncoll.planning.crossings import FAR, Envelope, Seconds, enough, envelope
from syncoll.runtime import Kind, StandardCollective, kind_of
from syncoll.runtime.layout import kind_of_tables

PLANNED_SIZES = tuple(1 << bits for bits in range(10, 31, 2))
"""Sizes of messages that every plan has the fastest members for."""

_WORDS = {
    Kind.ALLGATHER: "the output of one node",
    Kind.REDUCESCATTER: "the input of one node",
    Kind.ALLREDUCE: "the buffer of one node",
    Kind.ALLTOALL: "the input of one node",
    Kind.BROADCAST: "the root's buffer",
    Kind.REDUCE: "the buffer of one node",
    Kind.GATHER: "the output of the root",
    Kind.SCATTER: "the input of the root",
}


@dataclass(frozen=True)
class CostModel:
    """Times of algorithms.

    Args:
        alpha: seconds for each step; at least 0.
        bandwidth: 1/beta, bytes per second of a link that carries one chunk per round; above 0.
        overhead: seconds for each call of any algorithm; at least 0.

    Raises:
        UsageError: if a number is out of its range.
    """

    alpha: Fraction
    bandwidth: Fraction
    overhead: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.overhead < 0:
            name = "alpha" if self.alpha < 0 else "an overhead"
            value = min(self.alpha, self.overhead)
            raise UsageError(f"{name} of {value} s is negative; expected at least 0")
        if self.bandwidth <= 0:
            raise UsageError(f"a bandwidth of {self.bandwidth} bytes/s moves nothing")

    def seconds(self, steps: int, bandwidth_cost: Fraction, size: Fraction | int) -> Fraction:
        """The time of an algorithm for L bytes of one node's data."""
        return self.overhead + steps * self.alpha + bandwidth_cost * size / self.bandwidth


def unit_bandwidth(topology: Topology) -> Fraction | None:
    """Bytes per second of a chunk per round; None if the topology has no units."""
    fabric = topology.fabric
    if fabric is None or fabric.measure != "GB/s":
        return None
    return fabric.chunk_bandwidth * 10**9


@dataclass(frozen=True)
class MessageMeasure:
    """The message of a collective.

    Args:
        per_node: bytes of a message for each byte of L, which is cut into C chunks.
        words: describes the buffer.
        measured: whether runtimes measure it; otherwise they cannot use size ranges.
        largest_input: bytes of the largest input of a node for each byte of L; None if the
            algorithms differ in it.
    """

    kind: Kind
    per_node: Fraction
    words: str
    measured: bool = True
    largest_input: Fraction | None = Fraction(1)

    def node_bytes(self, size: Fraction | int) -> Fraction:
        """L of a message, from its bytes.

        >>> MessageMeasure(Kind.ALLGATHER, Fraction(8), "the output of one node").node_bytes(4096)
        Fraction(512, 1)
        """
        return Fraction(size) / self.per_node

    @property
    def per_input(self) -> Fraction:
        """Bytes of a message for each byte of the largest input of a node."""
        largest = self.largest_input
        return Fraction(1) if largest is None else self.per_node / largest

    def input_bytes(self, size: int, element: int) -> int:
        """Bytes of the largest input of a node, in whole elements as nccl-tests rounds them, for a
        message and an element of some bytes.  Raises `UsageError` if the message is too small for
        an element in each input."""
        found = int(size / self.per_input) // element * element
        if found < element:
            least = int(self.per_input * element)
            raise UsageError(f"a message of {size} bytes; expected at least {least} bytes")
        return found

    @property
    def sentence(self) -> str:
        """The message in words, for the line below a table."""
        text = f"message: {self.words}"
        if self.per_node != 1:
            what = self.of_size if self.measured else "one unit of the sizes"
            text += f", {self.per_node} L; L: {what}"
        return text if self.measured else f"{text}; nccl-tests does not know this collective"

    @property
    def of_size(self) -> str:
        """Describes L: the data of one node or, for a collective with sizes, one of their units."""
        if self.largest_input in (None, 1):
            return "the data of one node"
        same = self.measured and self.largest_input == self.per_node
        more = "" if same else f" (the largest input of a node: {self.largest_input} L)"
        return f"one unit of the sizes{more}"


def message_of(instances: Iterable[Instance]) -> MessageMeasure:
    """The message of a collective, given the instances of its algorithms.  For a collective unknown
    to runtimes it is the largest input of a node, as nccl-tests measures an exchange; runtimes
    choose by it only if all nodes have equal inputs."""
    found = [(kind_of(instance), instance) for instance in instances]
    inputs = {_largest_input(instance.pre, instance.chunks) for _, instance in found}
    largest = inputs.pop() if len(inputs) == 1 else None
    measures = {_measure(kind, one.pre, one.chunks, largest) for kind, one in found}
    if len(measures) == 1:
        return measures.pop()
    words = "the data of one node"
    return MessageMeasure(Kind.CUSTOM, Fraction(1), words, measured=False, largest_input=largest)


def message_of_collective(collective: Collective, nodes: int) -> MessageMeasure:
    """The message of a collective on P nodes, before an algorithm is known.  Raises `ModelError` if
    the collective is not defined for this number of nodes."""
    chunks = collective.least_chunks(nodes) or 1
    table = collective.tabulate(nodes, chunks)
    kind = kind_of_tables(table.pre, table.post, combining=collective.combining)
    return _measure(kind, table.pre, chunks, _largest_input(table.pre, chunks))


def _largest_input(pre: Bools, chunks: int) -> Fraction:
    return Fraction(int(pre.sum(axis=0).max()), chunks)


def _measure(
    collective: StandardCollective, pre: Bools, chunks: int, largest: Fraction | None
) -> MessageMeasure:
    kind = collective.kind
    if kind is not Kind.CUSTOM:
        factor = Fraction(collective.loop_chunks, chunks)
        return MessageMeasure(kind, factor, _WORDS[kind], largest_input=largest)
    inputs = pre.sum(axis=0)
    even = bool((inputs == inputs[0]).all())
    words = "the input of one node" if even else "the largest input of a node"
    return MessageMeasure(kind, _largest_input(pre, chunks), words, even, largest)


@dataclass(frozen=True, eq=False)
class SizeRange:
    """The messages for which an algorithm is the fastest: ``low <= size < high``; None: no end."""

    algorithm: StoredAlgorithm
    low: Fraction
    high: Fraction | None

    @property
    def steps(self) -> int:
        """S."""
        return self.algorithm.steps

    @property
    def bandwidth(self) -> Fraction:
        """R/C."""
        return self.algorithm.bandwidth

    @property
    def message_bytes(self) -> tuple[int, int | None] | None:
        """The least and the largest message in it, in whole bytes, with None as the largest for no
        end; None if it contains no message of a whole number of bytes, at least 1.  The ranges of a
        plan touch; a message of 0 bytes belongs to the range of the smallest with a byte."""
        least = max(1, ceil(self.low))
        most = None if self.high is None else ceil(self.high) - 1
        if most is not None and most < least:
            return None
        return (0 if least == 1 else least), most


@dataclass(frozen=True, eq=False)
class NeverBest:
    """An algorithm that is the fastest at no range of sizes.

    Args:
        below: the fastest one just below the size at which this one comes nearest; None if that is
            0.
        above: the same just above; None if it comes nearest as sizes grow.
        size: of that message; None as messages grow.
        slower: its time there over the best; at least 1.  None if the best takes no time.
    """

    algorithm: StoredAlgorithm
    below: StoredAlgorithm | None
    above: StoredAlgorithm | None
    size: Fraction | None
    slower: Fraction | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The fastest algorithm for each size.

    Args:
        ranges: of messages, from 0 to no end.  Simulated, an algorithm may have several.
        never_best: the others, by steps.
        simulated: times by L; None for times of the model, in lockstep.
        association: of all ranges, in words; empty unless sums are reproducible.
        left_out: algorithms in whose place simpler ones take part, slower by at most a tolerance.
    """

    model: CostModel
    message: MessageMeasure
    ranges: tuple[SizeRange, ...]
    never_best: tuple[NeverBest, ...]
    simulated: Seconds | None
    association: str
    left_out: tuple[StoredAlgorithm, ...] = field(default=(), kw_only=True)

    @property
    def timing(self) -> Literal["asynchronous", "lockstep"]:
        """When a send leaves: as soon as it can, or with all sends of its step."""
        return "asynchronous" if self.simulated is not None else "lockstep"

    @property
    def crossovers(self) -> tuple[Fraction, ...]:
        """The messages at which one algorithm takes over from another."""
        return tuple(one.low for one in self.ranges[1:])

    def best(self, size: Fraction | int) -> SizeRange:
        """The range of a message; UsageError if its size is negative."""
        if size < 0:
            raise UsageError(f"a size of {size} bytes is negative")
        return self.ranges[bisect_right([one.low for one in self.ranges], size) - 1]

    def seconds(self, algorithm: StoredAlgorithm, size: Fraction | int) -> Fraction:
        """The time of an algorithm for a message."""
        return self.curve(algorithm, [size])[0]

    def curve(
        self, algorithm: StoredAlgorithm, sizes: Sequence[Fraction | int]
    ) -> Sequence[Fraction]:
        """The time of an algorithm for each of some messages."""
        node = [self.message.node_bytes(size) for size in sizes]
        if self.simulated is not None:
            return self.simulated(algorithm, node)
        steps, cost = algorithm.algorithm.steps, algorithm.bandwidth
        return [self.model.seconds(steps, cost, size) for size in node]

    def algorithm_bandwidth(
        self, algorithm: StoredAlgorithm, size: Fraction | int | None
    ) -> Fraction | None:
        """Bytes of the message over the time: algbw as nccl-tests define it.  A size of None gives
        the limit for growing messages; None if the time is 0, or there is no limit."""
        if size is None and self.simulated is not None:
            size = FAR
        if size is None:
            cost = algorithm.bandwidth
            return self.message.per_node * self.model.bandwidth / cost if cost else None
        seconds = self.seconds(algorithm, size)
        return size / seconds if seconds else None


def plan_sizes(
    algorithms: Sequence[StoredAlgorithm],
    model: CostModel,
    simulated: Seconds | None = None,
    sizes: Sequence[int] = PLANNED_SIZES,
    tolerance: Fraction = Fraction(0),
) -> Plan:
    """Chooses the fastest algorithm for each size of a message, by `simulated` times for some L or
    by the model.  Ties go to fewer steps; for times of the model, to the lower bandwidth cost.
    Reproducible algorithms have one association, chosen for some `sizes` of messages.  Algorithms
    are left out, the ones of most chunks first, as long as sizes take longer by at most a
    share `tolerance`.  Raises `UsageError` if there are no algorithms."""
    if not algorithms:
        raise UsageError("there is no algorithm to choose from")
    if tolerance:
        again = partial(plan_sizes, model=model, simulated=simulated, sizes=sizes)
        return _enough(again(algorithms), again, tolerance)
    ordered = sorted(algorithms, key=lambda one: (one.algorithm.steps, one.bandwidth))
    message = message_of(one.instance for one in ordered)
    every = Plan(model, message, (), (), simulated, "")
    ordered, words = in_one_association(ordered, lambda one: every.curve(one, sizes))
    scaled = replace(model, bandwidth=model.bandwidth * message.per_node)  # of messages
    if simulated is None:
        ranges = _ranges(_lines(ordered, scaled))
        chosen = {id(one.algorithm) for one in ranges}
        rest = tuple(_never_best(one, ranges, scaled) for one in ordered if id(one) not in chosen)
        return Plan(model, message, ranges, rest, None, words)
    found = envelope(ordered, every.curve)
    ranges = _ranges([(ordered[number], Fraction(low)) for number, low in found.starts])
    rest = tuple(_apart(ordered, number, found) for number in found.others)
    return Plan(model, message, ranges, rest, simulated, words)


def _enough(plan: Plan, again: Callable[..., Plan], tolerance: Fraction) -> Plan:
    """A plan without the algorithms that it can do without at sizes of half powers of two, and
    where the fastest changes: times are nearly straight lines between them."""
    best = dict.fromkeys(one.algorithm for one in plan.ranges)
    far = [one for one in plan.never_best if not one.slower or one.slower > 1 + tolerance]
    near = [*best, *(one.algorithm for one in plan.never_best if one not in far)]
    near.sort(key=lambda one: (one.chunks, one.algorithm.num_sends))
    times: dict[Fraction, tuple[Fraction, ...]] = {}
    kept, known = plan, [1, *(isqrt(1 << bits) for bits in range(20, 64)), FAR]
    while new := [x for x in {*map(Fraction, known), *kept.crossovers} if x not in times]:
        rows = zip(*(plan.curve(one, new) for one in near), strict=True)
        times |= zip(new, rows, strict=True)
        numbers = enough(times.values(), tolerance)
        kept = again([*(near[i] for i in numbers), *(one.algorithm for one in far)])
    left_out = tuple(one for i, one in enumerate(near) if i not in numbers)
    return replace(kept, left_out=left_out)


def _apart(ordered: Sequence[StoredAlgorithm], number: int, found: Envelope) -> NeverBest:
    nearest = found.others[number]
    if nearest.size is None:
        last = ordered[found.starts[-1][0]]
        return NeverBest(ordered[number], last, None, None, nearest.slower)
    below, above = (ordered[found.fastest(nearest.size + x)] for x in (-1, 1))
    return NeverBest(ordered[number], below, above, Fraction(nearest.size), nearest.slower)


def _ranges(starts: Sequence[tuple[StoredAlgorithm, Fraction]]) -> tuple[SizeRange, ...]:
    """The ranges of algorithms, given the size from which each is the fastest."""
    ends = [*(low for _, low in starts[1:]), None]
    return tuple(SizeRange(one, low, high) for (one, low), high in zip(starts, ends, strict=True))


def _lines(
    ordered: Sequence[StoredAlgorithm], model: CostModel
) -> list[tuple[StoredAlgorithm, Fraction]]:
    """The lower envelope of straight lines: each algorithm with its first size on the envelope."""
    first = min(ordered, key=lambda one: (one.algorithm.steps * model.alpha, one.bandwidth))
    found = [(first, Fraction(0))]
    while later := [one for one in ordered if one.bandwidth < found[-1][0].bandwidth]:
        last = found[-1][0]
        crossings = [(_crossover(last, one, model), one.bandwidth) for one in later]
        start, cost = min(crossings)
        found.append((later[crossings.index((start, cost))], start))
    return found


def _crossover(one: StoredAlgorithm, other: StoredAlgorithm, model: CostModel) -> Fraction:
    """The size from which on the other, of a lower bandwidth cost, is at least as fast."""
    later = (other.algorithm.steps - one.algorithm.steps) * model.alpha
    return later * model.bandwidth / (one.bandwidth - other.bandwidth)


def _never_best(one: StoredAlgorithm, ranges: Sequence[SizeRange], model: CostModel) -> NeverBest:
    """The size where it comes nearest, at a border: a quotient of lines has no inner minimum."""

    def slower(best: SizeRange, size: Fraction) -> Fraction | None:
        least = model.seconds(best.steps, best.bandwidth, size)
        own = model.seconds(one.algorithm.steps, one.bandwidth, size)
        return own / least if least else None

    found: list[tuple[Fraction, int, Fraction | None]] = []
    for number, best in enumerate(ranges):
        quotient = slower(best, best.low)
        if quotient is not None:
            found.append((quotient, number, best.low))
    last = ranges[-1]
    if last.bandwidth:
        found.append((one.bandwidth / last.bandwidth, len(ranges), None))
    if not found:
        return NeverBest(one, last.algorithm, None, None, None)
    quotient, number, size = min(found, key=lambda entry: entry[:2])
    return NeverBest(
        one,
        ranges[number - 1].algorithm if number else None,
        ranges[number].algorithm if number < len(ranges) else None,
        size,
        quotient,
    )
