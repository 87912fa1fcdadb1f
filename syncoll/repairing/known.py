"""What is known of the whole machine as seeds of the damaged one's search.

`kept` proposes the algorithms that still work, `mended` what `mending` makes of the others; both
are verified like what any seed makes.  They come first, bound what is searched from above, and are
hints to solvers; the search is the ordinary one, so that no algorithm is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline
from syncoll.errors import SyncollError
from syncoll.model import Algorithm, Collective, Instance, Topology, invert
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.repairing.damaged import Damaged
from syncoll.repairing.mending import mended
from syncoll.repairing.remaining import Broken, carried_over
from syncoll.results.frontier import Costs
from syncoll.searching import ChosenSeed
from syncoll.trust import violations

__all__ = ["KEPT", "MENDED", "known_seeds"]

KEPT, MENDED = "kept", "mended"

_SUMMARIES = {
    KEPT: "algorithms of the whole machine that do not use what is broken",
    MENDED: "algorithms of the whole machine, with ways around what is broken",
}

_SHARE_OF_ONE = 0.5
"""The part of its time that `mended` has for one algorithm, while others wait."""


@dataclass(frozen=True, eq=False)
class _Known:
    """Algorithms of a collective on the damaged machine, broken or not.

    Args:
        topology: the damaged one, or that with its links turned round.
        collective: what is asked there.
    """

    topology: Topology
    collective: Collective
    broken: Sequence[Broken]

    def is_asked(self, topology: Topology, collective: Collective) -> bool:
        """Whether these are algorithms of what is asked for."""
        return collective.name == self.collective.name and topology.same_as(self.topology)


def known_seeds(
    machine: Damaged, whole: Collective, rest: Collective, points: Iterable[Costs]
) -> tuple[ChosenSeed, ...]:
    """The seeds of a repair.

    Args:
        whole: the collective on the whole machine.
        rest: that on the damaged one.
        points: verified, on the whole machine.
    """
    listed = sorted(points, key=lambda point: point.steps)
    known = [_known(machine, rest, listed)]
    if rest.dual is not None and whole.dual is not None:
        turned = replace(
            machine, whole=machine.whole.reversed(), topology=machine.topology.reversed()
        )
        known.append(_known(turned, rest.dual, _inverted(listed, whole.dual)))
    return tuple(
        ChosenSeed(_record(name, known, make), {})
        for name, make in ((KEPT, _kept), (MENDED, _mended))
    )


def _known(machine: Damaged, rest: Collective, points: Iterable[Costs]) -> _Known:
    carried = (carried_over(point, machine, rest) for point in points)
    return _Known(machine.topology, rest, [one for one in carried if one is not None])


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


_Make = Callable[[Broken, Deadline], Iterator[Algorithm]]


def _kept(broken: Broken, _until: Deadline) -> Iterator[Algorithm]:
    """The algorithm as it is, where it still is one."""
    if broken.uses_what_is_gone:
        return
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
    if not violations(instance, broken.algorithm):
        yield broken.algorithm


def _mended(broken: Broken, until: Deadline) -> Iterator[Algorithm]:
    if not any(True for _ in _kept(broken, until)):
        yield from mended(broken, until)


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
    ) -> Iterator[Proposal]:
        """Those of what is asked for."""
        until = limits.deadline()
        for known in self._known:
            if known.is_asked(topology, collective):
                for i, one in enumerate(known.broken):
                    last = i == len(known.broken) - 1
                    ends = until if last else until.share(_SHARE_OF_ONE)
                    for algorithm in self._make(one, ends):
                        yield Proposal(one.chunks, algorithm)
                return


def _record(name: str, known: Sequence[_Known], make: _Make) -> SeedRecord:
    def fits(topology: Topology, collective: Collective) -> Answer:
        if any(one.is_asked(topology, collective) and one.broken for one in known):
            return Answer(True)
        return Answer(False, "nothing is known of it")

    return SeedRecord(
        name,
        _SUMMARIES[name],
        lambda: _Seed(known, make),
        fits=fits,
        first_seconds=0.0 if name == KEPT else 0.01,
    )
