"""Messages: sends of a step over a link with neighbouring chunks, and chunks renumbered for few."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from syncoll.api import Algorithm, Instance, Topology
from syncoll.arrays import Ints
from syncoll.model.messages import chunk_places, contiguous, count_messages, message_numbers
from syncoll.model.orbit_algorithm import OrbitAlgorithm
from syncoll.model.orbit_carriers import Carriers


def ring(nodes: int) -> Topology:
    """A ring in both directions."""
    matrix = np.zeros((nodes, nodes), dtype=int)
    at = np.arange(nodes)
    matrix[at, (at + 1) % nodes] = matrix[at, (at - 1) % nodes] = 1
    return Topology.from_matrix(f"ring{nodes}", matrix.tolist())


def gathering(nodes: int, chunks: int) -> Instance:
    """An allgather: chunk c starts at node c mod P."""
    pre = np.arange(nodes * chunks)[:, None] % nodes == np.arange(nodes)
    return Instance(ring(nodes), "all", chunks, 3, 99, pre, np.ones_like(pre))


def counted_by_hand(algorithm: Algorithm, order: list[int]) -> int:
    """Runs in each step, link and set of contributions, chunks in the order of a buffer."""
    place = {chunk: i for i, chunk in enumerate(order)}
    sent = defaultdict(set)
    for i, (chunk, *rest) in enumerate(algorithm.sends.tolist()):
        carried = algorithm.contributions
        key = (*rest, None if carried is None else carried[i].tobytes())
        sent[key].add(place[chunk])
    return sum(sum(p - 1 not in places for p in places) for places in sent.values())


def test_chunks_of_one_node_are_neighbours() -> None:
    instance = gathering(3, 2)  # node 0 starts with chunks 0 and 3
    assert chunk_places(instance.table).tolist() == [0, 2, 4, 1, 3, 5]
    sends = [[0, 0, 1, 0], [3, 0, 1, 0], [1, 1, 2, 0], [3, 1, 2, 1]]
    algorithm = Algorithm((2, 1), sends)
    assert count_messages(instance, algorithm) == 3
    chunk, *keys = algorithm.sends.T
    numbers = message_numbers(np.column_stack(keys), chunk_places(instance.table)[chunk])
    assert numbers.tolist() == [0, 1, 0, 2]  # by step, then chunk


@pytest.mark.parametrize("combining", [False, True])
def test_random_sends_count_as_by_hand(combining: bool) -> None:
    random = np.random.default_rng(3)
    instance = gathering(4, 5)
    order = instance.table.by_kind().tolist()
    for _ in range(30):
        sends = np.unique(random.integers(0, [20, 4, 4, 3], size=(60, 4)), axis=0)
        carried = random.integers(0, 2, size=(len(sends), 4)) > 0 if combining else None
        algorithm = Algorithm((1, 1, 1), sends, carried)
        wanted = counted_by_hand(algorithm, order)
        assert count_messages(instance, algorithm) == wanted
        keys = np.column_stack([sends[:, 1:], *([] if carried is None else [carried])])
        numbers = message_numbers(keys, chunk_places(instance.table)[sends[:, 0]])
        assert sorted(set(numbers.tolist())) == list(range(wanted))
        renumbered = contiguous(instance, algorithm)
        assert count_messages(instance, renumbered) <= wanted
        assert trees(renumbered, 4) == trees(algorithm, 4)


def trees(algorithm: Algorithm, kinds: int) -> dict[int, list[list[bytes]]]:
    """The sends of each chunk, without the numbers of chunks, by kind."""
    own = defaultdict(list)
    for i, (chunk, *rest) in enumerate(algorithm.sends.tolist()):
        carried = algorithm.contributions
        own[chunk].append(bytes(rest) + (b"" if carried is None else carried[i].tobytes()))
    found = defaultdict(list)
    for chunk, sends in own.items():
        found[chunk % kinds].append(sorted(sends))
    return {kind: sorted(some) for kind, some in found.items()}


def test_equal_trees_become_neighbours() -> None:
    # Chunks of node 0 alternate between the two directions of the ring.
    instance = gathering(4, 6)
    sends = [[4 * i, 0, 1 if i % 2 else 3, 0] for i in range(6)]
    algorithm = Algorithm((3,), sends)
    assert count_messages(instance, algorithm) == 6
    assert count_messages(instance, contiguous(instance, algorithm)) == 2


def test_similar_trees_become_neighbours() -> None:
    # Of 9 chunks at node 0, pairs of trees share a second send; no two trees are equal.
    pre, post = np.zeros((9, 6), dtype=bool), np.zeros((9, 6), dtype=bool)
    pre[:, 0] = post[:, 1] = True
    instance = Instance(ring(6), "one", 9, 3, 9, pre, post)
    order = np.random.default_rng(1).permutation(9).tolist()
    sends = [[order[i], 0, 1, 0] for i in range(9)]
    sends += [[order[i], 1, 2, 1 + i // 5] for i in range(9) if i % 5 != 4]
    sends += [[order[i], 0, 5, 1 + i // 3] for i in range(9)]
    algorithm = contiguous(instance, Algorithm((9, 9, 9, 9), sends))
    assert count_messages(instance, algorithm) <= 1 + 2 + 3 + 2


def test_candidate_with_unknown_chunks_stays() -> None:
    instance = gathering(3, 1)
    algorithm = Algorithm((1,), [[7, 0, 1, 0]])
    assert contiguous(instance, algorithm) is algorithm


def orbit_of(nodes: int, chunks: int, own: Ints, sends: list[list[int]]) -> OrbitAlgorithm:
    """All turns of a ring's sends; chunk ``own[i]`` of node 0 is carried to ``own[i] + shift``."""
    shift = (np.arange(nodes) + 1) % nodes
    maps = np.arange(nodes * chunks).reshape(chunks, nodes)[:, shift].reshape(-1)
    products = [[0, i] for i in range(nodes - 1)]
    carriers = Carriers([shift], [maps], products)
    return OrbitAlgorithm(Algorithm((9, 9), sends), carriers)


def test_orbit_counts_as_its_list() -> None:
    random = np.random.default_rng(5)
    for _ in range(10):
        own = 5 * np.arange(6)
        ends = random.integers(0, 3, size=6)
        sends = [[int(own[i]), 0, [1, 4, 1][ends[i]], int(ends[i] > 1)] for i in range(6)]
        instance, orbit = gathering(5, 6), orbit_of(5, 6, own, sends)
        fewer = contiguous(instance, orbit)
        assert isinstance(fewer, OrbitAlgorithm)
        for one in (orbit, fewer):
            assert count_messages(instance, one) == count_messages(instance, one.expanded())
        assert count_messages(instance, fewer) == 5 * len(set(ends.tolist()))
        assert trees(fewer.expanded(), 5) == trees(orbit.expanded(), 5)


def test_images_of_an_element_are_neighbours() -> None:
    # All 12 chunks are alike, so that the images of a message lie anywhere.
    both = np.ones((12, 4), dtype=bool)
    instance = Instance(ring(4), "sum", 12, 2, 9, both, both, combining=True)
    shift = (np.arange(4) + 1) % 4
    maps = (np.arange(12).reshape(3, 4)[:, shift]).reshape(-1)
    carriers = Carriers([shift], [maps], [[0, 0], [0, 1], [0, 2]])
    sends = [[chunk, 0, 1, 0] for chunk in (0, 4, 8)]
    carried = np.zeros((3, 4), dtype=bool)
    carried[:, 0] = True
    orbit = OrbitAlgorithm(Algorithm((3,), sends, carried), carriers)
    assert count_messages(instance, orbit) == 12
    fewer = contiguous(instance, orbit)
    assert count_messages(instance, fewer) == count_messages(instance, fewer.expanded()) == 4
