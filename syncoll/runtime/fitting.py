"""Algorithms of other tools as algorithms of a collective, with its numbers of chunks."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.plugins.foreign import ForeignAlgorithm
from syncoll.wording import counted

__all__ = ["fitted"]


def fitted(
    found: ForeignAlgorithm, topology: Topology, collective: Collective | None
) -> tuple[Instance, Algorithm]:
    """The instance that an algorithm of a file solves if it is right, and the algorithm.

    Args:
        collective: it defines C and the numbers of chunks; None if the file does.

    Raises:
        VerificationError: if the file is for another number of nodes or uses a missing link, or no
            C gives the collective the same chunks.
    """
    nodes, algorithm = topology.num_nodes, found.algorithm
    if found.pre.shape[1] != nodes:
        ranks = counted(found.pre.shape[1], "rank")
        raise VerificationError(f"the file is for {ranks}, but {topology.name} has {nodes} nodes")
    ends = set(map(tuple, algorithm.sends[:, 1:3].tolist()))
    for source, destination in sorted(ends - set(topology.links)):
        raise VerificationError(
            f"data go from rank {source} to rank {destination}, but {topology.name} has no such "
            "link"
        )
    if found.derived:
        algorithm = algorithm.with_least_rounds(topology.conservative)
    steps, rounds = algorithm.steps, algorithm.rounds
    if collective is None:
        about = topology, found.collective, found.chunks, steps, rounds
        return Instance(*about, found.pre, found.post, found.combining), algorithm
    chunks, number = _numbers(found, collective)
    instance = collective.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)
    sends = algorithm.sends.copy()
    sends[:, 0] = number[sends[:, 0]]
    needed, carried = sends[:, 0] >= 0, algorithm.contributions
    carried = None if carried is None else carried[needed]
    return instance, replace(algorithm, sends=sends[needed], contributions=carried)


def _numbers(found: ForeignAlgorithm, collective: Collective) -> tuple[int, IntArray]:
    """C, and for each chunk of a file its number in a collective; -1 for one that is complete at
    the start."""
    nodes, rows = found.pre.shape[1], _kinds(found.pre, found.post, combining=found.combining)
    some = range(1, nodes * nodes + 1)
    least = next((chunks for chunks in some if collective.admits(nodes, chunks)), 0)
    if found.combining is collective.combining and least:
        unit = sum(map(bool, _of(collective, nodes, least)))
        moving = sum(map(bool, rows))
        chunks, rest = divmod(least * moving, max(1, unit))
        if not rest and chunks and collective.admits(nodes, chunks):
            theirs: defaultdict[bytes, list[int]] = defaultdict(list)
            for chunk, kind in enumerate(_of(collective, nodes, chunks)):
                theirs[kind].append(chunk)
            counts = Counter({kind: len(own) for kind, own in theirs.items() if kind})
            if counts == Counter(filter(None, rows)):
                each = {kind: iter(own) for kind, own in theirs.items()}
                numbers = [next(each[kind]) if kind else -1 for kind in rows]
                return chunks, np.array(numbers, dtype=np.int64)
    does = "reduces" if found.combining else "copies"
    raise VerificationError(
        f"the file {does} chunks for {found.collective}; for no C do the chunks of "
        f"{collective.name} start and end at these nodes"
    )


def _of(collective: Collective, nodes: int, chunks: int) -> list[bytes]:
    table = collective.tabulate(nodes, chunks)
    return _kinds(table.pre, table.post, combining=collective.combining)


def _kinds(pre: BoolArray, post: BoolArray, *, combining: bool) -> list[bytes]:
    """For each chunk where it starts and ends, as bytes; empty if it need not move."""
    ends = post if combining else post & ~pre
    moves = (post & ~pre).any(axis=1) | (combining & (pre.sum(axis=1) > 1))
    rows = np.packbits(np.concatenate([pre, ends], axis=1), axis=1)
    return [bytes(row) if some else b"" for some, row in zip(moves, rows, strict=True)]
