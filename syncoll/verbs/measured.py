"""Measured runs: a log's machine, collective, and the ways in which the library may have run it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from syncoll.documents import StoredAlgorithm
from syncoll.errors import SpecError, SyncollError, UsageError
from syncoll.measuring import ABOVE, Column, Run, Sample, Way, read_log, way_of, with_sums
from syncoll.model import Collective, Topology
from syncoll.planning import message_of_collective
from syncoll.runtime import Kind
from syncoll.session import Session
from syncoll.simulating import PhysicalNetwork, given_network
from syncoll.verbs.asking import Where
from syncoll.wording import argument

__all__ = [
    *("STARTS", "MeasuredRun", "library_ways", "measured_runs", "network_of", "samples_of"),
    "variants_of",
]

_LIBRARY: dict[str, tuple[str, ...]] = {
    "nccl_ring": (),
    "nccl_tree": (),
    "pairwise": (),
    "nvls": ("Simple",),
    "pat": ("Simple",),
}
"""The classics that libraries run, each with its protocols; all where there are none."""

STARTS = {"nccl-tests": "nccl", "rccl-tests": "rccl", "mscclpp-test": "mscclpp", "osu": "mpi"}
"""The runtime of each benchmark."""


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run of a log on its machine.

    Args:
        machine: in a command.
        times: sizes in bytes with their seconds.
    """

    run: Run
    collective: Collective
    topology: Topology
    machine: str
    times: tuple[tuple[int, float], ...]


def measured_runs(
    session: Session,
    path: str | Path,
    machine: Where,
    collective: str | None,
    ranks: int | None,
    column: Column,
) -> Iterator[MeasuredRun]:
    """The runs of a log on a machine, or on the members of a family with their numbers of ranks.

    Raises:
        UsageError: if the log cannot be read, or shows another machine or no collective.
    """
    try:
        text = Path(path).read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    for run in read_log(text, str(path), ranks):
        place, kind = f"{path}, line {run.line}", collective or run.kind
        if kind is None:
            raise UsageError(
                f"{place}: the rows do not show their collective; give {argument('collective')}"
            )
        topology, name = _machine(session, machine, run.ranks)
        if run.ranks not in (None, topology.num_nodes):
            raise UsageError(
                f"{place}: a run of {run.ranks} ranks, but {name} has {topology.num_nodes} nodes; "
                'name the machine of the run, or a family such as "dgx_h100(boxes=n)"'
            )
        yield MeasuredRun(run, session.collective(str(kind)), topology, name, run.times(column))


def _machine(session: Session, machine: Where, ranks: int | None) -> tuple[Topology, str]:
    """A machine, or the member of a family of one parameter with a number of nodes, and its name
    in a command."""
    try:
        topology = session.topology(machine)
        return topology, machine if isinstance(machine, str) else topology.name
    except SpecError:
        family = session.family(machine) if ranks else None
        if family is None or len(family.parameters) != 1:
            raise
    for value in range(1, (ranks or 0) + 1):
        values = {family.parameters[0]: value}
        if family.nodes(values) == ranks:
            topology = session.topology(family.topology(values))
            return topology, f"{family.reference.rpartition(':')[0]}:{topology.name}".lstrip(":")
    raise UsageError(f"no member of {machine} has {ranks} nodes")


def network_of(topology: Topology, alpha: object, beta: object) -> PhysicalNetwork:
    """The lanes of a topology; without latencies if neither it nor alpha states them."""
    fabric = topology.fabric
    if alpha is None and (fabric is None or not fabric.states_latencies):
        alpha = "0s"
    return given_network(topology, alpha, beta)  # type: ignore[arg-type]


def variants_of(session: Session, topology: Topology) -> list[Topology]:
    """A machine without sums in switches, and with them if it or a variant of it has them."""
    fabric = topology.fabric
    if topology.counts_copies and fabric is not None:
        plain = replace(fabric, multicast=(), reduce=(), grains=None)
        return [session.topology(plain), topology]
    with suppress(SyncollError):
        for reference in session.specs.variants(topology.name).values():
            variant = session.topology(reference)
            if variant.counts_copies and variant.num_nodes == topology.num_nodes:
                return [topology, variant]
    changed = None if fabric is None else with_sums(fabric)
    return [topology] if changed is None else [topology, session.topology(changed)]


def samples_of(
    run: Run, times: Sequence[tuple[int, float]], ways: Sequence[Way], kind: Kind, name: str
) -> list[Sample]:
    """The rows of a run for a fit.  The switches add up if the run is too fast for other ways."""
    plain = tuple(way for way in ways if way.name != "nvls")
    best = max((way.algbw for way in plain), default=0.0)
    used = tuple(ways) if max(size / time for size, time in times) > ABOVE * best else plain
    if not used:
        raise UsageError(f"{name}: no algorithm of a library is known for {kind} on this machine")
    return [Sample(size, time, used, kind, run.per_process, name) for size, time in times]


def library_ways(
    session: Session, collective: Collective, networks: Sequence[PhysicalNetwork]
) -> tuple[Way, ...]:
    """The ways of the algorithms that libraries run, each in its shortest form.

    Args:
        networks: of the machine, and of its variant whose switches add up, if any.
    """
    found = dict[str, Way]()
    for network in networks:
        topology = network.topology
        message = message_of_collective(collective, topology.num_nodes)
        own = [name for name in _LIBRARY if (name == "nvls") == topology.counts_copies]
        made, _ = session.classics(topology, collective, own)
        for name, each in made.items():
            way = way_of(StoredAlgorithm(*each[0], name), network, message)
            found[name] = replace(way, protocols=_LIBRARY[name])
    return tuple(found.values())
