"""Encodings of sums without a tree: covers and adders.

Covers: at most k of n literals are true exactly if no k + 1 of them are, in ``n choose k + 1``
clauses: pairs for at most one, one clause for at most n - 1.  They need no new variable and
propagate best, but only small or extreme bounds have few.

Adders (Warners 1998; Eén & Sörensson 2006) add in binary, then compare.  The literals with bit i in
their coefficient fall into bucket i.  A full adder turns three of a bucket into one sum bit that
stays and one carry bit for the next bucket, until one is left in each: the sum in binary.  A row of
n literals with coefficients of b bits needs at most about ``n * b`` adders of 14 clauses and 2
variables.  Unit propagation on it is weak, but its size is linear: it serves rows with too many
sums for a totalizer.
"""

from itertools import combinations
from math import comb

from syncoll.lowerings._template import SumShape, Template, TemplateBuilder


def covers(shape: SumShape, budget: int) -> Template | None:
    """The clauses for the high bound of a count, ``0 <= high < total``; None for other rows, and if
    they have more literals than the budget."""
    count, size = shape.num_inputs, shape.high + 1
    if shape.coefficients() != [1] * count or shape.chains or comb(count, size) * size > budget:
        return None
    builder = TemplateBuilder(count)
    for chosen in combinations(range(1, count + 1), size):
        builder.enforce(*(-literal for literal in chosen))
    return builder.build()


def _full(out: TemplateBuilder, a: int, b: int, c: int) -> tuple[int, int]:
    """Sum and carry of three literals."""
    total, carry = out.auxiliary(), out.auxiliary()
    for x, y, z in ((a, b, c), (a, -b, -c), (-a, b, -c), (-a, -b, c)):
        out.define(x, y, z, -total)
        out.define(-x, -y, -z, total)
    for x, y in ((a, b), (a, c), (b, c)):
        out.define(-x, -y, carry)
        out.define(x, y, -carry)
    return total, carry


def _half(out: TemplateBuilder, a: int, b: int) -> tuple[int, int]:
    """Sum and carry of two literals."""
    total, carry = out.auxiliary(), out.auxiliary()
    for x, y in ((a, b), (-a, -b)):
        out.define(x, y, -total)
    for x, y in ((a, -b), (-a, b)):
        out.define(x, y, total)
    out.define(-a, -b, carry)
    out.define(a, -carry)
    out.define(b, -carry)
    return total, carry


def _sum_bits(out: TemplateBuilder, shape: SumShape) -> list[int]:
    """The bits of the sum, lowest first; 0 for a bit that is always false."""
    buckets: list[list[int]] = [[] for _ in range(shape.total.bit_length())]
    for literal, coefficient in enumerate(shape.coefficients(), start=1):
        for i in range(coefficient.bit_length()):
            if coefficient >> i & 1:
                buckets[i].append(literal)
    bits: list[int] = []
    for i, bucket in enumerate(buckets):
        queue = list(bucket)
        place = 0
        while len(queue) - place > 1:
            if len(queue) - place > 2:
                total, carry = _full(out, *queue[place : place + 3])
                place += 3
            else:
                total, carry = _half(out, *queue[place : place + 2])
                place += 2
            queue.append(total)
            if i + 1 < len(buckets):
                buckets[i + 1].append(carry)
            else:
                out.define(-carry)  # the total has no such bit
        bits.append(queue[place] if queue else 0)
    return bits


def adder(shape: SumShape) -> Template:
    """The clauses of a row ``low <= sum <= high``."""
    out = TemplateBuilder(shape.num_inputs)
    bits = _sum_bits(out, shape)
    if shape.high < shape.total:
        # The sum exceeds high at its highest bit that differs: one that high has as 0.
        for i, bit in enumerate(bits):
            if bit and not shape.high >> i & 1:
                above = range(i + 1, len(bits))
                if all(bits[j] for j in above if shape.high >> j & 1):
                    out.enforce(-bit, *(-bits[j] for j in above if shape.high >> j & 1))
    if shape.low > 0:
        # Likewise it misses low at a bit that low has as 1.
        for i in range(len(bits)):
            if shape.low >> i & 1:
                above = range(i + 1, len(bits))
                out.enforce(bits[i], *(bits[j] for j in above if not shape.low >> j & 1))
    return out.build()
