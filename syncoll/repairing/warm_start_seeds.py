"""Algorithms of the whole machine as seeds, and as warm starts, of the damaged one's search.

`kept` proposes those that still work, `mended` those that `rip_up_reroute` makes of the others;
both are verified like the proposals of any seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from syncoll.damage.damaged import Damaged
from syncoll.errors import SyncollError
from syncoll.ledger.sizes import is_small
from syncoll.model import Algorithm, Collective, Instance, Topology, invert
from syncoll.plugins import Proposal
from syncoll.repairing.carried_over import BrokenAlgorithm, carried_over
from syncoll.repairing.rip_up_reroute import mended
from syncoll.results import Family, Part
from syncoll.results.family import backwards
from syncoll.results.frontier import Costs
from syncoll.searching import ChosenSeed
from syncoll.searching.known_algorithms import Clock, KnownAlgorithms, known_seed
from syncoll.trust import violations
from syncoll.trust.families import require_family

__all__ = ["KEPT", "MENDED", "warm_start_seeds"]

KEPT, MENDED = "kept", "mended"

_SUMMARIES = {
    KEPT: "algorithms of the whole machine that do not use what is broken",
    MENDED: "algorithms of the whole machine, with ways around what is broken",
}

_FIRST_SECONDS = 0.15
_WEIGHT, _WEIGHT_OF_LARGE = 0.3, 3.0
"""Weight of these seeds (others have 1) on a small machine, where trees that begin with known ones
soon beat them, and on a large one, where others find little without symmetry."""


@dataclass(frozen=True, eq=False)
class _CarriedOver:
    """Algorithms of a collective on the damaged machine, broken or not.

    Args:
        topology: the damaged one, or its reverse.
        collective: the name of the collective there.
        families: that still work.
    """

    topology: Topology
    collective: str
    broken: Sequence[BrokenAlgorithm]
    families: Sequence[Family]

    def kept(self, _clock: Clock) -> Iterator[Proposal]:
        """Those that still work, as they are."""
        for one in self.broken:
            if _works(one):
                yield Proposal(one.chunks, one.algorithm)
        for family in self.families:
            first = family.member(family.first)
            yield Proposal(first.chunks, first.algorithm, family=family)

    def mended(self, clock: Clock) -> Iterator[Proposal]:
        """The others, rerouted around what is broken."""
        for broken, algorithm in mended([one for one in self.broken if not _works(one)], clock):
            yield Proposal(broken.chunks, algorithm)


def warm_start_seeds(
    machine: Damaged,
    whole: Collective,
    rest: Collective,
    points: Iterable[Costs],
    families: Sequence[Family] = (),
) -> tuple[ChosenSeed, ...]:
    """The seeds of a repair.

    Args:
        whole: the collective on the whole machine.
        rest: that on the damaged one.
        points: verified, on the whole machine.
    """
    listed = sorted(points, key=lambda point: point.steps)
    carried = [_carried(machine, rest, listed, families)]
    if rest.dual is not None and whole.dual is not None:
        turned = replace(
            machine, whole=machine.whole.reversed(), topology=machine.topology.reversed()
        )
        dual = whole.dual.name
        turned_round = [backwards(one, lambda part: _turned(part, dual)) for one in families]
        carried.append(_carried(turned, rest.dual, _inverted(listed, whole.dual), turned_round))
    carried = [one for one in carried if one.broken]

    def known(make: Callable[[_CarriedOver, Clock], Iterator[Proposal]]) -> list[KnownAlgorithms]:
        return [
            KnownAlgorithms(one.topology, one.collective, partial(make, one)) for one in carried
        ]

    kept = known(_CarriedOver.kept)

    def warm_starts(topology: Topology, collective: Collective) -> Sequence[Proposal]:
        asked = zip(kept, carried, strict=True)
        broken = [b for k, c in asked if k.is_asked(topology, collective) for b in c.broken]
        return [Proposal(one.chunks, one.algorithm) for one in broken]

    weight = _WEIGHT if is_small(machine.topology) else _WEIGHT_OF_LARGE
    first = known_seed(KEPT, _SUMMARIES[KEPT], kept, weight=weight)
    second = known_seed(
        MENDED,
        _SUMMARIES[MENDED],
        known(_CarriedOver.mended),
        first_seconds=_FIRST_SECONDS,
        weight=weight,
    )
    return replace(first, known=warm_starts), second


def _carried(
    machine: Damaged, rest: Collective, points: Iterable[Costs], families: Iterable[Family]
) -> _CarriedOver:
    broken = (carried_over(point, machine, rest) for point in points)
    kept = (_carried_family(family, machine) for family in families)
    return _CarriedOver(
        machine.topology,
        rest.name,
        [one for one in broken if one is not None],
        [one for one in kept if one is not None],
    )


def _carried_family(family: Family, machine: Damaged) -> Family | None:
    """A family on the damaged machine; None if it does not work there, or nodes are lost."""

    def there(part: Part) -> Part:
        return Part(replace(part.instance, topology=machine.topology), part.algorithm)

    if machine.lost_nodes:
        return None
    try:
        kept = replace(
            family,
            wave=there(family.wave),
            head=None if family.head is None else there(family.head),
            tail=None if family.tail is None else there(family.tail),
        )
        require_family(kept)
    except SyncollError:
        return None
    return kept


def _turned(part: Part, dual: str) -> Part:
    """A part as one of the dual, on the reversed machine."""
    return Part(*invert(part.instance, part.algorithm, dual))


@dataclass(frozen=True, eq=False)
class _Solved(Costs):
    instance: Instance
    algorithm: Algorithm


def _inverted(points: Iterable[Costs], dual: Collective) -> Iterator[Costs]:
    """The points as algorithms of the dual on the reversed machine."""
    for point in points:
        try:
            yield _Solved(*invert(point.instance, point.algorithm, dual.name))
        except SyncollError:  # it does not run along trees
            continue


def _works(broken: BrokenAlgorithm) -> bool:
    """Whether an algorithm still is one."""
    if broken.uses_what_is_gone:
        return False
    instance = Instance(
        broken.topology,
        "",
        broken.chunks,
        broken.algorithm.steps,
        broken.algorithm.rounds,
        broken.table.pre,
        broken.table.post,
        combining=broken.combining,
    )
    return not violations(instance, broken.algorithm)
