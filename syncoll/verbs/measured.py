"""Measured runs: a log's machine, collective, and the ways in which the library may have run it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import SpecError, SyncollError, UsageError
from syncoll.measuring import Column, Measurement, Run, Way, read_log, way_of, with_sums
from syncoll.model import Collective, Topology
from syncoll.planning import message_of_collective
from syncoll.session import Session
from syncoll.simulating import PhysicalNetwork, given_network
from syncoll.verbs.asking import Where, reading
from syncoll.wording import argument

_SECONDS = 60.0
"""For each classic: a library's own algorithm must not be missing on a busy machine."""

STARTS = {"nccl-tests": "nccl", "rccl-tests": "rccl", "mscclpp-test": "mscclpp", "osu": "mpi"}
"""The runtime of each benchmark."""


def measured_runs(
    session: Session,
    path: str | Path,
    machine: Where,
    collective: str | None,
    ranks: int | None,
    column: Column,
    costs: tuple[object, object],
    until: Deadline = NEVER,
) -> list[Measurement]:
    """The runs of a log on a machine, or on the members of a family with their numbers of ranks.

    Args:
        costs: alpha and beta.
        until: for reading the log and the machine.

    Raises:
        UsageError: if the log cannot be read, or all runs are of other machines or collectives.
    """
    found, reasons = list[tuple[Run, Collective, Topology, str]](), list[str]()
    with reading(until):
        try:
            text = Path(path).read_text("utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        for run in read_log(text, str(path), ranks):
            why = f"the rows do not show their collective; give {argument('collective')}"
            if kind := collective or run.kind:
                topology, name = _machine(session, machine, run.ranks)
                if run.ranks in (None, topology.num_nodes):
                    found.append((run, session.collective(str(kind)), topology, name))
                    continue
                why = (
                    f"a run of {run.ranks} ranks, but {name} has {topology.num_nodes} nodes; name "
                    'the machine of the run, or a family such as "dgx_h100(boxes=n)"'
                )
            reasons.append(f"{path}, line {run.line}: {why}")
    if not found:
        raise UsageError(reasons[0])
    for reason in reasons:
        session.tell(f"left out: {reason}")
    known, made = dict[tuple[str, str], Any](), []
    for run, meant, topology, name in found:
        if (key := (name, meant.name)) not in known:
            networks = _networks(session, topology, name, *costs)
            known[key] = tuple(networks), library_ways(session, meant, networks)
        about = run, str(path), meant, name, *known[key], run.times(column)
        made.append(Measurement(*about))
    return made


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
        values, nodes = {family.parameters[0]: value}, 0
        with suppress(SpecError):  # there may be no member of this value
            nodes = family.nodes(values)
        if nodes == ranks:
            topology = session.topology(family.topology(values))
            return topology, f"{family.reference.rpartition(':')[0]}:{topology.name}".lstrip(":")
    raise UsageError(f"no member of {machine} has {ranks} nodes")


def _networks(
    session: Session, topology: Topology, name: str, alpha: object, beta: object
) -> list[PhysicalNetwork]:
    """A machine without sums in switches, and with them if it or a variant of it has them.  A
    machine without latencies has none if alpha does not state them."""
    fabric, found = topology.fabric, [topology]
    if topology.counts_copies and fabric is not None:
        found.insert(0, session.topology(replace(fabric, multicast=(), reduce=(), grains=None)))
    elif fabric is not None:
        with suppress(SyncollError):
            each = map(session.topology, session.specs.variants(name).values())
            summing = (x for x in each if x.counts_copies and x.num_nodes == topology.num_nodes)
            found += list(summing)[:1]
        if len(found) == 1 and (changed := with_sums(fabric)) is not None:
            found.append(session.topology(changed))
    if alpha is None and (fabric is None or not fabric.states_latencies):
        alpha = "0s"
    return [given_network(one, alpha, beta) for one in found]  # type: ignore[arg-type]


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
        own = [
            one.name
            for one in session.plugins.seeds.values()
            if one.in_libraries and one.counts_copies == topology.counts_copies
        ]
        made, _ = session.classics(topology, collective, own, _SECONDS)
        for name, each in made.items():
            found[name] = way_of(replace(each[0], where=name), network, message)
    return tuple(found.values())
