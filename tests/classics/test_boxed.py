"""Rings and trees of NCCL on machines with boxes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import syncoll_classics
from syncoll.deadline import Deadline
from syncoll.plugins import resolve_options
from syncoll.routing import as_topology
from syncoll.searching import ChosenSeed, constructed
from syncoll.spec import SpecLibrary
from syncoll_classics.boxed import boxes_of, card_rings, trees_of_boxes
from syncoll_classics.exchanges import all_pairs, rooted

RECORDS = {record.name: record for record in syncoll_classics.RECORDS}


def costs(name: str, topology: str, collective: str, specs: SpecLibrary) -> list[tuple[int, float]]:
    """S and R/C of the verified algorithms of a seed."""
    record = RECORDS[name]
    seed = ChosenSeed(record, resolve_options(record.options, {}, name), named=True)
    machine, asked = as_topology(specs.topology(topology)), specs.collective(collective)
    found, _ = constructed(seed, machine, asked, Deadline.after(60.0), print)
    return [(made.steps, made.rounds / one.chunks) for one, made in found]


@pytest.mark.parametrize("machine", ["dgx_h100(boxes=2)", "dgx_h100(boxes=3)", "a100(boxes=5)"])
def test_each_card_of_a_box_has_one_ring(machine: str, specs: SpecLibrary) -> None:
    topology = as_topology(specs.topology(machine))
    boxes = boxes_of(topology)
    assert {len(box) for box in boxes} == {8}
    box_of = {node: number for number, box in enumerate(boxes) for node in box}
    leaving: Counter[int] = Counter()
    entering: Counter[int] = Counter()
    for ring in card_rings(topology):
        assert sorted(ring) == list(range(topology.num_nodes))
        across = [(a, b) for a, b in pairwise((*ring, ring[0])) if box_of[a] != box_of[b]]
        assert len(across) == len(boxes)
        leaving.update(a for a, _ in across)
        entering.update(b for _, b in across)
    assert set(leaving.values()) == set(entering.values()) == {1}


def test_rings_use_each_link_of_a_full_mesh_once(specs: SpecLibrary) -> None:
    topology = as_topology(specs.topology("mi300x(boxes=2)"))
    used = Counter(
        link for ring in card_rings(topology) for link in pairwise((*ring, ring[0])) if link[0] < 8
    )
    assert set(used.values()) == {1}
    assert sum(used.values()) == 8 * 7 + 8


def test_no_ring_passes_three_boxes_of_two(specs: SpecLibrary) -> None:
    assert card_rings(as_topology(specs.topology("mi250(boxes=3, gpus=2)"))) == []


@pytest.mark.parametrize("chains", [True, False])
def test_trees_span_all_boxes_over_each_card(chains: bool, specs: SpecLibrary) -> None:
    topology = as_topology(specs.topology("dgx_h100(boxes=4)"))
    boxes = boxes_of(topology)
    trees = trees_of_boxes(topology, boxes, chains=chains)
    assert len(trees) == 2 * 8
    for number, parents in enumerate(trees):
        (root,) = np.flatnonzero(parents < 0)
        across = [
            child for child in range(32) if child != root and parents[child] // 8 != child // 8
        ]
        assert len(across) == len(boxes) - 1
        assert {child % 8 for child in across} == {root % 8} == {number // 2}
        assert rooted(parents).num_steps == (7 if chains else 1) + 2


def test_pairs_meet_once_in_turn() -> None:
    steps = all_pairs(5, in_turn=True).steps
    for step in range(4):
        senders, receivers = np.nonzero(steps == step)
        assert sorted(senders) == sorted(receivers) == list(range(5))


@pytest.mark.parametrize(
    ("name", "machine", "collective", "first"),
    [
        # 2 (P - 1) steps with 2 (P - 1) / P of the data over 8 cards of a round each.
        ("nccl_ring", "dgx_h100(boxes=2)", "allreduce", (30, 30 / 16 / 8)),
        ("nccl_ring", "a100(boxes=2)", "allgather", (15, 15 / 8)),
        # Up and down a chain of 8, and once across in each direction.
        ("nccl_tree", "dgx_h100(boxes=2)", "allreduce", (16, 11 / 36)),
        # To the GPU of the card, to the other box, and back.
        ("nvls", "dgx_h100(boxes=2, nvls=true)", "allreduce", (4, 2 / 9)),
        ("nvls", "dgx_h100(nvls=true)", "allgather", (1, 7)),
        ("pat", "hub(6)", "allgather", (3, 5)),
        ("pat", "hub(6)", "reducescatter", (3, 5 / 6)),
        ("pairwise", "hub(6)", "alltoall", (5, 5 / 6)),
    ],
)
def test_counts(
    name: str, machine: str, collective: str, first: tuple[int, float], specs: SpecLibrary
) -> None:
    assert costs(name, machine, collective, specs)[0] == pytest.approx(first)


@pytest.mark.parametrize(
    ("name", "machine", "collective", "reason"),
    [
        ("nccl_ring", "hub(4)", "alltoall", "not all data goes to all nodes"),
        ("nccl_tree", "hub(4)", "broadcast", "trees for allreduce only"),
        ("nvls", "hub(4)", "allreduce", "no switch of each box"),
        ("nvls", "dgx_h100(boxes=2, nvls=true)", "allgather", "NVLSTree for allreduce only"),
        ("pat", "a100(boxes=2)", "allgather", "one GPU in each box"),
        ("pairwise", "hub(4)", "allgather", "data goes to several nodes"),
    ],
)
def test_reasons(name: str, machine: str, collective: str, reason: str, specs: SpecLibrary) -> None:
    record = RECORDS[name]
    answer = record.fits(as_topology(specs.topology(machine)), specs.collective(collective))
    assert not answer.ok
    assert reason in answer.reason


def test_two_hops_cross_the_network_once_for_each_box(specs: SpecLibrary) -> None:
    """Node 0 has a token for nodes 1, 9 and 10, and the second box is reached over node 8."""
    call = "dispatch([[0, 1, 9, 10]], experts=16)"
    asked = "dgx_h100(boxes=2)", call, specs
    assert costs("two_hop", *asked) == [(2, 1 + Fraction(2, 9))]
    assert costs("all_pairs", *asked) == [(2, 2)]
    assert not costs("two_hop", "dgx1", "dispatch([[0, 1]], experts=8)", specs)
