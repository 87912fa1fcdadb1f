"""Trees of MultiTree as its paper has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from syncoll.model import Topology
from syncoll.model.fabric import Fabric
from syncoll_multitree import switched
from syncoll_multitree.construction import TimedTrees
from syncoll_multitree.quotient import TranslationQuotient, fewest_steps
from syncoll_multitree.translations import Translations


@dataclass(frozen=True, eq=False)
class RoutedTrees:
    """Timed trees of a fabric, the way of each edge, and the bandwidth of a connection."""

    timed: TimedTrees
    paths: Sequence[tuple[int, ...]]
    unit: Fraction


def translated(topology: Topology, groups: Sequence[Translations]) -> TimedTrees:
    """One tree for every node; translations move the trees of one node to the others."""
    return fewest_steps([TranslationQuotient(topology, one) for one in groups], 1, 1).expand()


def connection_unit(fabric: Fabric) -> Fraction:
    """The greatest bandwidth that divides the bandwidth of every link."""
    amounts = [link.bandwidth for link in fabric.links]
    down = lcm(*(b.denominator for b in amounts))
    return Fraction(gcd(*(int(b * down) for b in amounts)), down) if amounts else Fraction(1)


def multitree_on_fabric(
    fabric: Fabric,
    roots: Sequence[int] | None = None,
    *,
    unit: Fraction | None = None,
    search: str = "near",
    order: str = "index",
    turns: str = "root",
) -> RoutedTrees:
    """The same with the unit of the paper."""
    unit = connection_unit(fabric) if unit is None else unit
    timed, paths = switched.multitree_on_fabric(
        fabric, roots, unit=unit, search=search, order=order, turns=turns
    )
    return RoutedTrees(timed, paths, unit)
