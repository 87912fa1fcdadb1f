"""Bounds on orbits and by cuts in time equal the bounds of the whole linear programs."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

import syncoll
from syncoll.bounding import rounds_bound
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.quotient import Quotient, eager_rounds
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.bounding.timed_cuts import TimedCut, TimedCuts
from syncoll.certificates import ChunkClasses, Demand, DemandView, Priced, Share, Ways
from syncoll.deadline import NEVER
from syncoll.errors import VerificationError
from syncoll.model import BandwidthBound, Topology
from tests.oracles.proofs import argued

CASES = [
    ("ring(12)", 6), ("torus(3,4)", 3), ("torus(4,4)", 5), ("hypercube(4)", 4),
    ("a100(boxes=2)", 2), ("mesh(4,4)", 6), ("circulant(13, 1, 5)", 3),
]  # fmt: skip


def asked(topology: Topology, name: str) -> tuple[Demand, ...]:
    nodes = topology.num_nodes
    collective = syncoll.collective(name)
    chunks = next(c for c in range(1, nodes * nodes) if collective.admits(nodes, c))
    return ChunkClasses.of(collective.tabulate(nodes, chunks), chunks).demands(DemandView.MOVING)


@pytest.mark.parametrize(("name", "steps"), CASES)
@pytest.mark.parametrize("collective", ["allgather", "alltoall"])
def test_orbits_prove_as_much(
    name: str, steps: int, collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.symmetry.search._SMALL", 0)  # a mesh's symmetry takes igraph
    topology = syncoll.topology(name)
    needs = asked(topology, collective)
    quotient = Quotient.of(topology, needs)
    assert quotient is not None
    for layers in (None, steps):
        network = TimeExpandedNetwork.of(topology, layers)
        for kind in RelaxationKind:
            whole = Relaxation(network, needs, kind).solve()
            orbits = Relaxation(network, needs, kind, quotient)
            found = orbits.solve()
            assert whole is not None
            assert found is not None
            _, certificate, proved = found
            assert proved == certificate.check(topology, needs) == whole.proved
            assert orbits.num_columns < Relaxation(network, needs, kind).num_columns


def test_certificates_from_orbits_that_are_changed_are_refused() -> None:
    topology = syncoll.topology("torus(4,4)")
    needs = asked(topology, "allgather")
    network = TimeExpandedNetwork.of(topology, 4)
    quotient = Quotient.of(topology, needs)
    solved = Relaxation(network, needs, RelaxationKind.COPIES, quotient).solve()
    assert solved is not None
    sound = solved.certificate
    assert isinstance(sound.argument, Ways)
    rng = random.Random(0)
    for _ in range(20):
        share = rng.choice([one for one in sound.argument.shares if one.prices])
        place = rng.choice(sorted(share.prices))
        wrong = replace(share, prices=dict(share.prices) | {place: Fraction(2)})
        shares = tuple(wrong if one is share else one for one in sound.argument.shares)
        with pytest.raises(VerificationError, match="exceed"):
            argued(sound, shares=shares).check(topology, needs)
        dear = {place: price * 2 for place, price in sound.prices.items()}
        with pytest.raises(VerificationError, match="more than 1"):
            replace(sound, prices=dear).check(topology, needs)
        nowhere = replace(share, prices={(len(topology.links), 0): Fraction(1, 9)})
        with pytest.raises(VerificationError, match="a share of 1/9"):
            argued(sound, shares=(*sound.argument.shares, nowhere)).check(topology, needs)


def test_prices_beyond_machine_words_are_exact() -> None:
    topology = syncoll.topology("ring(3)")
    needs = asked(topology, "alltoall")
    odd = Fraction(10**30 + 1, 6 * 10**30 + 6) + Fraction(1, 10**40)
    prices = {(link, 0): odd for link in range(6)}
    with pytest.raises(VerificationError, match="more than 1"):
        Priced(None, {(i, 0): odd for i in range(6)}, Ways(())).check(topology, needs)
    less = Fraction(10**30, 6 * 10**30 + 1)
    shares = tuple(
        Share(d, tuple(k for k, need in enumerate(needs) if need.destinations == (d,)),
              dict.fromkeys(prices, less)) for d in range(3)
    )  # fmt: skip
    totals = {(i, 0): less for i in range(6)}
    assert Priced(None, totals, Ways(shares)).check(topology, needs) == 6 * less


def random_machine(seed: int, nodes: int) -> Topology:
    """A strongly connected machine, every link with a bound of its own."""
    rng = random.Random(seed)
    links = {(n, (n + 1) % nodes) for n in range(nodes)}
    while len(links) < 3 * nodes:
        a, b = rng.sample(range(nodes), 2)
        links.add((a, b))
    bounds = [BandwidthBound((link,), Fraction(rng.randint(1, 4), 2)) for link in sorted(links)]
    return Topology("random", nodes, tuple(sorted(links)), tuple(bounds))


@pytest.mark.parametrize("seed", range(8))
def test_cuts_in_time_prove_as_much_as_flows_together(seed: int) -> None:
    topology = random_machine(seed, 9)
    needs = asked(topology, "allgather")
    least = int(topology.distances.max())
    known: tuple[TimedCut, ...] = ()
    for steps in (least, least + 1, least + 3):
        network = TimeExpandedNetwork.of(topology, steps)
        flows = Relaxation(network, needs, RelaxationKind.TOGETHER).solve()
        assert flows is not None
        for begun_with in (known, ()):  # cuts of fewer steps, or none
            cuts = TimedCuts(network, needs, range(9), begun_with)
            certificate, value = cuts.solve(NEVER, 0.01)
            assert certificate is not None
            assert value == pytest.approx(flows.value)
            assert float(certificate.check(topology, needs)) == pytest.approx(flows.value)
        known = cuts.tight


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_one_chunk_need_no_more_than_flows_together(seed: int) -> None:
    """On machines whose links share nothing; on others they may need more."""
    topology = random_machine(seed, 9)
    needs = asked(topology, "broadcast")
    network = TimeExpandedNetwork.of(topology, int(topology.distances.max()) + 1)
    flows, copies = (Relaxation(network, needs, kind).solve() for kind in RelaxationKind)
    assert flows is not None
    assert copies is not None
    assert flows.value == pytest.approx(copies.value)


@pytest.mark.parametrize("seed", range(4))
def test_useless_bounds_are_not_looked_for(seed: int) -> None:
    topology = random_machine(seed, 9)
    needs = asked(topology, "broadcast")
    steps = int(topology.distances.max())
    best = rounds_bound(topology, needs, steps)
    assert best.rounds > rounds_bound(topology, needs, None).rounds
    assert rounds_bound(topology, needs, steps, more_than=best.rounds).rounds < best.rounds
    less = best.rounds * Fraction(9, 10)
    assert rounds_bound(topology, needs, steps, more_than=less) == best


@pytest.mark.parametrize("seed", range(8))
def test_no_relaxation_proves_more_than_an_eager_schedule(seed: int) -> None:
    topology = random_machine(seed, 8)
    needs = asked(topology, "allgather")
    reached = eager_rounds(topology, needs, None)
    assert reached is not None
    steps, rounds = reached
    assert steps == int(topology.distances.max())
    copies = Relaxation(TimeExpandedNetwork.of(topology, steps), needs, RelaxationKind.COPIES)
    solved = copies.solve()
    assert solved is not None
    assert rounds >= solved.value * (1 - 1e-9)


@pytest.mark.parametrize(
    ("name", "collective", "bandwidth"),
    [
        ("torus(32,32)", "allgather", Fraction(1023, 4)),
        ("hypercube(10)", "allgather", Fraction(1023, 10)),
        ("torus(4,4)", "alltoall", Fraction(1, 2)),
    ],
)
def test_figures_at_scale(name: str, collective: str, bandwidth: Fraction) -> None:
    bounds = syncoll.bounds(name, collective, max_steps=32)
    assert bounds.bandwidth == bandwidth
    for steps, bound in bounds.by_steps:
        assert bound.rounds == bandwidth * bounds.chunks, steps
