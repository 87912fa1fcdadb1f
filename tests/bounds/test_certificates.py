"""A certificate is checked, not believed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from syncoll.bounding import rounds_bound
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.certificates import ChunkClasses, Demand, Priced, Share, Ways, demands
from syncoll.errors import VerificationError
from syncoll.model import RelationTable, Topology
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.testing.instances import random_instance
from tests.oracles.classics import allgather, broadcast, dgx1, gather, line
from tests.oracles.proofs import argued

F = Fraction


def certificate(steps: int | None = 2) -> tuple[Priced, Topology, tuple[Demand, ...]]:
    topology, needs = dgx1(), demands(allgather().tabulate(8, 1))
    return prices(topology, needs, steps), topology, needs


def prices(topology: Topology, needs: tuple[Demand, ...], steps: int | None) -> Priced:
    """The prices of the larger relaxation."""
    network = TimeExpandedNetwork.of(topology, steps)
    solved = Relaxation(network, needs, RelaxationKind.COPIES).solve()
    assert solved is not None
    return solved.certificate


def shares_of(found: Priced) -> tuple[Share, ...]:
    assert isinstance(found.argument, Ways)
    return found.argument.shares


def refused(changed: Priced, topology: Topology, needs: tuple[Demand, ...], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        changed.check(topology, needs)


@pytest.mark.parametrize("steps", [2, None])
class TestMutated:
    def test_an_unchanged_certificate_passes(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        assert found.check(topology, needs) == (F(3, 2) if steps else F(7, 6))

    def test_negative_price(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        key = next(iter(found.prices))
        changed = replace(found, prices={**found.prices, key: F(-1, 1000)})
        refused(changed, topology, needs, "negative price -1/1000")

    def test_a_round_that_costs_more_than_one(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        key = next(iter(found.prices))
        changed = replace(found, prices={**found.prices, key: found.prices[key] + F(1)})
        refused(changed, topology, needs, "costs .*, more than 1")

    def test_all_prices_doubled(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        shares = tuple(
            replace(share, prices={key: 2 * part for key, part in share.prices.items()})
            for share in shares_of(found)
        )
        doubled = {key: 2 * price for key, price in found.prices.items()}
        changed = Priced(found.steps, doubled, Ways(shares))
        refused(changed, topology, needs, "more than 1")

    def test_shares_above_the_price(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        for i, share in enumerate(shares_of(found)):
            if not share.prices:
                continue
            key = next(iter(share.prices))
            prices = {**share.prices, key: share.prices[key] + F(1, 2)}
            shares = [*shares_of(found)]
            shares[i] = replace(share, prices=prices)
            refused(argued(found, shares=tuple(shares)), topology, needs, "exceed its price")

    def test_prices_left_out_under_the_shares(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        refused(replace(found, prices={}), topology, needs, "exceed its price")

    def test_negative_share(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        share = replace(shares_of(found)[0], prices={(0, 0): F(-1)})
        changed = argued(found, shares=(share, *shares_of(found)[1:]))
        refused(changed, topology, needs, "a share of -1 of link 0, step 0")

    @pytest.mark.parametrize("bound", [-1, 32, 10**6])
    def test_unknown_bound(self, steps: int | None, bound: int) -> None:
        found, topology, needs = certificate(steps)
        changed = replace(found, prices={**found.prices, (bound, 0): F(1, 10**9)})
        refused(
            changed, topology, needs, f"a price for bound {bound}, step 0, which does not exist"
        )

    @pytest.mark.parametrize("step", [-1, 2, 7])
    def test_unknown_step(self, steps: int | None, step: int) -> None:
        found, topology, needs = certificate(steps)
        changed = replace(found, prices={**found.prices, (0, step): F(1, 10**9)})
        refused(changed, topology, needs, f"a price for bound 0, step {step}, which does not exist")

    @pytest.mark.parametrize("demand", [-1, 8, 99])
    def test_unknown_demand(self, steps: int | None, demand: int) -> None:
        found, topology, needs = certificate(steps)
        share = Share(0, (demand,), {})
        changed = argued(found, shares=(*shares_of(found), share))
        refused(changed, topology, needs, f"a share for demand {demand}, which does not exist")

    def test_two_shares_for_one_destination(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        for share in shares_of(found):
            changed = argued(found, shares=(*shares_of(found), replace(share, prices={})))
            refused(changed, topology, needs, "has two shares for node")
        twice = replace(shares_of(found)[0], demands=shares_of(found)[0].demands * 2)
        changed = argued(found, shares=(twice, *shares_of(found)[1:]))
        refused(changed, topology, needs, "has two shares for node")

    def test_a_destination_that_needs_nothing(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        k = next(i for i, need in enumerate(needs) if need.sources == (3,))
        changed = argued(found, shares=(*shares_of(found), Share(3, (k,), {})))
        refused(changed, topology, needs, f"a share for node 3, which demand {k} does not need")

    def test_a_price_for_a_missing_link(self, steps: int | None) -> None:
        found, topology, needs = certificate(steps)
        share = replace(
            shares_of(found)[0], prices={**shares_of(found)[0].prices, (77, 0): F(1, 9)}
        )
        changed = argued(found, shares=(share, *shares_of(found)[1:]))
        refused(changed, topology, needs, "a share of 1/9 of link 77, step 0")


def test_a_certificate_for_more_steps_is_refused() -> None:
    """Prices of a two-step certificate prove nothing for any number of steps."""
    found, topology, needs = certificate(2)
    with pytest.raises(VerificationError, match="does not exist"):
        replace(found, steps=None).check(topology, needs)


def test_too_few_steps_to_arrive() -> None:
    needs = demands(broadcast().tabulate(4, 1))
    empty = Priced(2, {}, Ways((Share(3, (0,), {}),)))
    with pytest.raises(
        VerificationError, match=r"no path leads from nodes \(0,\) to node 3 within 2"
    ):
        empty.check(line(4), needs)


def test_no_prices_prove_nothing() -> None:
    needs = demands(allgather().tabulate(8, 1))
    assert Priced(None, {}, Ways(())).check(dgx1(), needs) == 0


def test_free_shares_prove_less() -> None:
    found, topology, needs = certificate()
    whole = found.check(topology, needs)
    for i in range(len(shares_of(found))):
        less = argued(found, shares=shares_of(found)[:i] + shares_of(found)[i + 1 :])
        assert less.check(topology, needs) <= whole
    assert argued(found, shares=()).check(topology, needs) == 0


def test_a_certificate_fits_only_its_own_problem() -> None:
    """On a faster machine the same prices are too high for a round."""
    found, topology, needs = certificate()
    faster = replace(
        topology,
        bounds=tuple(replace(b, chunks_per_round=2 * b.chunks_per_round) for b in topology.bounds),
    )
    refused(found, faster, needs, "more than 1")


Prices = dict[tuple[int, int], Fraction]


def cheaper(rng: random.Random, prices: Prices) -> Prices:
    return {key: price * F(rng.randint(0, 4), 4) for key, price in prices.items()}


def shuffled(rng: random.Random, prices: Prices) -> Prices:
    values = list(prices.values())
    rng.shuffle(values)
    return dict(zip(prices, values, strict=True))


def raised(rng: random.Random, prices: Prices) -> Prices:
    return {key: price * F(rng.randint(3, 6), 4) for key, price in prices.items()}


@pytest.mark.parametrize("change", [cheaper, shuffled, raised])
def test_a_certificate_that_passes_is_true(
    change: Callable[[random.Random, Prices], Prices],
) -> None:
    """A tampered certificate is refused, or its bound holds all the same."""
    rng = random.Random(4)
    passed = refusals = 0
    for seed in range(150):
        instance = random_instance(seed, most_chunks=3)
        needs = demands(instance)
        if instance.steps < instance.least_steps or not needs:
            continue
        try:
            truth = least_rounds(instance, 12)
        except TooLargeError:
            continue
        for steps in (None, instance.steps):
            if truth is None:
                continue
            found = prices(instance.topology, needs, steps)
            for _ in range(4):
                totals = change(rng, dict(found.prices))
                shares = tuple(
                    replace(share, prices=change(rng, dict(share.prices)))
                    for share in shares_of(found)
                )
                try:
                    proved = Priced(steps, totals, Ways(shares)).check(instance.topology, needs)
                except VerificationError:
                    refusals += 1
                else:
                    passed += 1
                    assert proved <= truth, seed
    assert passed >= 15
    assert refusals >= 100


class TestDemands:
    def test_chunks_in_place_demand_nothing(self) -> None:
        table = gather(1).tabulate(3, 2)
        assert demands(table) == (Demand((0,), (1,), 2), Demand((2,), (1,), 2))

    def test_equal_chunks_are_counted(self) -> None:
        instance = allgather().instantiate(dgx1(), chunks=3, steps=2, rounds=9)
        assert demands(instance) == tuple(
            Demand((n,), tuple(m for m in range(8) if m != n), 3) for n in range(8)
        )

    def test_shapes(self) -> None:
        one, three = (ChunkClasses.of(allgather().tabulate(4, c), c) for c in (1, 3))
        assert one.proportional(three)
        assert not one.proportional(ChunkClasses(2, three.classes))
        assert not one.proportional(ChunkClasses.of(gather().tabulate(4, 1), 1))
        assert not one.proportional(ChunkClasses(1, one.classes[1:]))
        assert not one.proportional(ChunkClasses(1, one.classes, combining=True))

    def test_nothing_to_do(self) -> None:
        table = RelationTable(*(allgather().tabulate(2, 1).post,) * 2)
        assert demands(table) == ()
        assert rounds_bound(line(2), ()).rounds == 0
        assert rounds_bound(line(2), ()).certificate is None
