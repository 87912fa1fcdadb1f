"""Whether a file is about the machine and the collective that its reader means."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.bounds import Shape
from syncoll.errors import LocatedError, VerificationError
from syncoll.files import StoredFile
from syncoll.model import BandwidthBound, Collective, Link, Topology
from syncoll.search import BoundsTable

__all__ = ["compare", "require_same_machine"]


def compare(stored: StoredFile, topology: Topology | None, collective: Collective | None) -> None:
    """Passes when the file's links and bandwidths, and its chunks, are those meant.

    Args:
        stored: a file.
        topology: the machine that is meant; None for any.
        collective: the collective that is meant; None for any.

    Raises:
        VerificationError: when they differ, or cannot be compared.
    """
    if topology is not None:
        require_same_machine(stored.topology, topology)
    if collective is not None:
        _compare_instances(stored, collective)
        _compare_shapes(stored, collective)


def require_same_machine(stored: Topology, meant: Topology) -> None:
    """Passes when two topologies have the same links and bandwidths.

    Raises:
        VerificationError: when they differ.
    """
    same = (meant.num_nodes, meant.links, _bounds(meant.bounds)) == (
        stored.num_nodes,
        stored.links,
        _bounds(stored.bounds),
    )
    if not same:
        raise VerificationError(
            f"the file's machine, {stored.name!r}, is not {meant.name}: its links or bandwidths "
            "differ"
        )


def _compare_instances(stored: StoredFile, collective: Collective) -> None:
    evidence = None if stored.frontier is None else stored.frontier.evidence
    if not stored.instances and evidence is None:
        raise VerificationError(
            f"the file has no point, so that its collective, {stored.collective!r}, cannot be "
            f"compared with {collective.name}; leave out --collective"
        )
    for i in stored.instances:
        try:
            meant = collective.instantiate(
                i.topology, chunks=i.chunks, steps=i.steps, rounds=i.rounds
            )
        except LocatedError as error:
            raise VerificationError(
                f"the file's collective, {stored.collective!r}, is not {collective.name}: {error}"
            ) from error
        if not (
            np.array_equal(meant.pre, i.pre)
            and np.array_equal(meant.post, i.post)
            and meant.combining == i.combining
        ):
            raise VerificationError(
                f"the file's collective, {stored.collective!r}, is not {collective.name}: "
                f"pre or post differ for C = {i.chunks}"
            )


def _compare_shapes(stored: StoredFile, collective: Collective) -> None:
    """What the proofs of a frontier speak of, for every C that they name or leave out."""
    frontier = stored.frontier
    if frontier is None or frontier.evidence is None:
        return
    nodes, evidence = stored.topology.num_nodes, frontier.evidence
    bounds = BoundsTable(stored.topology, collective)
    named = {chunks for one in evidence.shapes for chunks in one.compared}
    for one in evidence.shapes:
        for chunks in one.compared:
            if bounds.admits(chunks):
                table = collective.tabulate(nodes, chunks)
                meant = Shape.of(table, chunks, combining=collective.combining)
                if meant.proportional(one.shape):
                    continue
            raise VerificationError(
                f"the proofs are about other chunks than {collective.name} has with C = {chunks}"
            )
        if one.scales is not None and collective.scales(nodes) is None:
            raise VerificationError(
                f"the proofs claim every C, but that {collective.name} asks for as much in "
                "proportion with every C cannot be shown"
            )
    for chunks in range(1, evidence.max_chunks + 1):
        if chunks not in named and bounds.admits(chunks):
            raise VerificationError(
                f"{collective.name} is defined for C = {chunks}, which the proofs leave out"
            )


def _bounds(bounds: tuple[BandwidthBound, ...]) -> list[tuple[tuple[Link, ...], Fraction]]:
    return sorted((bound.links, bound.chunks_per_round) for bound in bounds)
