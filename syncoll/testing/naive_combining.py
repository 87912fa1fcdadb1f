"""A second opinion on combining algorithms that shares no code with the verifier.

Everything is written with sets and Fractions, and a partial result is formed by trying every
subset of what a node holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain, combinations

from syncoll.model import Algorithm, Instance, Topology

__all__ = ["can_form", "has_algorithm", "is_valid"]

Parts = frozenset[frozenset[int]]
State = Mapping[tuple[int, int], Parts]


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


def has_algorithm(instance: Instance) -> bool:
    """Whether a combining instance has an algorithm, by trying everything; for tiny ones."""
    topology = instance.topology
    nodes = range(topology.num_nodes)
    everyone = [frozenset(i for i in nodes if row[i]) for row in instance.pre.tolist()]

    def formable(held: Parts) -> list[frozenset[int]]:
        found = set(held)
        grew = True
        while grew:
            new = {a | b for a in found for b in held if not a & b} - found
            grew = bool(new)
            found |= new
        return sorted(found, key=sorted)

    def done(state: State) -> bool:
        return all(
            everyone[c] in formable(state[c, n])
            for c in range(instance.num_chunks)
            for n in nodes
            if instance.post[c, n]
        )

    seen: set[tuple[int, int, object]] = set()

    def search(step: int, rounds: int, state: State) -> bool:
        if done(state):
            return True
        key = step, rounds, frozenset(state.items())
        if step == instance.steps or key in seen:
            return False
        seen.add(key)
        options = [
            (c, a, b, x)
            for a, b in topology.links
            for c in range(instance.num_chunks)
            for x in formable(state[c, a])
            if x not in state[c, b]
        ]
        for r in range(rounds + 1):
            room = [int(bound.chunks_per_round * r) for bound in topology.bounds]
            if any(
                search(step + 1, rounds - r, after)
                for after in _sends(topology, options, room, state)
            ):
                return True
        return False

    start: dict[tuple[int, int], Parts] = {
        (c, n): frozenset([frozenset([n])]) if instance.pre[c, n] else frozenset()
        for c in range(instance.num_chunks)
        for n in nodes
    }
    return search(0, instance.rounds, start)


def _sends(
    topology: Topology,
    options: list[tuple[int, int, int, frozenset[int]]],
    room: list[int],
    state: State,
) -> Iterator[State]:
    """Every state after a choice of sends within the room; those that send less come too."""
    if not options:
        yield state
        return
    (c, a, b, x), rest = options[0], options[1:]
    bounds = [i for i, bound in enumerate(topology.bounds) if (a, b) in bound.links]
    if all(room[i] > 0 for i in bounds):
        less = [r - (i in bounds) for i, r in enumerate(room)]
        # What is sent now is held only after the step, but no option of this step depends on it.
        after = {**state, (c, b): state[c, b] | {x}}
        yield from _sends(topology, rest, less, after)
    yield from _sends(topology, rest, room, state)
