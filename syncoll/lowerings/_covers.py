"""Covers: a high bound as the clauses that forbid each least way to exceed it.

``sum <= high`` holds exactly when no set of literals that sums to more than `high` is true
altogether, and the least such sets suffice.  For n literals of coefficient 1 and bound k those are
the ``n choose k + 1`` sets of k + 1 literals: pairs for at most one, one clause for at most n - 1.
No new variable, and nothing propagates better; but only small or extreme bounds have few covers.

The oldest encoding there is; the cover inequalities of integer programming (Balas 1975) are its
kin.
"""

from __future__ import annotations

from itertools import accumulate

from syncoll.lowerings._template import SumShape, Template, TemplateBuilder

__all__ = ["covers"]


_Chosen = tuple[int, "_Chosen"] | None


def _unlinked(chosen: _Chosen) -> list[int]:
    """The literals of a linked list."""
    result: list[int] = []
    while chosen is not None:
        literal, chosen = chosen
        result.append(literal)
    return result


def _leaves(shape: SumShape) -> list[tuple[list[int], list[int]]]:
    """For every literal and chain: the sums that it can have, and the placeholder for each.

    The placeholder of a sum is true exactly when the chain sums to at least that.
    """
    result: list[tuple[list[int], list[int]]] = []
    lengths = [1] * sum(count for _, count in shape.singles) + [len(c) for c in shape.chains]
    coefficients = shape.coefficients()
    first = 0
    for length in lengths + [1] * (len(coefficients) - sum(lengths)):
        sums = list(accumulate(coefficients[first : first + length]))
        result.append((sums, list(range(first + 1, first + length + 1))))
        first += length
    return result


def covers(shape: SumShape, budget: int) -> Template | None:
    """The clauses for the high bound of a row that can be broken, or None.

    Args:
        shape: with ``0 <= high < total``; its low bound is ignored.
        budget: on the literals; a row whose covers have more gets None.
    """
    leaves = sorted(_leaves(shape), key=lambda leaf: -leaf[0][-1])
    # rest[i]: the most that the leaves from i on can add.
    rest = [0]
    for sums, _ in reversed(leaves):
        rest.append(rest[-1] + sums[-1])
    rest.reverse()
    builder = TemplateBuilder(shape.num_inputs)
    # Places still to decide, what is missing there, and the literals chosen so far, as a list
    # linked backwards: the depth of the search is the length of a row.
    stack: list[tuple[int, int, _Chosen]] = [(0, shape.high + 1, None)]
    while stack:
        place, missing, chosen = stack.pop()
        if missing <= 0:
            clause = _unlinked(chosen)
            builder.enforce(*clause)
            budget -= len(clause)
            if budget < 0:
                return None
        elif rest[place] >= missing:
            stack.append((place + 1, missing, chosen))
            for value, literal in zip(*leaves[place], strict=True):
                stack.append((place + 1, missing - value, (-literal, chosen)))
                if value >= missing:
                    break
    return builder.build()
