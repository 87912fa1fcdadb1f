"""The requirements of bounds: right proofs, below every algorithm, and in time."""

import time
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import product
from typing import ClassVar

from syncoll.certificates import RoundsBound
from syncoll.clock import counting
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.plugins import BoundRecord, PluginManager
from syncoll.plugins.plugin_bounds import proved_by
from syncoll.testing import kit
from syncoll.testing.seeds import proposals, questions

__all__ = ["BOUND_CHECKS", "BoundConformance", "check_bound"]

_EVERY = 3
"""Questions are taken in steps of this number: all collectives, and all machines."""

_WORK, _SOON_SECONDS = 1.0, 3.0


@cache
def _asked() -> list[BoundsTable]:
    return [BoundsTable(*one) for one in questions()[::_EVERY] if not one[1].irregular]


def _proved(
    record: BoundRecord, about: BoundsTable, steps: int | None, work: float = _WORK
) -> list[RoundsBound]:
    """Its bounds, checked; work is counted, not seconds."""
    found: list[RoundsBound] = []
    question = about.topology, about.collective, about.shape, steps
    with counting(), suppress(OutOfTimeError):
        for bound in proved_by(record, *question, Deadline.after(work)):
            found.append(bound)
    return found


def _named(about: BoundsTable) -> str:
    return f"{about.collective.name} on {about.topology.name}"


def check_proofs(record: BoundRecord) -> None:
    """Its proofs are right, and it proves a bound somewhere."""
    found = [
        bound.rounds > 0
        for about in _asked()
        for steps in (None, about.least_steps, about.least_steps + 1)
        for bound in _proved(record, about, steps)
    ]
    kit.demand(any(found), "it proved nothing for any collective on any machine")


def check_algorithms(record: BoundRecord) -> None:
    """No bound is above the cost of a verified algorithm."""
    seeds = [one for one in PluginManager.discover().seeds.values() if not one.resumes]
    for about, seed in product(_asked()[::_EVERY], seeds):
        for made in proposals(seed, about.topology, about.collective, most=1):
            steps, cost = made.algorithm.steps, Fraction(made.algorithm.rounds, made.chunks)
            for one in _proved(record, about, steps):
                low = one.rounds / about.shape.chunks
                proved = f"R/C >= {low} for S = {steps}, but seed {seed.name} has {cost}"
                kit.demand(low <= cost, f"{_named(about)}: {proved}")


def check_repeatable(record: BoundRecord) -> None:
    """The bounds for a question are the same each time."""
    for about in _asked()[::_EVERY]:
        first, again = (_proved(record, about, about.least_steps) for _ in range(2))
        kit.demand(first == again, f"{_named(about)}: two runs prove different bounds")


def check_time(record: BoundRecord) -> None:
    """With no time left it ends soon."""
    for about in _asked()[::_EVERY]:
        began = time.perf_counter()
        _proved(record, about, about.least_steps, work=0.0)
        spent = time.perf_counter() - began
        kit.demand(
            spent < _SOON_SECONDS, f"{_named(about)}: without any time it took {spent:.1f} s"
        )


BOUND_CHECKS = kit.checks_of(__name__, kit.check_options, kit.check_light)
"""Every check by its name."""


def check_bound(record: BoundRecord) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    return kit.failures(BOUND_CHECKS, record)


class BoundConformance(kit.Conformance, checks=BOUND_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[BoundRecord]
