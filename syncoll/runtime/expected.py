"""What an export must do, by a collective's definition and not by what the file says of itself."""

from __future__ import annotations

from dataclasses import replace

from syncoll.errors import ModelError, VerificationError
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import CheckedExport
from syncoll.trust.same_problem import require_same_topology

__all__ = ["meant_instance", "require_links"]

_ROOM = 1 << 40
"""Chunks per round of links, and rounds, where nothing is said about them: enough for any file."""

_MOST_TRIED = 1024
"""The largest C that is tried where the file has numbers of chunks and nobody says C."""


def require_links(found: CheckedExport, topology: Topology) -> None:
    """Passes an export whose data go over links of a machine alone.

    Raises:
        VerificationError: when they do not, or the file has another number of ranks.
    """
    if found.instance is not None:
        require_same_topology(found.instance.topology, topology)
    if found.num_nodes > topology.num_nodes or (
        found.all_nodes and found.num_nodes < topology.num_nodes
    ):
        raise VerificationError(
            f"the file is for {found.num_nodes} ranks, and {topology.name} has "
            f"{topology.num_nodes} nodes"
        )
    for source, destination in sorted(found.links - set(topology.links)):
        raise VerificationError(
            f"data go from rank {source} to rank {destination}, and {topology.name} has no link "
            "there"
        )


def meant_instance(
    collective: Collective, topology: Topology | None, chunks: int | None, found: CheckedExport
) -> Instance:
    """The instance that an export must solve to be what its reader means.

    Args:
        collective: that is meant.
        topology: the machine that is meant; None for whatever the file is for.
        chunks: C; None for what the file has, or, where it only has places in buffers, the least
            that the collective is defined for, as any number of pieces of a chunk will do.
        found: what the file was found to be.

    Raises:
        VerificationError: when the collective has no C with as many chunks as the file.
        ModelError: when it is not defined for that C on so many nodes.
    """
    told = found.instance
    if told is not None:
        wanted = told.chunks if chunks is None else chunks
        try:
            meant = collective.instantiate(
                told.topology, chunks=wanted, steps=told.steps, rounds=told.rounds
            )
        except ModelError as error:
            if chunks is not None:
                raise
            raise VerificationError(
                f"the file's collective, {told.collective!r}, is not {collective.name}: {error}"
            ) from error
        return replace(meant, rounds_per_step=told.rounds_per_step)
    nodes = found.num_nodes if topology is None else topology.num_nodes
    machine = topology
    if machine is None:
        links = {(a, b): _ROOM for a in range(nodes) for b in range(nodes) if a != b}
        machine = Topology.from_links(f"{nodes} nodes", nodes, links)
    if chunks is None:
        chunks = _chunks(collective, nodes, found.num_chunks)
    steps = nodes if found.steps is None else found.steps
    rounds = _ROOM if found.rounds is None else found.rounds
    return collective.instantiate(machine, chunks=chunks, steps=steps, rounds=rounds)


def _chunks(collective: Collective, nodes: int, least: int | None) -> int:
    """The least C for which a collective has at least so many chunks in all."""
    for chunks in range(1, _MOST_TRIED + 1):
        if not collective.admits(nodes, chunks):
            continue
        if least is None or len(collective.tabulate(nodes, chunks).pre) >= least:
            return chunks
    if least is None:
        raise ModelError(
            f"collective {collective.name} is not defined on {nodes} nodes for any C up to "
            f"{_MOST_TRIED}; say C with -C"
        )
    raise VerificationError(
        f"the file has chunk {least - 1}, and {collective.name} on {nodes} nodes has no such for "
        f"any C up to {_MOST_TRIED}; say C with -C if it is larger"
    )
