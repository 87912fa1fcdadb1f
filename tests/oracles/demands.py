"""Random demands in the words of the language, and their chunks, written out by hand.

The meaning of a text is spelled out here chunk by chunk, with lists and no code of the package:
uneven sizes, collectives on groups of nodes, and weighted sums of them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Chunk", "Demand", "chunks_of", "random_demand"]

Chunk = tuple[frozenset[int], frozenset[int]]
"""The sources of a chunk, or its contributors, and its destinations."""

MOVING = ("allgather", "broadcast", "gather", "scatter", "alltoall", "alltoallv", "allgatherv")
REDUCING = ("reducescatter", "reduce", "reducescatterv")


@dataclass(frozen=True)
class Demand:
    """A text, and its terms: kind, weight, groups, root, sizes."""

    text: str
    terms: tuple[tuple[str, int, tuple[tuple[int, ...], ...], int, Any], ...]

    @property
    def combining(self) -> bool:
        """Whether a term reduces."""
        return any(kind in REDUCING or kind == "allreduce" for kind, *_ in self.terms)

    def chunks(self, per_unit: int) -> Counter[Chunk] | None:
        """All chunks with C = `per_unit`; None where some group cannot have its share."""
        found: Counter[Chunk] = Counter()
        for kind, weight, groups, root, sizes in self.terms:
            for group in groups:
                own = chunks_of(kind, len(group), weight * per_unit, root, sizes)
                if own is None:
                    return None
                for starts, ends in own:
                    found[
                        frozenset(group[i] for i in starts), frozenset(group[i] for i in ends)
                    ] += 1
        return found


def chunks_of(kind: str, nodes: int, c: int, root: int, sizes: Any) -> list[Chunk] | None:
    """The chunks of one collective on nodes 0, 1, …; None if C = c is invalid."""
    every = frozenset(range(nodes))
    one = [frozenset([n]) for n in range(nodes)]
    if kind in ("scatter", "alltoall", "reducescatter") and c % nodes:
        return None
    ones = range(nodes)
    even = [1] * nodes
    given = even if sizes is None else sizes
    pairs = [[1] * nodes] * nodes if sizes is None else sizes
    share = c // nodes if kind in ("scatter", "alltoall", "reducescatter") else c
    if kind in ("allgather", "allgatherv"):
        return [(one[i], every) for i in ones for _ in range(c * given[i])]
    if kind in ("alltoall", "alltoallv"):
        return [(one[i], one[j]) for i in ones for j in ones for _ in range(share * pairs[i][j])]
    if kind in ("reducescatter", "reducescatterv"):
        return [(every, one[i]) for i in ones for _ in range(share * given[i])]
    if kind == "gather":
        return [(one[i], one[root]) for i in ones for _ in range(c)]
    if kind == "scatter":
        return [(one[root], one[i]) for i in ones for _ in range(share)]
    return [
        {"broadcast": (one[root], every), "reduce": (every, one[root])}.get(kind, (every, every))
    ] * c


def random_demand(rng: random.Random, nodes: int, kinds: tuple[str, ...]) -> Demand:
    """One, two or three terms on this number of nodes."""
    terms, texts = [], []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        kind, weight = rng.choice(kinds), rng.choice((1, 1, 1, 2))
        groups: tuple[tuple[int, ...], ...] = (tuple(range(nodes)),)
        within = ""
        if rng.random() < 0.6:
            size = rng.randint(2, nodes)
            sizes_of_groups = [size] + ([rng.randint(1, nodes)] if rng.random() < 0.5 else [])
            if kind.endswith("v"):  # one list of sizes fits one size of groups
                sizes_of_groups = [size] * len(sizes_of_groups)
            groups = tuple(tuple(rng.sample(range(nodes), n)) for n in sizes_of_groups)
            within = f" within {[list(group) for group in groups]}"
        root = rng.randrange(min(map(len, groups)))
        arguments, sizes = "", None
        width = len(groups[0])
        if kind == "alltoallv":
            sizes = [[rng.choice((0, 0, 1, 2)) for _ in range(width)] for _ in range(width)]
            sizes[0][-1] = 1
        elif kind.endswith("v"):
            sizes = [rng.choice((0, 1, 1, 2)) for _ in range(width)]
            sizes[rng.randrange(width)] = 1
        if sizes is not None:
            arguments = f"({sizes})"
        elif kind in ("broadcast", "gather", "scatter", "reduce"):
            arguments = f"({root})"
        factor = f"{weight} * " if weight > 1 else ""
        texts.append(f"{factor}{kind}{arguments}{within}")
        terms.append((kind, weight, groups, root, sizes))
    return Demand(" + ".join(texts), tuple(terms))
