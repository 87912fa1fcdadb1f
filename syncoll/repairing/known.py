"""What is known of the whole machine as seeds of the damaged one's search.

`kept` proposes the algorithms that still work, `mended` what `mending` makes of the others; both
are verified like what any seed makes.  They come first, bound what is searched from above, and are
hints to solvers; the search is the ordinary one, so that no algorithm is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from syncoll.damage.damaged import Damaged
from syncoll.errors import SyncollError
from syncoll.ledger.sizes import is_small
from syncoll.model import Algorithm, Collective, Instance, Topology, invert
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.repairing.mending import Clock, mended
from syncoll.repairing.remaining import Broken, carried_over
from syncoll.results import Family, Part
from syncoll.results.backwards import backwards
from syncoll.results.frontier import Costs
from syncoll.searching import ChosenSeed
from syncoll.trust import violations
from syncoll.trust.families import require_family

__all__ = ["KEPT", "MENDED", "known_seeds"]

KEPT, MENDED = "kept", "mended"

_SUMMARIES = {
    KEPT: "algorithms of the whole machine that do not use what is broken",
    MENDED: "algorithms of the whole machine, with ways around what is broken",
}

_FIRST_SECONDS = {KEPT: 0.0, MENDED: 0.15}
_WEIGHT, _WEIGHT_OF_LARGE = 0.3, 3.0
"""The part of the time of seeds that mending has, beside 1 for most others, on a small machine,
where trees that begin with what is known soon beat it, and on others, where the others find less as
soon as the machine has no symmetry any more."""


@dataclass(frozen=True, eq=False)
class _Known:
    """Algorithms of a collective on the damaged machine, broken or not.

    Args:
        topology: the damaged one, or that with its links turned round.
        collective: what is asked there.
        families: that still work.
    """

    topology: Topology
    collective: Collective
    broken: Sequence[Broken]
    families: Sequence[Family] = ()

    def is_asked(self, topology: Topology, collective: Collective) -> bool:
        """Whether these are algorithms of what is asked for."""
        return collective.name == self.collective.name and topology.same_as(self.topology)


def known_seeds(
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
        families: likewise.
    """
    listed = sorted(points, key=lambda point: point.steps)
    known = [_known(machine, rest, listed, families)]
    if rest.dual is not None and whole.dual is not None:
        turned = replace(
            machine, whole=machine.whole.reversed(), topology=machine.topology.reversed()
        )
        dual = whole.dual.name
        turned_round = [backwards(one, lambda part: _turned(part, dual)) for one in families]
        known.append(_known(turned, rest.dual, _inverted(listed, whole.dual), turned_round))

    def begun_with(topology: Topology, collective: Collective) -> Sequence[Proposal]:
        asked = (one for one in known if one.is_asked(topology, collective))
        return [Proposal(b.chunks, b.algorithm) for one in asked for b in one.broken]

    kept, mended_ones = (
        ChosenSeed(_record(name, known, make, machine), {})
        for name, make in ((KEPT, _kept), (MENDED, _mended))
    )
    return replace(kept, known=begun_with), mended_ones


def _known(
    machine: Damaged, rest: Collective, points: Iterable[Costs], families: Iterable[Family]
) -> _Known:
    carried = (carried_over(point, machine, rest) for point in points)
    kept = (_carried_family(family, machine) for family in families)
    return _Known(
        machine.topology,
        rest,
        [one for one in carried if one is not None],
        [one for one in kept if one is not None],
    )


def _carried_family(family: Family, machine: Damaged) -> Family | None:
    """A family on the damaged machine; None where it does not work there, or nodes are gone."""

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
    """A part as one of the dual, on the machine with its links turned round."""
    return Part(*invert(part.instance, part.algorithm, dual))


@dataclass(frozen=True, eq=False)
class _Solved(Costs):
    instance: Instance
    algorithm: Algorithm


def _inverted(points: Iterable[Costs], dual: Collective) -> Iterator[Costs]:
    """The points as algorithms of the dual on the machine with its links turned round."""
    for point in points:
        try:
            yield _Solved(*invert(point.instance, point.algorithm, dual.name))
        except SyncollError:  # it does not run along trees
            continue


_Make = Callable[[_Known, Clock], Iterator[Proposal]]


def _works(broken: Broken) -> bool:
    """Whether an algorithm still is one."""
    if broken.uses_what_is_gone:
        return False
    instance = Instance(
        broken.topology,
        "",
        broken.chunks,
        len(broken.rounds),
        sum(broken.rounds),
        broken.table.pre,
        broken.table.post,
        combining=broken.combining,
    )
    return not violations(instance, broken.algorithm)


def _kept(known: _Known, _clock: Clock) -> Iterator[Proposal]:
    """Those that still work, as they are."""
    for one in known.broken:
        if _works(one):
            yield Proposal(one.chunks, one.algorithm)
    for family in known.families:
        first = family.member(family.first)
        yield Proposal(first.chunks, first.algorithm, family=family)


def _mended(known: _Known, clock: Clock) -> Iterator[Proposal]:
    """The others, with ways around what is broken."""
    for broken, algorithm in mended([one for one in known.broken if not _works(one)], clock):
        yield Proposal(broken.chunks, algorithm)


class _Seed:
    """Proposes what can be made of what is known."""

    def __init__(self, known: Sequence[_Known], make: _Make) -> None:
        self._known, self._make = known, make

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal, SeedLimits | None, None]:
        """Those of what is asked for."""
        clock = Clock(limits.deadline())
        for known in self._known:
            if known.is_asked(topology, collective):
                for proposal in self._make(known, clock):
                    sent: SeedLimits | None = yield proposal
                    if sent is not None:
                        clock.until = sent.deadline()
                return


def _record(name: str, known: Sequence[_Known], make: _Make, machine: Damaged) -> SeedRecord:
    def fits(topology: Topology, collective: Collective) -> Answer:
        if any(one.is_asked(topology, collective) and one.broken for one in known):
            return Answer(True)
        return Answer(False, "nothing is known of it")

    return SeedRecord(
        name,
        _SUMMARIES[name],
        lambda: _Seed(known, make),
        fits=fits,
        first_seconds=_FIRST_SECONDS[name],
        weight=_WEIGHT if is_small(machine.topology) else _WEIGHT_OF_LARGE,
        counts_copies=True,
    )
