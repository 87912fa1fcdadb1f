from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import pytest

from syncoll.model.fabric import Fabric


class BruteForce:
    """The definitions, evaluated over all cuts of a small fabric."""

    def __init__(self, fabric: Fabric, weights: Sequence[int]) -> None:
        nodes = (1 << fabric.num_nodes) - 1
        self.cuts: list[tuple[int, list[Fraction]]] = []
        for mask in range(1, 1 << fabric.num_vertices):
            inside = sum(w for v, w in enumerate(weights) if mask >> v & 1)
            if inside and mask & nodes != nodes:
                leaving = [
                    link.bandwidth
                    for link in fabric.links
                    if mask >> link.source & 1 and not mask >> link.destination & 1
                ]
                self.cuts.append((inside, leaving))

    def time(self) -> Fraction:
        """Equation (1): the largest weight of a cut over the bandwidth that leaves it."""
        return max(Fraction(inside) / sum(leaving) for inside, leaving in self.cuts)

    def scale_suffices(self, k: int, scale: Fraction) -> bool:
        """Whether k trees for a weight of 1 fit when links carry floor(scale b) of them."""
        return all(
            sum(floor(scale * b) for b in leaving) >= k * inside for inside, leaving in self.cuts
        )


@pytest.fixture
def brute_force() -> type[BruteForce]:
    return BruteForce
