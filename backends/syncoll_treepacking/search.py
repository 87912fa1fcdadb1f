"""The search for a packing: floating point proposes, exact arithmetic decides.

The last program's basis says which trees carry data and which rows are tight; that square system is
solved in rationals, forwards for the weights and backwards for the prices.  What comes out is
measured on every row and checked as a certificate, so a packing's cost and its bound are theorems.
Where both meet the packing is optimal; where they do not (a time limit ended the search, or the
basis was not the true one), both are reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray
from syncoll_treepacking.certificate import Certificate, PriceCertificate, best_partition
from syncoll_treepacking.exact_basis import exact_prices, exact_weights
from syncoll_treepacking.oracle import Column, Oracle
from syncoll_treepacking.packing import PackedTree, Packing, packing_cost
from syncoll_treepacking.program import ColumnGeneration, Master

__all__ = ["pack"]


_MOST_ROUNDS = 20
"""How often the exact check of the prices may find a cheaper tree before the interval is left."""

_GRAIN = 1 << 32
"""In how many parts of the largest one weights and prices are rounded to integers."""


def pack(oracle: Oracle, *, seconds: float | None = None, lightest: bool = False) -> Packing:
    """Packs trees so that C is least.

    Args:
        oracle: what trees are, and what they are packed into.
        seconds: when to end the search for better trees; None for no limit.
        lightest: of all packings of that cost, one whose links carry least in all, as
            floating point sees it.  It matters with switches only: elsewhere every spanning tree
            has as many links.
    """
    began = time.perf_counter()
    generation = ColumnGeneration(oracle, seconds)
    master = Master(oracle)
    search = _Search(oracle)
    for _ in range(_MOST_ROUNDS):
        generation.run(master)
        cheaper = search.settle(master)
        if search.cost == search.bound or not generation.converged or not master.add(cheaper):
            break
    if lightest:
        again = Master(oracle, search.cost)
        again.add(master.columns)
        ColumnGeneration(oracle, seconds).run(again)
        search.lighten(again)
    packing = search.packing(generation.programs, master.columns, time.perf_counter() - began)
    packing.verify()
    return packing


class _Search:
    """The best weights and the best certificate so far."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._trees: list[PackedTree] = []
        self.cost: Fraction | None = None
        self.bound = Fraction(0)
        self._certificate: Certificate | None = None

    def settle(self, master: Master) -> list[Column]:
        """Takes what a master found into account; returns trees that its prices call cheaper."""
        if not master.solved:
            self._prove([1] * self._oracle.system.num_rows)
            self._offer(master.columns, self._rounded(master, np.ones(len(master.columns))))
            return []
        prices = master.prices()
        self._prove(np.rint(prices / prices.max() * _GRAIN).astype(np.int64).tolist())
        self._offer(master.columns, exact_weights(master))
        if self.cost == self.bound:
            return []
        self._offer(master.columns, self._rounded(master, master.weights()))
        exact = exact_prices(master)
        if exact is None or self.cost == self.bound:
            return []
        self._prove(exact)
        return self._oracle.cheapest(self._oracle.system.exact_costs(exact))

    def lighten(self, master: Master) -> None:
        """Takes the weights of a master with fixed C, where they are exact."""
        weights = exact_weights(master) if master.solved else None
        if weights is None or min(weights) < 0:
            return
        if packing_cost(self._oracle, master.columns, weights) == self.cost:
            self._trees = _packed(master.columns, weights)

    def packing(self, programs: int, pool: Iterable[Column], seconds: float) -> Packing:
        """What was found."""
        assert self.cost is not None
        assert self._certificate is not None
        return Packing(
            self._oracle, tuple(self._trees), self.cost, self.bound, self._certificate, programs,
            tuple(pool), seconds,
        )  # fmt: skip

    def _offer(self, columns: Sequence[Column], weights: Sequence[Fraction] | None) -> None:
        if weights is None or min(weights) < 0:
            return
        cost = packing_cost(self._oracle, columns, weights)
        if self.cost is None or cost < self.cost:
            self.cost, self._trees = cost, _packed(columns, weights)

    def _prove(self, prices: Sequence[int]) -> None:
        certificate: Certificate
        if self._oracle.system.is_plain:
            certificate = best_partition(self._oracle.system, prices)
        else:
            certificate = PriceCertificate({row: p for row, p in enumerate(prices) if p})
        bound = certificate.check(self._oracle)
        if self._certificate is None or bound > self.bound:
            self.bound, self._certificate = bound, certificate

    def _rounded(self, master: Master, weights: FloatArray) -> list[Fraction]:
        """Nearby weights that add up exactly."""
        shares = self._oracle.shares
        whole = np.rint(np.maximum(weights, 0.0) * _GRAIN).astype(np.int64).tolist()
        totals = [0] * len(shares)
        for tree, weight in zip(master.columns, whole, strict=True):
            totals[tree.group] += weight
        return [
            shares[tree.group] * Fraction(weight, totals[tree.group])
            for tree, weight in zip(master.columns, whole, strict=True)
        ]


def _packed(columns: Sequence[Column], weights: Sequence[Fraction]) -> list[PackedTree]:
    pairs = zip(columns, weights, strict=True)
    return [PackedTree(weight, tree) for tree, weight in pairs if weight]
