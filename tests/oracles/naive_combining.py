"""A second opinion on combining algorithms that shares no code with the verifier.

It uses sets and Fractions, and forms a partial result by trying every subset of a node's values.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

from syncoll.model import Algorithm, Instance


def can_form(wanted: frozenset[int], held: set[frozenset[int]]) -> bool:
    """Whether disjoint held sets add up to the wanted one."""
    if not wanted:
        return True
    parts = [part for part in held if part and part <= wanted]
    for some in chain.from_iterable(combinations(parts, n) for n in range(1, len(parts) + 1)):
        union: frozenset[int] = frozenset().union(*some)
        if union == wanted and sum(map(len, some)) == len(union):
            return True
    return False


def is_valid(instance: Instance, algorithm: Algorithm) -> bool:
    """Whether a combining algorithm solves its instance."""
    topology = instance.topology
    nodes, chunks = range(topology.num_nodes), range(instance.num_chunks)
    if len(algorithm.rounds_per_step) != instance.steps:
        return False
    if sum(algorithm.rounds_per_step) != instance.rounds or min(algorithm.rounds_per_step) < 0:
        return False
    if algorithm.contributions is None:
        return False
    rows = [tuple(row) for row in algorithm.sends.tolist()]
    carried = [frozenset(i for i in nodes if row[i]) for row in algorithm.contributions.tolist()]
    if len(set(zip(rows, carried, strict=True))) != len(rows):
        return False
    held = {
        (c, n): {frozenset([n])} if instance.pre[c, n] else set() for c in chunks for n in nodes
    }
    for step in range(instance.steps):
        now = [(row, x) for row, x in zip(rows, carried, strict=True) if row[3] == step]
        for (c, a, b, _), x in now:
            if c not in chunks or (a, b) not in topology.links or not x:
                return False
            if not can_form(x, held[c, a]):
                return False
        for bound in topology.bounds:
            load = sum((row[1], row[2]) in bound.links for row, _ in now)
            if Fraction(load) > bound.chunks_per_round * algorithm.rounds_per_step[step]:
                return False
        for (c, _, b, _), x in now:
            held[c, b].add(x)
    if any(row[3] not in range(instance.steps) for row in rows):
        return False
    return all(
        can_form(frozenset(i for i in nodes if instance.pre[c, i]), held[c, n])
        for c in chunks
        for n in nodes
        if instance.post[c, n]
    )
