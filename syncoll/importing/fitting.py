"""Algorithms of other tools as algorithms of a collective, with its numbers of chunks."""

from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import replace
from itertools import groupby

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Collective, Instance, Link, Topology
from syncoll.plugins.foreign import ForeignAlgorithm
from syncoll.wording import counted


def fitted(
    found: ForeignAlgorithm, topology: Topology, collective: Collective | None
) -> tuple[Instance, Algorithm]:
    """The instance that an algorithm of a file solves if it is right, and the algorithm.

    Args:
        collective: it defines C and the numbers of chunks; None if the file does.

    Raises:
        VerificationError: if the file is for another number of nodes, uses a missing link or adds a
            contribution twice, or no C gives the collective the same chunks.
    """
    algorithm = found.algorithm
    ends = set(map(tuple, algorithm.sends[:, 1:3].tolist()))
    require_fits(found.pre.shape[1], ends, topology)
    if found.combining and algorithm.contributions is None:
        algorithm = replace(algorithm, contributions=contributions_of(algorithm.sends, found.pre))
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


def require_fits(ranks: int, ends: Set[Link], topology: Topology, *, exactly: bool = True) -> None:
    """Raises VerificationError unless ranks are the nodes, and data use links of the topology.

    Args:
        ends: the pairs of ranks that exchange data.
        exactly: False if there may be more nodes than ranks.
    """
    nodes = topology.num_nodes
    if ranks > nodes or (exactly and ranks < nodes):
        words = f"{counted(ranks, 'rank')}, but {topology.name} has {nodes} nodes"
        raise VerificationError(f"the file is for {words}")
    for source, destination in sorted(ends - set(topology.links)):
        raise VerificationError(
            f"data go from rank {source} to rank {destination}, but {topology.name} has no such "
            "link"
        )


def contributions_of(sends: Ints, pre: Bools) -> Bools:
    """``[M, P]``: the contributions that each send carries: all that its source has reduced.

    A node adds a partial result to its own if they have no contribution in common, and replaces its
    own by a larger one that includes it.

    Args:
        sends: ``[M, 4]``: chunk, source, destination, step, in the order of steps.
        pre: ``[G, P]``.

    Raises:
        VerificationError: if a contribution would be added twice.
    """
    held = {(chunk, node): 1 << node for chunk, node in np.argwhere(pre).tolist()}
    carried = np.zeros((len(sends), pre.shape[1]), dtype=bool)
    for step, now in groupby(enumerate(sends.tolist()), key=lambda row: row[1][3]):
        moved = [(held.get((chunk, a), 0), i, chunk, a, b) for i, (chunk, a, b, _) in now]
        moved.sort(key=lambda row: row[0].bit_count())
        for mask, i, chunk, source, destination in moved:
            if not mask:
                raise VerificationError(
                    f"step {step} sends chunk {chunk} from node {source} to node {destination}, "
                    f"but node {source} does not hold it then"
                )
            carried[i] = [mask >> node & 1 for node in range(pre.shape[1])]
            own = held.get((chunk, destination), 0)
            if own & mask and mask & ~own and own & ~mask:
                raise VerificationError(
                    f"step {step}: node {destination} adds a contribution to chunk {chunk} twice"
                )
            held[chunk, destination] = own | mask
    return carried


def _numbers(found: ForeignAlgorithm, collective: Collective) -> tuple[int, Ints]:
    """C, and for each chunk of a file its number in a collective; -1 for one that is complete at
    the start."""
    nodes, rows = found.pre.shape[1], _kinds(found.pre, found.post, combining=found.combining)
    least = collective.least_chunks(nodes, nodes * nodes)
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


def _kinds(pre: Bools, post: Bools, *, combining: bool) -> list[bytes]:
    """For each chunk where it starts and ends, as bytes; empty if it need not move."""
    ends = post if combining else post & ~pre
    moves = (post & ~pre).any(axis=1) | (combining & (pre.sum(axis=1) > 1))
    rows = np.packbits(np.concatenate([pre, ends], axis=1), axis=1)
    return [bytes(row) if some else b"" for some, row in zip(moves, rows, strict=True)]
