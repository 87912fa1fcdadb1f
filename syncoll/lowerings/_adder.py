"""The adder encoding of sums (Warners 1998; Eén & Sörensson 2006): add in binary, then compare.

The literals with bit i in their coefficient fall into bucket i.  A full adder turns three of a
bucket into one sum bit that stays and one carry bit for the next bucket, until one is left in each:
the sum in binary, which is then compared with the bounds.  A row of n literals with coefficients of
b bits needs at most about ``n * b`` adders of 14 clauses and 2 variables.

Unit propagation on it is weak; it is here for rows whose sums are too many for a totalizer, which
it bounds to linear size.
"""

from __future__ import annotations

from syncoll.lowerings._template import SumShape, Template, TemplateBuilder

__all__ = ["adder"]


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
