"""Algorithms of the whole machine as seeds, and as warm starts, of the damaged machine's search.

`kept` proposes the algorithms that still work, `mended` the others after `rip_up_reroute`; both are
verified like the proposals of any seed.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import gcd

import numpy as np

from syncoll.damage.damaged import Damaged
from syncoll.errors import SyncollError
from syncoll.ledger.request import is_small
from syncoll.model import Algorithm, Collective, RelationTable, Topology, invert, refine
from syncoll.model.fewer_nodes import rest_of
from syncoll.plugins import Proposal
from syncoll.plugins.turns import Turn
from syncoll.repairing.rip_up_reroute import BrokenAlgorithm, mended
from syncoll.results import Costs, Family, Part
from syncoll.results.family import backwards
from syncoll.searching import ChosenSeed
from syncoll.searching.known_algorithms import KnownAlgorithms, known_seed
from syncoll.trust import violations
from syncoll.trust.families import require_family

KEPT, MENDED = "kept", "mended"

_SUMMARIES = {
    KEPT: "algorithms of the whole machine that do not use broken parts",
    MENDED: "algorithms of the whole machine, rerouted around broken parts",
}

_FIRST_SECONDS = 0.15
_WEIGHT, _WEIGHT_OF_LARGE = 0.3, 3.0
"""Weights of these seeds (others have 1) on small and large machines.  On small machines trees that
begin with known ones are soon better; on large ones other seeds find little without symmetry."""

_MOST_SENDS = 1 << 20
"""Most sends of an algorithm that is carried over, which takes time for each send."""


def _kept(
    broken: Sequence[BrokenAlgorithm], families: Sequence[Family], _turn: Turn
) -> Iterator[Proposal]:
    """The algorithms and families that still work, unchanged."""
    for one in broken:
        if _works(one):
            yield Proposal(one.chunks, one.algorithm)
    for family in families:
        first = family.member(family.first)
        yield Proposal(first.chunks, first.algorithm, family=family)


def _mended(broken: Sequence[BrokenAlgorithm], turn: Turn) -> Iterator[Proposal]:
    """The other algorithms, rerouted around broken parts."""
    for one, algorithm in mended([one for one in broken if not _works(one)], turn):
        yield Proposal(one.chunks, algorithm)


def warm_start_seeds(
    machine: Damaged,
    whole: Collective,
    rest: Collective,
    points: Iterable[Costs],
    families: Sequence[Family] = (),
) -> tuple[ChosenSeed, ...]:
    """The seeds of a repair: from verified points of the whole machine for `rest`, the collective
    on the damaged one."""
    grains = machine.topology.grains
    if grains > 1:  # seeds propose for the machine with a grain as its round
        whole_one = machine.whole.in_grains
        points = [Part(p.instance.in_grains, p.algorithm.scaled(grains)) for p in points]
        families = [family.scaled(whole_one, Fraction(grains)) for family in families]
        machine = replace(machine, whole=whole_one, topology=machine.topology.in_grains)
    listed: list[Costs] = sorted(points, key=lambda point: point.steps)
    sides = [(machine, rest, listed, families)]
    if rest.dual is not None and whole.dual is not None:
        turned = replace(
            machine, whole=machine.whole.reversed(), topology=machine.topology.reversed()
        )
        dual = whole.dual.name
        turned_round = [backwards(one, lambda part: _turned(part, dual)) for one in families]
        sides.append((turned, rest.dual, list(_inverted(listed, dual)), turned_round))
    kept, around, starts = [], [], list[list[BrokenAlgorithm]]()
    for there, asked, some, own in sides:
        broken = [one for point in some if (one := carried_over(point, there, asked)) is not None]
        if broken:
            left = [kind for family in own if (kind := _carried_family(family, there))]
            known = partial(KnownAlgorithms, there.topology, asked.name)
            kept.append(known(partial(_kept, broken, left)))
            around.append(known(partial(_mended, broken)))
            starts.append(broken)

    def warm_starts(topology: Topology, collective: Collective) -> Sequence[Proposal]:
        pairs = zip(kept, starts, strict=True)
        broken = [b for known, own in pairs if known.is_asked(topology, collective) for b in own]
        return [Proposal(one.chunks, one.algorithm) for one in broken]

    weight = _WEIGHT if is_small(machine.topology) else _WEIGHT_OF_LARGE
    first = known_seed(KEPT, _SUMMARIES[KEPT], kept, weight=weight)
    second = known_seed(
        MENDED, _SUMMARIES[MENDED], around, first_seconds=_FIRST_SECONDS, weight=weight
    )
    return replace(first, known=warm_starts), second


def carried_over(point: Costs, machine: Damaged, rest: Collective) -> BrokenAlgorithm | None:
    """A point's algorithm on the damaged machine, with the chunks of the collective there; None if
    it is too large, or not divisible into such chunks."""
    instance, algorithm = point.instance, point.algorithm
    if algorithm.num_sends > _MOST_SENDS:
        return None
    nodes = len(machine.nodes)
    pre, post, kept = rest_of(instance.table, machine.nodes)
    least = rest.least_chunks(nodes)
    if least is None:
        return None
    unit = len(rest.tabulate(nodes, least))
    parts = unit // gcd(unit, int(kept.sum()))
    if parts * algorithm.num_sends > _MOST_SENDS:
        return None
    if parts > 1:
        instance, algorithm = refine(instance, algorithm, parts)
        pre, post, kept = rest_of(instance.table, machine.nodes)
    chunks = least * int(kept.sum()) // unit
    if not rest.admits(nodes, chunks):
        return None
    there = rest.instantiate(
        machine.topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    matching = RelationTable(pre[kept], post[kept]).matching(there.table)
    if matching is None:
        return None
    chunk = np.full(len(kept), -1, dtype=np.int64)
    chunk[np.flatnonzero(kept)] = matching
    node = np.full(machine.whole.num_nodes, -1, dtype=np.int64)
    node[list(machine.nodes)] = np.arange(nodes)
    sends = algorithm.sends
    here = (chunk[sends[:, 0]] >= 0) & (node[sends[:, 1:3]] >= 0).all(axis=1)
    moved = np.stack(
        [chunk[sends[:, 0]], node[sends[:, 1]], node[sends[:, 2]], sends[:, 3]], axis=1
    )[here]
    carried = algorithm.contributions
    if carried is not None:
        carried = carried[here][:, list(machine.nodes)]
        some = carried.any(axis=1)  # without contributions of lost nodes
        moved, carried = moved[some], carried[some]
    return BrokenAlgorithm(there, Algorithm(algorithm.rounds_per_step, moved, carried))


def _carried_family(family: Family, machine: Damaged) -> Family | None:
    """A family on the damaged machine; None if it no longer works, or nodes are lost."""

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


def _turned(part: Costs, dual: str) -> Part:
    return Part(*invert(part.instance, part.algorithm, dual))


def _inverted(points: Iterable[Costs], dual: str) -> Iterator[Part]:
    """The points as algorithms of the dual on the reversed machine."""
    for point in points:
        with suppress(SyncollError):  # its sends do not form trees
            yield _turned(point, dual)


def _works(broken: BrokenAlgorithm) -> bool:
    return not (broken.uses_what_is_gone or violations(broken.instance, broken.algorithm))
