"""Compares the topology and the collective of a file with the expected ones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncoll.certificates import ChunkClasses
from syncoll.errors import LocatedError, VerificationError
from syncoll.model import Collective, Instance, Topology
from syncoll.results import Evidence
from syncoll.wording import argument


def require_same_topology(stored: Topology, meant: Topology, *, finer: bool = False) -> None:
    """Raises `VerificationError` unless two topologies have the same links, bandwidths and grains.
    With `finer` the expected one may have more: its algorithms include the algorithms of a file."""
    if meant.same_as(stored):
        return
    if not meant.same_as(replace(stored, fabric=None, grains=meant.grains)):
        raise VerificationError(
            f"the file's machine, {stored.name!r}, is not {meant.name}: its links or bandwidths "
            "differ"
        )
    if not finer or meant.grains % stored.grains:
        own, other = (f"multiples of 1/{one.grains}" for one in (stored, meant))
        raise VerificationError(
            f"rounds on the file's machine, {stored.name!r}, are {own}, and on {meant.name} "
            f"{other}: the file proves nothing about the others; search again"
        )


def require_same_collective(
    stored: str,
    topology: Topology,
    instances: Sequence[Instance],
    evidence: Evidence | None,
    meant: Collective,
) -> None:
    """Checks that the points and the proofs of a file are about the expected collective.  Raises
    `VerificationError` if they differ, or cannot be compared."""
    if not instances and evidence is None:
        raise VerificationError(
            f"the file has no point, so that its collective, {stored!r}, cannot be "
            f"compared with {meant.name}; leave out {argument('collective')}"
        )
    for one in instances:
        require_same_instance(one, meant)
    if evidence is not None:
        _compare_shapes(topology, evidence, meant)


def require_same_instance(one: Instance, collective: Collective) -> None:
    """Raises `VerificationError` unless an instance of a file is one of the collective."""
    different = f"the file's collective, {one.collective!r}, is not {collective.name}"
    try:
        meant = collective.instantiate(
            one.topology, chunks=one.chunks, steps=one.steps, rounds=one.rounds
        )
    except LocatedError as error:
        raise VerificationError(f"{different}: {error}") from error
    differences = [
        words
        for words, same in (
            ("start at other nodes", np.array_equal(meant.pre, one.pre)),
            ("end at other nodes", np.array_equal(meant.post, one.post)),
            (f"are {'' if one.combining else 'not '}reduced", meant.combining == one.combining),
            ("need not be reproducible sums", one.reproducible or not meant.reproducible),
        )
        if not same
    ]
    if differences:
        raise VerificationError(
            f"{different}: with C = {one.chunks}, its chunks {' and '.join(differences)}"
        )


def _compare_shapes(topology: Topology, evidence: Evidence, collective: Collective) -> None:
    """Checks the chunks that the proofs are about, for every C that they name or leave out."""
    from syncoll.model.derived import require_sense  # only with a given collective

    nodes = topology.num_nodes
    named = {chunks for one in evidence.shapes for chunks in one.compared}
    collective.require_regular()
    sensible = False  # one sensible C stands for all: the others cut the same chunks
    for one in evidence.shapes:
        for chunks in one.compared:
            try:
                if not sensible:
                    require_sense(collective, topology, chunks)
                    sensible = True
            except LocatedError as error:
                raise VerificationError(
                    f"the proofs are about C = {chunks}, with which {collective.name} makes no "
                    f"sense: {error}"
                ) from error
            table = collective.tabulate(nodes, chunks)
            meant = ChunkClasses.of(table, chunks, combining=collective.combining)
            if not meant.proportional(one.shape):
                raise VerificationError(
                    f"the proofs are about other chunks than {collective.name} has with "
                    f"C = {chunks}"
                )
    for chunks in range(1, evidence.max_chunks + 1):
        if chunks not in named and _admits(topology, collective, chunks, sensible):
            raise VerificationError(
                f"{collective.name} is defined for C = {chunks}, which the proofs leave out"
            )


def _admits(topology: Topology, collective: Collective, chunks: int, sensible: bool) -> bool:
    """Whether the collective is defined for a C and makes sense (known if `sensible`) with it."""
    from syncoll.model.derived import require_sense

    try:
        if not collective.admits(topology.num_nodes, chunks):
            return False
        if not sensible:
            require_sense(collective, topology, chunks)
    except LocatedError:
        return False
    return True
