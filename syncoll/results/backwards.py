"""A family run backwards: that of the inverse collective."""

from __future__ import annotations

from collections.abc import Callable

from syncoll.results.family import Family, Part

__all__ = ["backwards"]


def backwards(family: Family, invert: Callable[[Part], Part]) -> Family:
    """The family in the opposite order, with each part inverted by `invert`; not yet verified."""
    last, interval = family.wave.steps - 1, family.interval
    return Family(
        invert(family.wave),
        tuple(family.rounds[(last - step) % interval] for step in range(interval)),
        family.first,
        family.ramp_down[::-1],
        family.ramp_up[::-1],
        None if family.tail is None else invert(family.tail),
        None if family.head is None else invert(family.head),
        family.found_by,
    )
