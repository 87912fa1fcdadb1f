"""Exchanges between boxes: valid bounds, better than others for several boxes and many steps."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import permutations, product

import msgspec
import pytest

from syncoll.bounding import boxes, combining_rounds_bound
from syncoll.bounding.boxes import find_boxes
from syncoll.certificates import Certificate, ChunkClass, ChunkClasses
from syncoll.certificates.boxes import cheapest_exchange
from syncoll.documents.certificates import bound_of, certificate_record
from syncoll.documents.record import read_record
from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll_check.exchanges import exchange
from syncoll_check.layout import WrongError
from tests.bounds.test_completions import everyone, independent, read
from tests.oracles.classics import ring
from tests.oracles.least_sends import least_sends

F = Fraction


def boxes_with_cards(boxes: int, each: int, width: int) -> Topology:
    """Links of some width join the nodes of a box, and each node has a card of width 1."""
    nodes = boxes * each
    links = {
        (a, b): width if a // each == b // each else 1 for a, b in permutations(range(nodes), 2)
    }
    network = [link for link, wide in links.items() if wide == 1]
    cards = [
        ([link for link in network if link[end] == node], 1)
        for node, end in product(range(nodes), (0, 1))
    ]
    return Topology.from_links("cards", nodes, links, cards)


TWO, CHAIN = [0, 0, 1, 1], [(0, 1), (1, 0), (2, 3), (3, 2)]
MACHINES: list[tuple[list[int], list[tuple[int, int]], int, int]] = [
    # boxes, links, contributors and nodes that need the sum, as bits
    ([0, 0, 1], list(permutations(range(3), 2)), 0b111, 0b111),
    (TWO, [*CHAIN, (0, 2), (2, 0), (1, 3), (3, 1)], 0b1111, 0b1111),
    (TWO, [*CHAIN, (0, 2), (3, 1), (1, 2)], 0b1111, 0b1101),
    ([0, 1, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 2), (2, 0), (3, 1), (0, 3)], 0b1111, 0b1111),
]


@pytest.mark.parametrize(("parts", "links", "pre", "post"), MACHINES)
def test_no_exchange_is_cheaper(
    parts: list[int], links: list[tuple[int, int]], pre: int, post: int
) -> None:
    """By brute force, at random prices of sends within and between boxes in each step."""
    chance, nodes = random.Random(len(links)), range(len(parts))
    topology = Topology.from_links("some", len(parts), dict.fromkeys(links, 1))
    touched = [[parts[n] for n in nodes if some >> n & 1] for some in (pre, post)]
    fewest = [min(some.count(box) for box in parts) for some in touched]
    checked = 0
    for steps in (2, 3, 3, 4, 4):
        inner, outer = ([chance.choice([0, 1, 2, 5]) for _ in range(steps)] for _ in range(2))
        prices = {
            (a, b, t): (inner, outer)[parts[a] != parts[b]][t]
            for (a, b), t in product(links, range(steps))
        }
        truth = least_sends(topology, pre, post, steps, lambda *at, prices=prices: prices[at])
        if truth is not None:
            cost, _ = cheapest_exchange(len(set(parts)), inner, outer, *fewest)
            assert cost <= truth, (steps, inner, outer)
            checked += 1
    assert checked > 2


@pytest.mark.parametrize("boxes", [2, 3, 4])
def test_both_checkers_compute_the_same(boxes: int) -> None:
    chance = random.Random(boxes)
    for steps in (1, 2, 4):
        inner, outer = ([F(chance.randint(0, 9), 7) for _ in range(steps)] for _ in range(2))
        ends = chance.randint(1, 8), chance.randint(1, 8)
        cost, sends = cheapest_exchange(boxes, inner, outer, *ends)
        assert cost == exchange(boxes, inner, outer, *ends)
        assert cost == sum((inner, outer)[kind][t] * n for (kind, t), n in sends.items())
        floats = cheapest_exchange(boxes, [*map(float, inner)], [*map(float, outer)], *ends)[0]
        assert floats == pytest.approx(float(cost))


@pytest.mark.parametrize(
    ("machine", "steps", "cost"),
    [
        (boxes_with_cards(2, 2, 2), 2, F(1)),  # attained
        (boxes_with_cards(3, 3, 4), 4, F(1, 2)),
        (boxes_with_cards(3, 3, 4), 5, F(9, 19)),  # 7/16 by completions
        (boxes_with_cards(4, 2, 4), 5, F(63, 83)),  # 21/31 by completions
    ],
)
def test_known(machine: Topology, steps: int, cost: Fraction) -> None:
    nodes = machine.num_nodes
    found = find_boxes(machine, everyone(nodes), steps)
    assert found is not None
    assert found[0] == cost
    assert found[1].check(machine, everyone(nodes, 3).classes) == 3 * cost
    assert find_boxes(machine, everyone(nodes), steps, more_than=cost) is None


def test_a_bound_takes_boxes_where_they_are_best() -> None:
    machine = boxes_with_cards(3, 2, 4)
    bound = combining_rounds_bound(machine, everyone(6), 5)
    assert (bound.method, bound.rounds) == ("boxes", F(9, 13))
    Certificate(everyone(6), bound).check(machine)
    record = certificate_record(bound, 0)
    assert bound_of(record) == bound
    written = read(json.loads(msgspec.json.encode(record, enc_hook=str)))
    is_right = independent(machine)
    is_right(written)
    wrong = [{"rounds": F(7, 10)}, {"rounds": F(9, 14)}, {"parts": (0, 0, 1, 1, 2)}]
    wrong += [{"parts": parts} for parts in ((0, 0, 0, 1, 1, 1), (0,) * 6, tuple(range(6)))]
    wrong += [{"prices": written["prices"][1:]}, {"steps": 6}, {"steps": 0, "prices": ()}]
    for change in wrong:
        with pytest.raises(WrongError):
            is_right(written | change)
        content = json.loads(msgspec.json.encode(written | change, enc_hook=str))
        again = bound_of(read_record(content, type(record), "changed"))
        with pytest.raises(VerificationError):
            Certificate(everyone(6), again).check(machine)


def test_machines_without_boxes_have_no_such_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is symmetry looked for, which takes long."""
    monkeypatch.setattr(boxes, "OrbitModel", None)
    assert find_boxes(ring(5), everyone(5), 3) is None
    assert find_boxes(boxes_with_cards(5, 2, 4), everyone(10), 3) is None
    monkeypatch.undo()
    lonely = ChunkClasses(1, [ChunkClass((0, 1), (0, 1), 1)], combining=True)
    assert find_boxes(boxes_with_cards(2, 2, 2), lonely, 3) is None
