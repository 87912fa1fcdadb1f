"""Repairs every single failure of a machine in turn.

One failure of each orbit is repaired, as by `syncoll repair`, and represents the others: links that
an automorphism of the machine and the collective maps to each other are equivalent.  In a network
with switches the automorphism is of the cables; routes around a cable may still depend on node
numbers.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from syncoll.damage.damage import Damage
from syncoll.damage.damaged import cables_of
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.documents.folder import FrontierFolder
from syncoll.errors import ImpossibleError, LocatedError, UsageError
from syncoll.model import Collective, Link, RelationTable, Topology
from syncoll.model.components import least_of_orbits
from syncoll.progress import tracked
from syncoll.repairing.cost_delta import Loss, Repair
from syncoll.repairing.fewer_nodes import left
from syncoll.repairing.warm_start_seeds import warm_start_seeds
from syncoll.results import Frontier
from syncoll.searching.known_algorithms import Search
from syncoll.symmetry.orbits import vertex_automorphisms_fixing
from syncoll.symmetry.structure import Structure


class FailureKind(StrEnum):
    """The failing part: a direction of a link, both directions, a node or a switch."""

    LINKS = "links"
    CABLES = "cables"
    NODES = "nodes"
    SWITCHES = "switches"


@dataclass(frozen=True)
class SingleFailure:
    """A possible failure; `images` is the size of its orbit."""

    damage: Damage
    images: int


def single_failures(
    topology: Topology, collective: Collective, kind: FailureKind
) -> list[SingleFailure]:
    """One failure of each orbit, in the order of their numbers; for a regular collective."""
    collective.require_regular()
    fabric, _ = cables_of(topology)
    nodes = topology.num_nodes
    vertices = nodes if fabric is None else fabric.num_vertices
    links: list[Link] = sorted(topology.links if fabric is None else fabric.bandwidths)
    if kind is FailureKind.LINKS:
        things: list[tuple[int, ...]] = list(links)
    elif kind is FailureKind.CABLES:
        things = sorted({(min(link), max(link)) for link in links})
    elif kind is FailureKind.NODES:
        things = [(node,) for node in range(nodes)]
    else:
        things = [(switch,) for switch in range(nodes, vertices)]
    position = {thing: i for i, thing in enumerate(things)}
    maps = []
    rates = {} if fabric is None else fabric.bandwidths
    for images in _automorphisms(topology, collective):
        if any(rates.get((images[a], images[b])) != rate for (a, b), rate in rates.items()):
            continue  # it preserves the topology, but not the cables
        moved = [tuple(images[vertex] for vertex in thing) for thing in things]
        if kind is FailureKind.CABLES:
            moved = [(min(ends), max(ends)) for ends in moved]
        maps.append(np.array([position[thing] for thing in moved], dtype=np.int64))
    label = least_of_orbits(len(things), maps)
    firsts, counts = np.unique(label, return_counts=True)
    return [
        SingleFailure(_damage(things[i], nodes, {*links}, kind), count)
        for i, count in zip(firsts.tolist(), counts.tolist(), strict=True)
    ]


def _damage(
    thing: Sequence[int], nodes: int, links: set[tuple[int, int]], kind: FailureKind
) -> Damage:
    vertices = [(one >= nodes, one - nodes * (one >= nodes)) for one in thing]
    if len(vertices) == 1:
        damage = Damage("", vertex=vertices[0])
    else:
        there, back = ((thing[i], thing[1 - i]) in links for i in (0, 1))
        one, other = vertices if there else vertices[::-1]  # the link may have one direction
        damage = Damage("", (one, other), kind is FailureKind.CABLES and there and back)
    return replace(damage, text=damage.words)


def _automorphisms(topology: Topology, collective: Collective) -> Iterator[list[int]]:
    """Generators of the automorphisms that preserve B and the collective, with switches."""
    least = collective.least_chunks(topology.num_nodes)
    if least is None:
        return
    table = collective.table_on(topology, least)
    asked = Structure(topology, table)
    # Generators of the stabiliser of roots, not only the generators that fix them.
    for images in vertex_automorphisms_fixing(topology, _roles(table)):
        if asked.keeps(images[: topology.num_nodes]):
            yield images.tolist()


def _roles(table: RelationTable) -> list[list[int]]:
    """Classes of nodes with the same numbers of chunks of each kind that start and end there."""
    starts, ends, counts = table.kinds
    pre, post = table.starts.sets[starts], table.ends.sets[ends]
    sizes = np.stack([pre.sum(axis=1), post.sum(axis=1), counts], axis=1)
    roles: dict[tuple[tuple[object, ...], ...], list[int]] = {}
    for node in range(table.num_nodes):
        own = np.concatenate([sizes, pre[:, [node]], post[:, [node]]], axis=1)
        roles.setdefault(tuple(sorted(map(tuple, own.tolist()))), []).append(node)
    return list(roles.values())


@dataclass(frozen=True, eq=False)
class Surveyed:
    """One failure, representing its orbit.  It has a repair; the reason, `refused`, that the
    collective is proved impossible; or the reason, `left_out`, that the rest cannot be
    described."""

    failure: SingleFailure
    repair: Repair | None = None
    refused: str = ""
    left_out: str = ""

    @property
    def words(self) -> str:
        """A text that names the damage."""
        return self.failure.damage.words

    @property
    def any_steps(self) -> Loss | None:
        """The loss with any number of steps; None without a repair."""
        return None if self.repair is None else self.repair.losses[-1]


@dataclass(frozen=True, eq=False)
class Survey:
    """All single failures of a kind.

    Args:
        whole: the machine's frontier.
        complete: whether all were tried, and the overall limit ended no search.
    """

    kind: FailureKind
    whole: Frontier
    surveyed: tuple[Surveyed, ...]
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def failures(self) -> int:
        """Number of failures, all of each orbit counted."""
        return sum(one.failure.images for one in self.surveyed)

    @property
    def fatal(self) -> tuple[Surveyed, ...]:
        """The failures that make the collective impossible."""
        return tuple(one for one in self.surveyed if one.refused)

    @property
    def left_out(self) -> tuple[Surveyed, ...]:
        """The failures that were not tried, since the rest cannot be described."""
        return tuple(one for one in self.surveyed if one.left_out)

    @property
    def worst(self) -> tuple[Surveyed, ...]:
        """The repaired failures, by R/C with any number of steps, the highest first."""

        def badness(one: Surveyed) -> tuple[Any, ...]:
            loss = one.any_steps
            assert loss is not None
            return loss.now is None, loss.now or 0, loss.bound or 0

        found = [one for one in self.surveyed if one.any_steps is not None]
        return tuple(sorted(found, key=badness, reverse=True))

    @property
    def found(self) -> bool:
        """Whether a failure has an algorithm, or a proof that no algorithm exists."""
        return any(
            one.refused or (one.repair is not None and one.repair.frontier.points)
            for one in self.surveyed
        )


@dataclass(frozen=True)
class SurveyWork:
    """Settings of a survey: seconds for each failure, the deadline of all, and the folder that
    stores and supplies frontiers."""

    search: Search
    seconds: float
    until: Deadline
    folder: FrontierFolder | None = None


def survey(
    whole: Frontier,
    collective: Collective,
    kind: FailureKind,
    work: SurveyWork,
    find: Callable[[str], Collective],
) -> Survey:
    """Repairs one failure of each orbit; the machine's frontier has at least one point.

    After Ctrl-C or the deadline it returns the failures repaired so far.  Raises `UsageError` if
    the machine has no such part, or a file cannot be written.
    """
    began = time.perf_counter()
    failures = single_failures(whole.topology, collective, kind)
    if not failures:
        raise UsageError(f"{whole.topology.name} has no {kind} to survey")
    found = [Surveyed(one) for one in failures]
    complete, interrupted = True, False
    try:
        for i, one in tracked(list(enumerate(failures)), lambda pair: pair[1].damage.words):
            work.until.check()
            found[i] = _surveyed(whole, collective, one, work, find)
            repair = found[i].repair
            if repair is not None and repair.frontier.interrupted:
                if not repair.frontier.points:
                    found[i] = Surveyed(one)  # it was not searched
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        complete, interrupted = False, True
    except OutOfTimeError:
        complete = False
    seconds = time.perf_counter() - began
    return Survey(kind, whole, tuple(found), complete, interrupted, seconds)


def _surveyed(
    whole: Frontier,
    collective: Collective,
    failure: SingleFailure,
    work: SurveyWork,
    find: Callable[[str], Collective],
) -> Surveyed:
    with interrupted_at(work.until):
        try:
            machine, rest = left(whole.topology, [failure.damage], collective, find)
        except ImpossibleError as error:
            return Surveyed(failure, refused=error.message)
        except (LocatedError, UsageError) as error:
            message = error.message if isinstance(error, LocatedError) else str(error)
            return Surveyed(failure, left_out=message)
        known = None if work.folder is None else work.folder.read(machine.topology, rest)
    if known is not None and known.complete and known.points:
        return Surveyed(failure, Repair(machine, whole, known))
    seeds = warm_start_seeds(machine, collective, rest, whole.points, whole.families)
    frontier = work.search(machine.topology, rest, work.until.sooner(work.seconds), seeds)
    if work.folder is not None and (frontier.points or frontier.complete):
        work.folder.write(frontier)
    return Surveyed(failure, Repair(machine, whole, frontier))
