"""Trees that share sends: bounds for allreduce that algorithms meet, and refused certificates.

`test_completions` compares them with brute force.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from syncoll.bounding import combining_rounds_bound
from syncoll.bounding.shared_steiner_trees import find_gossip
from syncoll.certificates import Certificate, ChunkClass, ChunkClasses, Gossip, Priced, RoundsBound
from syncoll.documents.certificates import bound_of, certificate_record
from syncoll.errors import VerificationError
from syncoll.model import Topology
from tests.oracles.classics import bus, dgx1, line, ring
from tests.oracles.proofs import argued

F = Fraction


def torus(*sides: int) -> Topology:
    """Rings in every dimension; of side 2 there is one link each way."""
    places = list(product(*(range(side) for side in sides)))
    links = {
        (places.index(here), places.index((*here[:i], (here[i] + by) % sides[i], *here[i + 1 :])))
        for here in places
        for i in range(len(sides))
        for by in (1, -1)
    }
    return Topology.from_links(f"torus{sides}", len(places), dict.fromkeys(sorted(links), 1))


CUBE = torus(2, 2, 2)


def everyone(nodes: int, number: int = 1) -> ChunkClasses:
    whole = tuple(range(nodes))
    return ChunkClasses(1, [ChunkClass(whole, whole, number)], combining=True)


@pytest.mark.parametrize(
    ("topology", "steps", "cost"),
    [
        (CUBE, 3, F(1)),  # the cost of recursive doubling
        (CUBE, 5, F(7, 12)),
        (dgx1(), 3, F(1, 2)),
        (torus(3, 3), 3, F(1, 2)),
        (line(3), 2, F(2)),
        (ring(2), 1, F(1)),
    ],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_known(topology: Topology, steps: int, cost: Fraction) -> None:
    nodes = topology.num_nodes
    found = find_gossip(topology, everyone(nodes), steps)
    assert found is not None
    bound, certificate = found
    assert bound == cost
    assert certificate.check(topology, everyone(nodes, 3).classes) == 3 * cost


def test_a_bound_takes_gossip_where_it_is_best() -> None:
    bound = combining_rounds_bound(CUBE, everyone(8), 3)
    assert bound.method == "gossip"
    assert bound.rounds == 1
    assert bound_of(certificate_record(bound, 0)) == bound
    Certificate(everyone(8), bound).check(CUBE)


def test_several_classes_add_up() -> None:
    """Chunks of different kinds share no sends: on a bus each pays for its own."""
    classes = [ChunkClass((0, 1), (0, 1, 2), 2), ChunkClass((1, 2), (0, 2), 1)]
    every = [find_gossip(bus(3), ChunkClasses(1, some, combining=True), 3)
             for some in (classes, classes[:1], classes[1:])]  # fmt: skip
    together, *alone = [0 if found is None else found[0] for found in every]
    assert together == sum(alone) > max(alone)


class TestRefused:
    @pytest.fixture
    def certificate(self) -> Priced:
        found = find_gossip(ring(5), everyone(5), 3)
        assert found is not None
        return found[1]

    @staticmethod
    def refused(certificate: Priced, match: str) -> None:
        with pytest.raises(VerificationError, match=match):
            certificate.check(ring(5), everyone(5).classes)

    def test_prices(self, certificate: Priced) -> None:
        totals = certificate.prices
        first = next(iter(totals))
        self.refused(replace(certificate, prices={**totals, first: F(1)}), "costs")
        self.refused(replace(certificate, prices={**totals, first: F(-1)}), "negative")
        self.refused(replace(certificate, prices={(99, 0): F(1)}), "does not exist")
        halved = {**totals, first: totals[first] / 2}
        self.refused(replace(certificate, prices=halved), "does not keep the bounds")

    def test_trees(self, certificate: Priced) -> None:
        assert isinstance(certificate.argument, Gossip)
        first, *rest = certificate.argument.trees

        def changed(match: str, **change: object) -> None:
            trees = (replace(first, **change), *rest)  # type: ignore[arg-type]
            self.refused(argued(certificate, trees=trees), match)

        changed("does not exist", chunks=1)
        changed("leads out of node 5", node=5)
        changed("a share", prices={(99, 0): F(1)})
        changed("a share", prices={(0, 0): F(-1)})
        doubled = {at: 2 * share for at, share in first.prices.items()}
        changed("exceed", prices=doubled)
        self.refused(argued(certificate, trees=(first, first, *rest)), "two trees")
        alike = replace(first, node=(first.node + 1) % 5)
        self.refused(argued(certificate, trees=(first, alike, *rest)), "or its orbit")

    def test_without_automorphisms_trees_count_alone(self, certificate: Priced) -> None:
        assert isinstance(certificate.argument, Gossip)
        self.refused(argued(certificate, automorphisms=((0, 0, 1, 2, 3),)), "no permutation")
        alone = argued(certificate, automorphisms=(), trees=certificate.argument.trees[:1])
        whole = certificate.check(ring(5), everyone(5).classes)
        only = {at: price / 5 for at, price in certificate.argument.trees[0].prices.items()}
        alone = argued(alone, trees=(replace(certificate.argument.trees[0], prices=only),))
        assert alone.check(ring(5), everyone(5).classes) < whole

    def test_another_collective_or_number_of_steps_is_refused(self, certificate: Priced) -> None:
        proved = certificate.check(ring(5), everyone(5).classes)
        with pytest.raises(VerificationError, match="about 3 steps"):
            Certificate(everyone(5), RoundsBound(proved, 2, certificate)).check(ring(5))
        alone = ChunkClasses(1, [ChunkClass((0,), (1,), 1)], combining=False)
        with pytest.raises(VerificationError, match="combines nothing"):
            Certificate(alone, RoundsBound(proved, 3, certificate)).check(ring(5))
