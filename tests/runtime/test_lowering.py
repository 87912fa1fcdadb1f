"""Lowered algorithms, executed in many orders, end with the collective's result."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from syncoll.arrays import Bools
from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.plugins import ExportRequest
from syncoll.runtime import Action, Buffer, Hazard, Kind, LoweredAlgorithm, Slot, kind_of, lower
from syncoll.testing.instances import connected_topology, random_case, random_trees
from tests.oracles.classics import hub, ring

Content = tuple[int, Counter[int]]
"""A chunk, and the count of each contribution in it; empty for plain data."""


def execute(
    lowered: LoweredAlgorithm, instance: Instance, rng: random.Random | None
) -> list[dict[Slot, Content]]:
    """The final content of every slot, in the order of the lists or a random one.

    Args:
        lowered: the lowered algorithm.
        instance: its pre is the initial data.
        rng: takes any operation whose dependencies and message are done; None for the order of
            steps, and in a step of phases, over all ranks.
    """
    memory: list[dict[Slot, Content]] = []
    for node in range(instance.topology.num_nodes):
        start: dict[Slot, Content] = {}
        for chunk in np.flatnonzero(instance.pre[:, node]).tolist():
            slot = lowered.layout.input_slot(chunk, node)
            assert slot is not None
            assert slot not in start
            start[slot] = (chunk, Counter([node] if instance.combining else []))
        memory.append(start)
    waiting = [(rank.rank, i) for rank in lowered.ranks for i in range(len(rank.operations))]
    phases = {Action.SEND: 0, Action.RECEIVE: 1, Action.REDUCE: 2, Action.COPY: 3}
    done: set[tuple[int, int]] = set()
    under_way: dict[int, Content] = {}
    if rng is None:
        waiting.sort(
            key=lambda w: (
                lowered.ranks[w[0]].operations[w[1]].step,
                phases[lowered.ranks[w[0]].operations[w[1]].action],
                w[1],
            )
        )
    while waiting:
        able = []
        for rank, i in waiting:
            operation = lowered.ranks[rank].operations[i]
            if any((rank, d.operation) not in done for d in operation.dependencies):
                continue
            if operation.action is Action.RECEIVE and operation.message not in under_way:
                continue
            able.append((rank, i))
        assert able, "deadlock"
        if rng is None:
            assert able[0] == waiting[0], "the order of the lists is not right"
        rank, i = able[0] if rng is None else rng.choice(able)
        waiting.remove((rank, i))
        done.add((rank, i))
        operation = lowered.ranks[rank].operations[i]
        here = memory[rank]
        contents = [here[slot] for slot in operation.sources]
        if operation.action is Action.SEND:
            assert operation.message is not None
            under_way[operation.message] = contents[0]
            if operation.message not in lowered.unordered:
                sent = lowered.messages[operation.message]
                receive = lowered.ranks[sent.destination].operations[sent.receive]
                assert all((sent.destination, d.operation) in done for d in receive.dependencies)
            continue
        assert operation.target is not None
        if operation.action is Action.RECEIVE:
            assert operation.message is not None
            result = under_way.pop(operation.message)
        elif operation.action is Action.COPY:
            (result,) = contents
        else:
            (chunk, one), (same, two) = contents
            assert chunk == same == operation.chunk
            result = (chunk, one + two)
        assert result[0] == operation.chunk
        assert set(result[1]) == operation.contributions
        assert set(result[1].values()) <= {1}, "a contribution counts twice"
        here[operation.target] = result
    assert not under_way
    return memory


def require_right(
    lowered: LoweredAlgorithm, instance: Instance, rng: random.Random | None = None
) -> None:
    memory = execute(lowered, instance, rng)
    for chunk, node in np.argwhere(instance.post).tolist():
        slot = lowered.layout.output_slot(chunk, node)
        assert slot is not None
        everyone = np.flatnonzero(instance.pre[chunk]).tolist() if instance.combining else []
        assert memory[node][slot] == (chunk, Counter(everyone)), (chunk, node)


def require_rules(lowered: LoweredAlgorithm, instance: Instance, zero_copy: bool) -> None:
    """The rules of `syncoll.runtime`."""
    received: set[tuple[int, Slot]] = set()
    for rank in lowered.ranks:
        outputs = {
            lowered.layout.output_slot(chunk, rank.rank)
            for chunk in np.flatnonzero(instance.post[:, rank.rank]).tolist()
        }
        for i, operation in enumerate(rank.operations):
            slots = [*operation.sources, *([operation.target] if operation.target else [])]
            sizes = {
                Buffer.INPUT: rank.input_chunks,
                Buffer.OUTPUT: rank.output_chunks,
                Buffer.SCRATCH: rank.scratch_chunks,
            }
            assert all(0 <= slot.index < sizes[slot.buffer] for slot in slots)
            if operation.target is not None and operation.target.buffer is not Buffer.SCRATCH:
                assert operation.target in outputs
            waited = [d.operation for d in operation.dependencies]
            assert waited == sorted(set(waited))
            assert all(w < i for w in waited)
            if operation.action is Action.RECEIVE:
                assert operation.target is not None
                if zero_copy:
                    assert all(rank.operations[w].step < operation.step for w in waited)
                if operation.target.buffer is Buffer.SCRATCH:
                    assert (rank.rank, operation.target) not in received
                    received.add((rank.rank, operation.target))
                    assert not waited
    for number, message in enumerate(lowered.messages):
        send = lowered.ranks[message.source].operations[message.send]
        receive = lowered.ranks[message.destination].operations[message.receive]
        assert send.action is Action.SEND
        assert receive.action is Action.RECEIVE
        assert send.message == receive.message == number
        assert (send.peer, receive.peer) == (message.destination, message.source)
        assert (send.sources, receive.target) == ((message.source_slot,), message.target_slot)
        assert send.step == receive.step == message.step


def request(instance: Instance, algorithm: Algorithm, in_place: bool) -> ExportRequest:
    return ExportRequest("x", instance.collective, instance, algorithm, in_place)


def check(instance: Instance, algorithm: Algorithm, rng: random.Random) -> LoweredAlgorithm:
    in_places = [False] if kind_of(instance).kind is Kind.CUSTOM else [False, True]
    for in_place in in_places:
        for zero_copy in (False, True):
            lowered = lower(request(instance, algorithm, in_place), zero_copy=zero_copy)
            require_right(lowered, instance)
            require_right(lowered, instance, rng)
            require_rules(lowered, instance, zero_copy)
    return lowered


@pytest.mark.parametrize("seed", range(30))
def test_random_algorithms_that_reduce(seed: int) -> None:
    rng = random.Random(seed)
    check(*random_case(rng), rng)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees(seed: int) -> None:
    rng = random.Random(seed)
    topology = connected_topology(rng)
    nodes, chunks = topology.num_nodes, rng.randint(1, 4)
    pre = np.zeros((chunks, nodes), dtype=bool)
    for c in range(chunks):
        pre[c, rng.randrange(nodes)] = True
    post = np.array([[rng.random() < 0.6 for _ in range(nodes)] for _ in range(chunks)])
    post[0, rng.randrange(nodes)] = True
    check(*random_trees(rng, topology, "some", pre, post), rng)


def standard(kind: Kind, nodes: int, share: int, root: int) -> tuple[Bools, Bools]:
    """Pre and post of a collective that only moves data."""
    everyone = range(nodes)
    ends: list[tuple[list[int], list[int]]] = {
        Kind.ALLGATHER: [([n], list(everyone)) for n in everyone],
        Kind.BROADCAST: [([root], list(everyone))],
        Kind.GATHER: [([n], [root]) for n in everyone],
        Kind.SCATTER: [([root], [n]) for n in everyone],
        Kind.ALLTOALL: [([a], [b]) for a in everyone for b in everyone],
    }[kind]
    pre = np.zeros((len(ends) * share, nodes), dtype=bool)
    post = pre.copy()
    for c, (start, end) in enumerate(ends * share):
        pre[c, start] = post[c, end] = True
    return pre, post


MOVING = (Kind.ALLGATHER, Kind.BROADCAST, Kind.GATHER, Kind.SCATTER, Kind.ALLTOALL)
REDUCING = {Kind.REDUCE: Kind.BROADCAST, Kind.REDUCESCATTER: Kind.ALLGATHER}


def case(
    kind: Kind, rng: random.Random, topology: Topology, share: int
) -> tuple[Instance, Algorithm]:
    """A random algorithm of a standard collective whose chunks are numbered at random."""
    if kind is Kind.ALLREDUCE:
        first = case(Kind.REDUCESCATTER, rng, topology, share)
        pre = first[0].post
        return compose(first, random_trees(rng, topology, "", pre, np.ones_like(pre)), "allreduce")
    if kind in REDUCING:
        return invert(*case(REDUCING[kind], rng, topology.reversed(), share), str(kind))
    pre, post = standard(kind, topology.num_nodes, share, rng.randrange(topology.num_nodes))
    order = rng.sample(range(len(pre)), len(pre))
    return random_trees(rng, topology, str(kind), pre[order], post[order])


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CUSTOM])
@pytest.mark.parametrize("share", [1, 2])
def test_every_standard_collective(kind: Kind, share: int) -> None:
    rng = random.Random(share)
    for topology in (ring(3), ring(4), connected_topology(rng)):
        instance, algorithm = case(kind, rng, topology, share)
        found = check(instance, algorithm, rng).layout.collective
        assert found.kind is kind


def test_useless_sends_are_left_out() -> None:
    """Of two deliveries of a chunk one is a message; useless sends are no messages."""
    topology = ring(3)
    pre = np.array([[True, False, False]])
    post = np.array([[False, True, False]])
    sends = np.array([[0, 0, 1, 0], [0, 0, 2, 0], [0, 2, 1, 1], [0, 1, 0, 1]])
    instance = Instance(topology, "x", 1, 2, 2, pre, post)
    lowered = lower(request(instance, Algorithm((1, 1), sends), False))
    assert [(m.source, m.destination, m.step) for m in lowered.messages] == [(0, 1, 0)]
    require_right(lowered, instance)


def test_a_ring_reduces_in_place_without_scratch() -> None:
    """Each rank adds received data to its own, in the slot of the result, where the total arrives
    after it was passed on."""
    rng = random.Random(0)
    topology = ring(2)
    pre = np.eye(2, dtype=bool)
    spread = random_trees(rng, topology, "allgather", pre, np.ones_like(pre))
    backwards = invert(*spread, "reducescatter")
    instance, algorithm = compose(backwards, spread, "allreduce")
    lowered = lower(request(instance, algorithm, False))
    for rank in lowered.ranks:
        reduce = next(o for o in rank.operations if o.action is Action.REDUCE)
        receive = next(o for o in rank.operations if o.action is Action.RECEIVE)
        assert rank.scratch_chunks == 0
        assert receive.target in reduce.sources
        assert reduce.target == receive.target
        assert reduce.target is not None
        assert reduce.target.buffer is Buffer.OUTPUT
        waits = [d for d in reduce.dependencies if d.hazard is Hazard.READ_AFTER_WRITE]
        assert [rank.operations[d.operation] for d in waits] == [receive]
    lowered = lower(request(instance, algorithm, True))
    receives = [o for rank in lowered.ranks for o in rank.operations if o.action is Action.RECEIVE]
    assert any(one.dependencies for one in receives)
    assert not lowered.unordered


def test_an_exchange_in_place_overwrites_no_unsent_data() -> None:
    """All to all in one step: every slot is read and written in it."""
    nodes = 3
    pairs = [(a, b) for a in range(nodes) for b in range(nodes)]
    pre = np.array([[n == a for n in range(nodes)] for a, _ in pairs])
    post = np.array([[n == b for n in range(nodes)] for _, b in pairs])
    sends = np.array([[c, a, b, 0] for c, (a, b) in enumerate(pairs) if a != b])
    instance = Instance(ring(3), "alltoall", 3, 1, 1, pre, post)
    wanted = request(instance, Algorithm((1,), sends), True)
    queued, written = lower(wanted), lower(wanted, zero_copy=True)
    assert all(rank.scratch_chunks == 0 for rank in queued.ranks)
    assert all(rank.scratch_chunks == 2 for rank in written.ranks)
    for lowered in (queued, written):
        for seed in range(10):
            require_right(lowered, instance, random.Random(seed))
        require_rules(lowered, instance, lowered is written)


def test_wrong_algorithms_are_refused() -> None:
    instance, algorithm = random_case(random.Random(1))
    with pytest.raises(VerificationError):
        lower(
            request(
                instance,
                Algorithm(algorithm.rounds_per_step, np.zeros((0, 4), dtype=np.int64)),
                False,
            )
        )
    pre = np.eye(2, dtype=bool)[:1]
    custom = Instance(ring(2), "x", 1, 1, 1, np.tile(pre, (2, 1)), np.eye(2, dtype=bool)[[0, 0]])
    with pytest.raises(ExportError, match="not one of the collectives"):
        lower(request(custom, Algorithm((1,), np.zeros((0, 4), dtype=np.int64)), True))


def test_a_send_only_uses_data_from_earlier_steps() -> None:
    """A larger part that arrives in the same step comes too late."""
    pre, post = np.ones((1, 4), dtype=bool), np.array([[False, False, False, True]])
    sends, carried = zip(
        ((0, 0, 2, 0), [0]),
        ((0, 1, 2, 0), [1]),
        ((0, 0, 1, 0), [0]),
        ((0, 2, 3, 1), [0, 1, 2]),
        ((0, 1, 2, 1), [0, 1]),
        strict=True,
    )
    contributions = np.array([[n in who for n in range(4)] for who in carried])
    algorithm = Algorithm((1, 1), np.array(sends), contributions)
    instance = Instance(hub(4), "reduce", 1, 2, 3, pre, post, combining=True)
    algorithm = algorithm.with_rounds(instance.topology, 3)
    lowered = lower(request(instance, algorithm, False))
    require_right(lowered, instance)
    assert len(lowered.messages) == 3, "two sends bring nothing that is needed"
