"""Algorithms of one association, so that results are bit-identical over sizes."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log

from syncoll.documents import StoredAlgorithm
from syncoll.model.associations import Association, all_in_words, associations

_LEAST_SECONDS = 1e-12
"""Shorter times count as this one."""


def in_one_association(
    algorithms: Sequence[StoredAlgorithm],
    seconds: Callable[[StoredAlgorithm], Sequence[Fraction | None]],
) -> tuple[list[StoredAlgorithm], str]:
    """The algorithms of the best association, and it in words; all, if sums are not reproducible.

    It has an algorithm for most sizes, and of these the least sum of the logarithms of times.

    Args:
        seconds: the times of an algorithm for some sizes; None where it cannot be used.
    """
    if not all(one.instance.reproducible for one in algorithms):
        return [*algorithms], ""
    alike: list[tuple[dict[int, Association], list[StoredAlgorithm]]] = []
    for one in algorithms:
        own = associations(one.instance, one.algorithm)
        known = next((some for added, some in alike if added == own), None)
        if known is None:
            alike.append((own, [one]))
        else:
            known.append(one)

    def cost(some: Sequence[StoredAlgorithm]) -> tuple[int, float]:
        least = [
            min((float(time) for time in times if time is not None), default=None)
            for times in zip(*map(seconds, some), strict=True)
        ]
        found = [log(max(time, _LEAST_SECONDS)) for time in least if time is not None]
        return -len(found), sum(found)

    added, best = min(alike, key=lambda pair: cost(pair[1])) if len(alike) > 1 else alike[0]
    return best, all_in_words(added.values())
