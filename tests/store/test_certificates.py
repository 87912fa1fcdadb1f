"""Kept certificates are checked, and prove the same number again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.bounding import rounds_bound, with_cut
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.bounding.trees import find_tree_prices
from syncoll.certificates import Cut, Demand, Priced, Share, Ways, demands
from syncoll.model import Topology
from syncoll.store import CachedBounds, Store
from syncoll.testing.instances import random_instance
from tests.oracles import classics


def found(seed: int) -> tuple[Topology, tuple[Demand, ...], int | None, Priced] | None:
    """A certificate of one of the kinds that a store keeps, about a random instance."""
    instance = random_instance(seed, most_nodes=6)
    topology, needs = instance.topology, demands(instance)
    steps = instance.steps if instance.steps >= instance.least_steps else None
    if not needs:
        return None
    if seed % 4 == 0:
        return topology, needs, None, by_prices(topology, needs)
    if seed % 4 == 1:
        bound = with_cut(topology, needs, rounds_bound(topology, needs))
        steps = None
    elif seed % 4 == 2 and steps is not None:
        trees = find_tree_prices(topology, needs, steps)
        return None if trees is None else (topology, needs, steps, trees[1])
    else:
        bound = rounds_bound(topology, needs, steps)
    if bound.certificate is None:
        return None
    return topology, needs, steps, bound.certificate


def by_prices(topology: Topology, needs: tuple[Demand, ...]) -> Priced:
    network = TimeExpandedNetwork.of(topology, None)
    solved = Relaxation(network, needs, RelaxationKind.TOGETHER).solve(None)
    assert solved is not None
    return solved.certificate


def test_a_certificate_proves_as_much_for_multiples(store: Store) -> None:
    checked: Counter[str] = Counter()
    for seed in range(120):
        case = found(seed)
        if case is None:
            continue
        topology, needs, steps, certificate = case
        assert store.keep_certificate(topology, needs, steps, f"e{seed}", certificate)
        times = 1 + seed % 3
        wanted = tuple(replace(demand, count=demand.count * times) for demand in needs)
        back = store.certificate(topology, wanted, steps, f"e{seed}")
        assert back is not None, seed
        assert back.rounds == times * certificate.check(topology, needs)
        assert back.certificate is not None
        assert back.certificate.check(topology, wanted) == back.rounds
        assert store.certificate(topology, wanted, steps, "another effort") is None
        assert store.certificate(topology, wanted, (steps or 9) + 1, f"e{seed}") is None
        checked[certificate.argument.method] += 1
    assert checked.keys() == {"prices", "cut", "trees"}
    assert min(checked.values()) >= 5
    assert checked.total() >= 80
    assert store.dropped == 0


def test_other_demands_or_capacities_are_another_question(store: Store) -> None:
    ring = classics.ring(4)
    needs = (Demand((0,), (1, 2), 2), Demand((1,), (3,), 1))
    certificate = by_prices(ring, needs)
    store.keep_certificate(ring, needs, None, "e", certificate)
    assert store.certificate(ring, needs, None, "e") is not None
    others = [
        (ring, (Demand((0,), (1, 2), 1), Demand((1,), (3,), 1))),
        (ring, (Demand((0,), (1, 3), 2), Demand((1,), (3,), 1))),
        (ring, needs[:1]),
        (classics.ring(4, Fraction(3, 2)), needs),
        (classics.ring(5), needs),
    ]
    for topology, wanted in others:
        assert store.certificate(topology, wanted, None, "e") is None


def test_a_bound_cut_short_does_not_serve_longer_searches(store: Store) -> None:
    ring = classics.ring(4)
    needs = (Demand((0,), (2,), 3),)
    certificate = by_prices(ring, needs)
    store.keep_certificate(ring, needs, None, "e", certificate, seconds=5)
    assert store.certificate(ring, needs, None, "e", 5.0) is not None
    assert store.certificate(ring, needs, None, "e", 6.0) is None
    assert store.certificate(ring, needs, None, "e", None) is None
    store.keep_certificate(ring, needs, None, "e", certificate, seconds=2)
    assert store.certificate(ring, needs, None, "e", 4.0) is not None  # the longer one stays
    store.keep_certificate(ring, needs, None, "e", certificate)
    assert store.certificate(ring, needs, None, "e", None) is not None
    store.keep_certificate(ring, needs, None, "e", certificate, seconds=9)
    assert store.certificate(ring, needs, None, "e", None) is not None


@pytest.mark.parametrize("change", ["flip", "cut", "another version"])
def test_a_changed_certificate_is_dropped(store: Store, path: Path, change: str) -> None:
    ring = classics.ring(6)
    needs = tuple(Demand((n,), tuple(m for m in range(6) if m != n), 1) for n in range(6))
    certificate = by_prices(ring, needs)
    store.keep_certificate(ring, needs, None, "e", certificate)
    with sqlite3.connect(path) as other:
        (data,) = other.execute("SELECT certificate FROM certificates").fetchone()
        changed = {
            "flip": data[:20] + bytes([data[20] ^ 1]) + data[21:],
            "cut": data[:-3],
            "another version": b"\x01" + data[1:],
        }[change]
        other.execute("UPDATE certificates SET certificate = ?", (changed,))
    other.close()
    assert store.certificate(ring, needs, None, "e") is None
    assert store.dropped == 1
    assert store.describe().certificates == 0


def test_a_false_certificate_is_dropped_though_its_row_is_whole(store: Store) -> None:
    ring = classics.ring(6)
    needs = (Demand((0,), (3,), 4),)
    certificate = by_prices(ring, needs)
    totals = {key: 2 * price for key, price in certificate.prices.items()}
    false = Priced(None, totals, certificate.argument)
    store.keep_certificate(ring, needs, None, "e", false)
    assert store.certificate(ring, needs, None, "e") is None
    about_one_step = Priced(1, {}, Ways(()))
    store.keep_certificate(ring, needs, None, "e", about_one_step)
    assert store.certificate(ring, needs, None, "e") is None
    assert store.dropped == 2


NOT_THERE = {
    "bound": Priced(None, {(99, None): Fraction(1)}, Ways(())),
    "a negative bound": Priced(None, {(-1, None): Fraction(1)}, Ways(())),
    "node": Priced(None, {(0, None): Fraction(1)}, Cut((99,))),
    "destination": Priced(None, {(0, None): Fraction(1)}, Ways((Share(99, (0,), {}),))),
    "demand": Priced(None, {(0, None): Fraction(1)}, Ways((Share(3, (99,), {}),))),
    "link": Priced(
        None, {(0, None): Fraction(1)}, Ways((Share(3, (0,), {(99, None): Fraction(1)}),))
    ),
}


@pytest.mark.parametrize("what", NOT_THERE)
def test_a_certificate_of_another_question_is_dropped(store: Store, what: str) -> None:
    """A forged row, digest included, whose numbers do not fit the question."""
    ring, needs = classics.ring(6), (Demand((0,), (3,), 4),)
    store.keep_certificate(ring, needs, None, "e", NOT_THERE[what])
    assert store.certificate(ring, needs, None, "e") is None
    assert store.dropped == 1


def test_bounds_are_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = classics.dgx1()
    instance = classics.allgather().instantiate(topology, chunks=1, steps=3, rounds=9)
    needs = demands(instance)
    bounds = CachedBounds(store)
    more = Fraction(100)
    in_vain = bounds.rounds_bound(topology, needs, 3, thorough=False, more_than=more)
    first = bounds.rounds_bound(topology, needs, 3, thorough=False)
    assert bounds.remembered == 0
    assert in_vain.rounds <= first.rounds

    def never(*_: object, **__: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr("syncoll.store.cache.rounds_bound", never)
    again = CachedBounds(store).rounds_bound(topology, needs, 3, thorough=False)
    assert again.rounds == first.rounds > 0
    known = bounds.rounds_bound(topology, needs, 3, thorough=False, more_than=more)
    assert known.rounds == first.rounds
    for asked in ({"thorough": True}, {"thorough": True, "more_than": more}):
        with pytest.raises(AssertionError, match="asked again"):
            bounds.rounds_bound(topology, needs, 3, **asked)  # a quick one is not enough


def test_bounds_without_time_do_not_ask_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = classics.dgx1()
    needs = demands(classics.allgather().instantiate(topology, chunks=1, steps=3, rounds=9))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(store, "certificate", never)
    monkeypatch.setattr(store, "keep_certificate", never)
    assert CachedBounds(store).rounds_bound(topology, needs, 3, seconds=0.0).rounds == 0
    with pytest.raises(AssertionError, match="asked"):
        CachedBounds(store).rounds_bound(topology, needs, 3, seconds=60.0)
