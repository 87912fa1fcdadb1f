"""Counting where switches copy and add up: loads, validity, certificates and files."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.certificates import ChunkClasses, Cut, DemandView, Parts, Priced, Share, Ways
from syncoll.errors import FileFormatError, VerificationError
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.model.counting import bound_loads
from syncoll.results import Family, Part
from syncoll.trust import require_valid, violations
from syncoll.trust.families import require_family
from tests.oracles import counted
from tests.oracles.counted import box

ONE = Fraction(1)


def reduction(
    topology: Topology, steps: int, rounds: int, post: list[int], chunks: int = 1
) -> Instance:
    nodes = topology.num_nodes
    pre = np.ones((chunks, nodes), dtype=bool)
    ends = np.zeros((chunks, nodes), dtype=bool)
    ends[:, post] = True
    return Instance(topology, "sum", chunks, steps, rounds, pre, ends, combining=True)


def summed(
    rounds: tuple[int, ...], sends: list[tuple[int, int, int, int, list[int]]], nodes: int
) -> Algorithm:
    carried = np.zeros((len(sends), nodes), dtype=bool)
    for row, (*_, whose) in zip(carried, sends, strict=True):
        row[whose] = True
    return Algorithm(rounds, [one[:4] for one in sends], carried)


def random_algorithm(rng: random.Random, topology: Topology, *, combining: bool) -> Algorithm:
    """Random sends, which need not be valid: loads are defined for all."""
    sends = {
        (rng.randrange(2), *rng.choice(topology.links), rng.randrange(2))
        for _ in range(rng.randint(1, 12))
    }
    rows = sorted(sends)
    nodes = topology.num_nodes
    carried = np.array([[rng.random() < 0.4 for _ in range(nodes)] for _ in rows])
    carried[np.arange(len(rows)), [a for _, a, _, _ in rows]] = True
    return Algorithm((1, 1), rows, carried if combining else None)


@pytest.mark.parametrize("combining", [False, True])
def test_loads_agree_with_the_definition(combining: bool) -> None:
    rng = random.Random(1)
    seen = set()
    for _ in range(150):
        topology = box(rng.randint(2, 4), multicast=rng.random() < 0.6, reduce=rng.random() < 0.6)
        algorithm = random_algorithm(rng, topology, combining=combining)
        sends = counted.rows(algorithm)
        expected = [
            [counted.load(topology, i, step, sends) for step in range(2)]
            for i in range(len(topology.bounds))
        ]
        found = bound_loads(topology, algorithm)
        assert found.tolist() == expected
        plain = bound_loads(topology.conservative, algorithm)
        assert (found <= plain).all()
        seen.add((topology.counts_copies, bool((found < plain).any())))
    assert {(True, True), (True, False), (False, False)} <= seen


def test_a_broadcast_leaves_its_root_once_if_switches_copy() -> None:
    pre = np.eye(1, 4, dtype=bool)
    algorithm = Algorithm((1,), [(0, 0, n, 0) for n in (1, 2, 3)])
    for multicast in (True, False):
        instance = Instance(box(4, multicast=multicast), "broadcast", 1, 1, 1, pre, ~pre)
        found = [one.kind for one in violations(instance, algorithm)]
        assert found == ([] if multicast else ["bandwidth"])


def test_a_reduction_enters_its_root_once_if_switches_add_up() -> None:
    algorithm = summed((1,), [(0, n, 0, 0, [n]) for n in (1, 2, 3)], 4)
    for reduce in (True, False):
        instance = reduction(box(4, reduce=reduce), 1, 1, [0])
        found = [one.kind for one in violations(instance, algorithm)]
        assert found == ([] if reduce else ["bandwidth"])


def test_copied_sends_are_not_added_up() -> None:
    """All to all in one round would take a different sum for each node."""
    sends = [(0, a, b, 0, [a]) for a in range(3) for b in range(3) if a != b]
    topology = box(3)
    assert [
        one.kind for one in violations(reduction(topology, 1, 1, [0, 1, 2]), summed((1,), sends, 3))
    ] == ["bandwidth"] * 3
    require_valid(reduction(topology, 1, 2, [0, 1, 2]), summed((2,), sends, 3))


def test_a_sum_has_no_parts() -> None:
    """Node 0 gets the contributions of 1 and 2 as one, so it cannot pass on the one of node 1
    alone."""
    topology = box(4)
    begin = [(0, 1, 0, 0, [1]), (0, 2, 0, 0, [2])]
    alone = [*begin, (0, 0, 3, 1, [1]), (0, 2, 3, 1, [2]), (0, 0, 3, 2, [0])]
    together = [*begin, (0, 0, 3, 1, [0, 1, 2])]
    instance = reduction(topology, 3, 3, [3])
    found = violations(instance, summed((1, 1, 1), alone, 4))
    assert [one.kind for one in found] == ["reduction"]
    require_valid(reduction(topology, 2, 2, [3]), summed((1, 1), together, 4))
    # With room for each they come one by one.
    require_valid(reduction(topology, 3, 5, [3]), summed((2, 2, 1), alone, 4))


def test_equal_contributions_are_not_added_up() -> None:
    topology = box(3)
    sends = [(0, 0, 1, 0, [0]), (0, 0, 2, 1, [0]), (0, 1, 2, 1, [0, 1])]
    assert bound_loads(topology, summed((1, 2), sends, 3))[5].tolist() == [0, 2]


def test_conservative_validity_implies_validity() -> None:
    rng, tried = random.Random(5), 0
    for _ in range(400):
        topology = box(rng.randint(2, 3), multicast=rng.random() < 0.7, reduce=rng.random() < 0.7)
        nodes = topology.num_nodes
        held = {n: [frozenset([n])] for n in range(nodes)}
        sends = []
        for step in range(2):
            brought = []
            for a, b in rng.sample(topology.links, rng.randint(1, len(topology.links))):
                parts = rng.sample(held[a], rng.randint(1, len(held[a])))
                whose = frozenset().union(*parts)
                if len(whose) == sum(map(len, parts)):
                    brought.append((a, b, whose))
            for a, b, whose in brought:
                sends.append((0, a, b, step, sorted(whose)))
                held[b] = [*held[b], whose]
        algorithm = summed((9, 9), sends, nodes)
        goals = [n for n in range(nodes) if any(len(x) == nodes for x in held[n])]
        if not goals:
            continue
        instance = reduction(topology.conservative, 2, 18, goals)
        algorithm = algorithm.with_rounds(topology.conservative, 18)
        if violations(instance, algorithm):
            continue
        tried += 1
        require_valid(replace(instance, topology=topology), algorithm)
    assert tried > 40


def test_proofs_that_count_every_send_are_refused() -> None:
    topology = box(3)
    shape = ChunkClasses.of(reduction(topology, 1, 1, [0, 1, 2]).table, 1, combining=True)
    proof = Parts.priced((0, 1, 2), dict.fromkeys(range(0, 6, 2), ONE))
    assert proof.check(topology.conservative, shape.classes) == Fraction(4, 3)
    with pytest.raises(VerificationError, match="counts every send"):
        proof.check(topology, shape.classes)
    cut = Cut.covered((0,), (0,))
    assert cut.check(topology, shape.demands(DemandView.SPREAD, 0)) == 1


def test_prices_are_paid_by_one_destination() -> None:
    """The two ways of a broadcast would prove R >= 2, and one round is enough."""
    topology = box(3)
    pre = np.eye(1, 3, dtype=bool)
    demands = ChunkClasses.of(Instance(topology, "broadcast", 1, 1, 1, pre, ~pre), 1).demands(
        DemandView.MOVING
    )
    number = topology.link_index
    shares = [Share(n, (0,), {(number[0, n], 0): ONE}) for n in (1, 2)]
    both = Priced(1, {(0, 0): ONE}, Ways(tuple(shares)))
    assert both.check(topology.conservative, demands) == 2
    with pytest.raises(VerificationError, match="several nodes"):
        both.check(topology, demands)
    assert Priced(1, {(0, 0): ONE}, Ways((shares[0],))).check(topology, demands) == 1


def test_turned_round_copies_become_sums() -> None:
    topology = box(3, reduce=False)
    turned = topology.reversed()
    assert [bound.counts for bound in turned.bounds[:2]] == [Counting.DESTINATIONS, Counting.SENDS]
    assert turned.reversed() == topology
    assert not topology.same_as(topology.conservative)
    assert topology.conservative.same_as(box(3, multicast=False, reduce=False))


def test_symmetries_keep_the_counting_of_bounds() -> None:
    from syncoll.symmetry.structure import Structure

    topology = box(2)
    first = topology.bounds[0]
    uneven = replace(topology, bounds=(replace(first, counts=Counting.SENDS), *topology.bounds[1:]))
    swap = np.array([1, 0])
    assert Structure(topology).keeps(swap)
    assert not Structure(uneven).keeps(swap)


def test_stored_questions_differ() -> None:
    from syncoll.store.question import answer_key

    one, two = (
        answer_key(reduction(topology, 1, 1, [0]), "asked")
        for topology in (box(3), box(3).conservative)
    )
    assert one != two


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frontier") / "broadcast.json"
    syncoll.pareto("dgx_h100(nvls=true)", "broadcast", output=path, progress="none", max_chunks=2)
    return path


def test_files_have_the_counting_of_bounds(written: Path) -> None:
    text = written.read_text()
    assert '"syncoll/frontier/3"' in text
    found = syncoll.load(written)
    assert found.topology.same_as(syncoll.topology("dgx_h100(nvls=true)"))
    assert found.topology.fabric is not None
    assert found.topology.fabric.multicast == found.topology.fabric.reduce == (8,)
    assert found.check("broadcast", topology="dgx_h100(nvls=true)")
    with pytest.raises(VerificationError, match="links or bandwidths differ"):
        found.check("broadcast", topology="dgx_h100")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("syncoll/frontier/3", "syncoll/frontier/2", "has counts, which files of version 2"),
        ('"counts": "sources"', '"counts": "nothing"', "counts"),
    ],
)
def test_files_with_invalid_counts_are_refused(
    written: Path, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    changed = tmp_path / "changed.json"
    changed.write_text(written.read_text().replace(old, new))
    with pytest.raises(FileFormatError, match=expected):
        syncoll.load(changed)


def test_a_file_with_other_counts_is_refused(written: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.json"
    document = json.loads(written.read_text())
    for bound in document["interconnect"]["bounds"]:
        assert bound.pop("counts")
    changed.write_text(json.dumps(document))
    with pytest.raises(VerificationError, match="more than 1 a round"):
        syncoll.load(changed).check("broadcast")


def test_bounds_of_single_links() -> None:
    bound = BandwidthBound(((0, 1),), ONE, counts=Counting.SOURCES)
    assert bound.kind == (1, Counting.SOURCES)
    assert bound != replace(bound, counts=Counting.SENDS)


def test_a_damaged_box_still_adds_up() -> None:
    from syncoll.damage.damaged import damaged
    from syncoll.spec.damages import parse_damage

    left = damaged(syncoll.topology("nvl72(4, true)"), [parse_damage("node 1")]).topology
    assert left.num_nodes == 3
    assert left.fabric is not None
    assert left.fabric.multicast == left.fabric.reduce == (3,)
    assert {bound.counts for bound in left.bounds} == {Counting.SOURCES, Counting.DESTINATIONS}


def test_a_page_has_the_counted_loads(written: Path) -> None:
    from syncoll.reporting.packing import ByteRoom
    from syncoll.reporting.traffic import traffic

    point = syncoll.load(written)[0]
    found = traffic(point.instance, point.algorithm, ByteRoom(1 << 20))
    assert found["counted"] is not None
    plain = syncoll.topology("dgx_h100(nvls=true)").conservative
    assert (
        traffic(replace(point.instance, topology=plain), point.algorithm, ByteRoom(9))["counted"]
        is None
    )


def test_a_family_counts_all_its_parts_alike() -> None:
    """A wave that needs one part of a sum separately is not added up, nor is an overlapping one."""
    links = ((0, 3), (1, 0), (2, 0))
    into = BandwidthBound(((1, 0), (2, 0)), Fraction(2), "into 0", Counting.DESTINATIONS)
    topology = Topology("t", 4, links, (BandwidthBound(((0, 3),), Fraction(2)), into))
    pre, post = np.zeros((2, 4), dtype=bool), np.zeros((2, 4), dtype=bool)
    pre[0, [1, 2]] = post[0, 3] = pre[1, 1] = post[1, 0] = True
    sends = [
        (0, 1, 0, 0, [1]),
        (0, 2, 0, 0, [2]),
        (0, 0, 3, 1, [1]),
        (0, 0, 3, 2, [2]),
        (1, 1, 0, 2, [1]),
    ]
    algorithm = summed((1, 1, 1), sends, 4)
    instance = Instance(topology, "x", 1, 3, 3, pre, post, combining=True)
    assert not violations(instance, algorithm)
    wave = Part(instance, algorithm)
    with pytest.raises(VerificationError, match="step 2 of member 3 sends 3 chunks over into 0"):
        require_family(Family(wave, (1,), 1))
    wider = replace(into, chunks_per_round=Fraction(3))
    instance = replace(instance, topology=replace(topology, bounds=(topology.bounds[0], wider)))
    require_family(Family(Part(instance, algorithm), (1,), 1))
