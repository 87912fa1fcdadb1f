"""Algorithms given by one node's chunks: accepted only if their lists of sends are."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from syncoll.errors import ModelError, VerificationError
from syncoll.model import Algorithm, Carriers, Instance, OrbitAlgorithm, Topology, invert
from syncoll.trust import require_valid, violations
from tests.oracles.orbits import random_orbit


def carriers_of(*arrays: list[list[int]]) -> Carriers:
    return Carriers(*map(np.array, arrays))


def ring() -> tuple[Instance, OrbitAlgorithm]:
    """An allgather of two chunks a node on a one-way ring; chunk v + 4 starts at node v, too."""
    links = {(v, (v + 1) % 4): 1 for v in range(4)}
    topology = Topology.from_links("ring", 4, links)
    first = [[0, v, v + 1, v] for v in range(3)]
    second = [[4, v, v + 1, v + 1] for v in range(3)]
    chunks = [1, 2, 3, 0, 5, 6, 7, 4]
    carriers = carriers_of([[1, 2, 3, 0]], [chunks], [[0, 0], [0, 1], [0, 2]])
    pre = np.tile(np.eye(4, dtype=bool), (2, 1))
    instance = Instance(topology, "allgather", 2, 4, 6, pre, np.ones_like(pre))
    return instance, OrbitAlgorithm(Algorithm((1, 2, 2, 1), np.array([*first, *second])), carriers)


def refusal(instance: Instance, algorithm: Algorithm) -> str:
    with pytest.raises(VerificationError) as error:
        require_valid(instance, algorithm)
    return str(error.value)


def with_sends(algorithm: OrbitAlgorithm, change: dict[int, list[int]]) -> OrbitAlgorithm:
    sends = algorithm.representative.sends.copy()
    for row, send in change.items():
        sends[row] = send
    return OrbitAlgorithm(replace(algorithm.representative, sends=sends), algorithm.carriers)


def with_carriers(algorithm: OrbitAlgorithm, **arrays: object) -> OrbitAlgorithm:
    return OrbitAlgorithm(algorithm.representative, replace(algorithm.carriers, **arrays))  # type: ignore[arg-type]


def test_valid() -> None:
    instance, algorithm = ring()
    require_valid(instance, algorithm)
    require_valid(instance, algorithm.expanded())


def test_a_wrong_permutation_of_nodes() -> None:
    instance, algorithm = ring()
    mirror = with_carriers(algorithm, nodes=[[1, 0, 3, 2]])
    assert "generator 0 maps the link 0->1 to 1->0, which is no link" in refusal(instance, mirror)
    with pytest.raises(ModelError, match="generator 0 is no permutation of the nodes"):
        with_carriers(algorithm, nodes=[[1, 2, 3, 3]])
    with pytest.raises(ModelError, match="element 2 is generator 1 after element 1"):
        with_carriers(algorithm, products=[[0, 0], [1, 1]])


def test_a_wrong_permutation_of_chunks() -> None:
    instance, algorithm = ring()
    swapped = with_carriers(algorithm, chunks=[[1, 3, 2, 0, 5, 6, 7, 4]])
    assert "maps chunk 1 to chunk 3 and node 1 to node 2" in refusal(instance, swapped)


def test_a_missing_element() -> None:
    instance, algorithm = ring()
    fewer = with_carriers(algorithm, products=[[0, 0], [0, 1]])
    assert "chunk 3 never reaches node 0" in refusal(instance, fewer)


def test_an_element_twice() -> None:
    instance, algorithm = ring()
    twice = with_carriers(algorithm, products=[[0, 0], [0, 1], [0, 0]])
    assert "elements 1 and 3 carry chunks 0 and 0 to one, chunk 1" in refusal(instance, twice)
    more = with_carriers(algorithm, products=[[0, 0], [0, 1], [0, 2], [0, 3]])
    assert "5 elements cannot carry 2 chunks" in refusal(instance, more)


def test_a_chunk_without_sends() -> None:
    instance, algorithm = ring()
    sends = algorithm.representative.sends
    own = replace(algorithm.representative, sends=sends[sends[:, 0] == 0])
    less = OrbitAlgorithm(own, algorithm.carriers)
    assert "chunk 4 never reaches node 1" in refusal(instance, less)


def test_a_changed_send() -> None:
    instance, algorithm = ring()
    early = with_sends(algorithm, {1: [0, 2, 3, 0]})
    assert "step 0 sends chunk 0 from node 2" in refusal(instance, early)
    assert "no such link" in refusal(instance, with_sends(algorithm, {0: [0, 0, 2, 0]}))
    twice = with_sends(algorithm, {1: algorithm.representative.sends[0].tolist()})
    assert "is listed 2 times" in refusal(instance, twice)


def test_all_images_together_are_too_many() -> None:
    """In step 1 each own send has a link for itself."""
    instance, algorithm = ring()
    own = replace(algorithm.representative, rounds_per_step=(1, 1, 2, 2))
    narrow = OrbitAlgorithm(own, algorithm.carriers)
    assert "step 1 of 1 round sends 2 chunks over 0->1" in refusal(instance, narrow)
    assert not [v for v in violations(instance, own) if v.kind == "bandwidth"]


def test_bounds_need_not_be_mapped_to_bounds() -> None:
    """One link is narrower: only the loads count, and there they are too many."""
    instance, algorithm = ring()
    widths = dict.fromkeys(instance.topology.links, 2) | {(2, 3): 1}
    uneven = replace(instance, topology=Topology.from_links("uneven", 4, widths))
    require_valid(uneven, algorithm)
    own = replace(algorithm.representative, rounds_per_step=(1, 1, 2, 2))
    narrow = OrbitAlgorithm(own, algorithm.carriers)
    assert "over 2->3" in refusal(uneven, narrow)


def test_other_sizes() -> None:
    instance, algorithm = ring()
    small = carriers_of([[1, 0]], [[1, 0]], [[0, 0]])
    reasons = refusal(instance, OrbitAlgorithm(algorithm.representative, small))
    assert "carriers of 2 nodes, not 4" in reasons
    assert "carriers of 2 chunks, not 8" in reasons


def test_combining() -> None:
    """Contributions are carried along, and a wrong one is found."""
    instance, algorithm = ring()
    inverse, turned = invert(instance, algorithm, "reducescatter")
    assert isinstance(turned, OrbitAlgorithm)
    require_valid(inverse, turned)
    require_valid(inverse, turned.expanded())
    require_valid(inverse, turned.expanded(), in_order=False)
    assert turned.representative.contributions is not None
    carried = turned.representative.contributions.copy()
    carried[-1] = False
    wrong = OrbitAlgorithm(replace(turned.representative, contributions=carried), turned.carriers)
    assert "it carries no contribution" in refusal(inverse, wrong)
    # Carriers do not keep the order of contributors: every send is then checked.
    reasons = [v.kind for v in violations(inverse, turned, in_order=True)]
    assert reasons == [v.kind for v in violations(inverse, turned.expanded(), in_order=True)]


def mutated(rng: random.Random, algorithm: OrbitAlgorithm) -> OrbitAlgorithm:
    """Another value in one place, or two values exchanged."""
    own, carriers = algorithm.representative, algorithm.carriers
    name = rng.choice(("sends", "sends", "rounds", "nodes", "chunks", "products"))
    if name == "sends":
        sends = own.sends.copy()
        row, column = rng.randrange(len(sends)), rng.randrange(4)
        sends[row, column] = rng.choice(own.sends[:, column].tolist())
        if rng.random() < 0.3:
            sends = np.delete(sends, row, axis=0)
        return OrbitAlgorithm(replace(own, sends=sends), carriers)
    if name == "rounds":
        rounds = list(own.rounds_per_step)
        one, two = (rng.randrange(len(rounds)) for _ in range(2))
        if rounds[one]:
            rounds[one], rounds[two] = rounds[one] - 1, rounds[two] + 1
        return OrbitAlgorithm(replace(own, rounds_per_step=tuple(rounds)), carriers)
    array = getattr(carriers, name).copy()
    if name == "products":
        array = array[: rng.randrange(len(array))] if rng.random() < 0.5 else array
        if len(array):
            row = rng.randrange(len(array))
            array[row, 1] = rng.randint(0, row)
    else:
        one, two = rng.sample(range(array.shape[1]), 2)
        array[0, [one, two]] = array[0, [two, one]]
    return OrbitAlgorithm(own, replace(carriers, **{name: array}))


def test_never_accepted_without_the_list_of_all_sends() -> None:
    refused = 0
    for seed in range(400):
        instance, algorithm = random_orbit(seed)
        require_valid(instance, algorithm)
        require_valid(instance, algorithm.expanded())
        for attempt in range(6):
            broken = mutated(random.Random(6 * seed + attempt), algorithm)
            wrong = violations(instance, broken)
            refused += bool(wrong)
            if not wrong:
                require_valid(instance, broken.expanded())
    assert refused > 1000
