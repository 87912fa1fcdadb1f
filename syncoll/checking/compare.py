"""Whether a file is about the machine and the collective that its reader means."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.bounds import Shape
from syncoll.errors import ModelError, VerificationError
from syncoll.files import StoredFile
from syncoll.model import BandwidthBound, Collective, Link, Topology

__all__ = ["compare"]


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
        same = (topology.num_nodes, topology.links, _bounds(topology.bounds)) == (
            stored.topology.num_nodes,
            stored.topology.links,
            _bounds(stored.topology.bounds),
        )
        if not same:
            raise VerificationError(
                f"the file's machine, {stored.topology.name!r}, is not {topology.name}: its links "
                "or bandwidths differ"
            )
    if collective is not None:
        _compare_instances(stored, collective)
        _compare_shapes(stored, collective)


def _compare_instances(stored: StoredFile, collective: Collective) -> None:
    if not stored.instances:
        raise VerificationError(
            f"the file has no point, so that its collective, {stored.collective!r}, cannot be "
            f"compared with {collective.name}; leave out --collective"
        )
    for i in stored.instances:
        try:
            meant = collective.instantiate(
                i.topology, chunks=i.chunks, steps=i.steps, rounds=i.rounds
            )
        except ModelError as error:
            raise VerificationError(
                f"the file's collective, {stored.collective!r}, is not {collective.name}: {error}"
            ) from error
        if not (np.array_equal(meant.pre, i.pre) and np.array_equal(meant.post, i.post)):
            raise VerificationError(
                f"the file's collective, {stored.collective!r}, is not {collective.name}: "
                f"pre or post differ for C = {i.chunks}"
            )


def _compare_shapes(stored: StoredFile, collective: Collective) -> None:
    """What the proofs of a frontier speak of, for every C that they name."""
    frontier = stored.frontier
    if frontier is None or frontier.evidence is None:
        return
    nodes, evidence = stored.topology.num_nodes, frontier.evidence
    for one in evidence.shapes:
        for chunks in one.compared:
            if collective.admits(nodes, chunks):
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
    for chunks in evidence.undefined:
        if collective.admits(nodes, chunks):
            raise VerificationError(f"{collective.name} is defined for C = {chunks}")


def _bounds(bounds: tuple[BandwidthBound, ...]) -> list[tuple[tuple[Link, ...], Fraction]]:
    return sorted((bound.links, bound.chunks_per_round) for bound in bounds)
