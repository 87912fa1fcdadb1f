"""The programs of all ranks, run in one process in any order, give the collective's result."""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import pytest

from syncoll.errors import UsageError
from syncoll.model import Algorithm, Instance
from syncoll.mpi.buffers import Buffers
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.program import Region, chunk_at, program_of
from syncoll.runtime import Kind
from syncoll.testing.instances import random_case
from tests.oracles.classics import ring

Array = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def run(
    collective: MpiCollective, inputs: list[Array], total: int, rng: random.Random
) -> list[Array]:
    """The outputs of all ranks, which run their next steps in a random order.

    A message is copied when its sender posts it or when its receiver takes it, at random: MPI may
    do either.
    """
    shares = collective.shares(total)
    ranks = range(collective.num_ranks)
    programs = [program_of(collective._table, rank, total) for rank in ranks]
    arrays = []
    for r in ranks:
        buffers = Buffers(inputs[r], np.full(shares.outputs[r], -1), inputs[r].dtype)
        own = collective._arrays(r, total, buffers, in_place=False)
        arrays.append((*own, np.full(programs[r].scratch, -1)))

    def view(rank: int, region: Region) -> Array:
        return arrays[rank][region.buffer][region.start : region.stop]

    under_way: dict[tuple[int, int, int], deque[Array]] = {}
    at, posted = [0] * len(ranks), [False] * len(ranks)
    while todo := [r for r in ranks if at[r] < len(programs[r].steps)]:
        able = []
        for r in todo:
            step = programs[r].steps[at[r]]
            if not posted[r] or all((t.peer, r, t.tag) in under_way for t in step.receives):
                able.append(r)
        assert able, "a deadlock"
        r = rng.choice(able)
        step = programs[r].steps[at[r]]
        if not posted[r]:
            posted[r] = True
            for t in step.sends:
                parts = [view(r, region) for region in t.regions]
                data = np.concatenate(parts) if len(parts) > 1 else parts[0]
                key = (r, t.peer, t.tag)
                assert key not in under_way, "two messages of the same ranks with one tag"
                under_way[key] = deque([data.copy() if rng.random() < 0.5 else data])
            for t in step.receives:
                sent = [view(r, region) for s in step.sends for region in s.regions]
                for region in t.regions:
                    assert not any(np.may_share_memory(view(r, region), s) for s in sent)
            continue
        for t in step.receives:
            (data,) = under_way.pop((t.peer, r, t.tag))
            for region in t.regions:
                length = region.stop - region.start
                view(r, region)[:] = data[:length]
                data = data[length:]
            assert not len(data)
        # Waitall does not return before receivers have all unbuffered data.
        for t in step.sends:
            key = (r, t.peer, t.tag)
            if key in under_way:
                under_way[key] = deque([under_way[key][0].copy()])
        for local in step.locals:
            parts = [view(r, source) for source in local.sources]
            view(r, local.target)[:] = sum(parts[1:], start=parts[0])
        at[r], posted[r] = at[r] + 1, False
    assert not under_way
    return [outputs for _, outputs, _ in arrays]


def chunks_of(instance: Instance, lengths: list[int], node: int, which: str) -> list[int]:
    """The chunk of every element of a custom or whole-buffer collective's input or output."""
    table = instance.pre if which == "input" else instance.post
    return [c for c in np.flatnonzero(table[:, node]).tolist() for _ in range(lengths[c])]


@pytest.mark.parametrize("seed", range(60))
def test_random_algorithms_on_lengths_that_do_not_divide(seed: int) -> None:
    rng = random.Random(seed)
    instance, algorithm = random_case(rng)
    collective = MpiCollective(algorithm, instance)
    total = rng.choice([1, 3, rng.randrange(1, 50), 97])
    shares = collective.shares(total)
    layout = collective.layout
    draw = np.random.default_rng(seed)
    inputs = [draw.integers(0, 1000, shares.inputs[r]) for r in range(collective.num_ranks)]
    before = [one.copy() for one in inputs]
    outputs = run(collective, inputs, total, rng)
    assert all(np.array_equal(a, b) for a, b in zip(inputs, before, strict=True))

    def piece(chunk: int, node: int, places: Array, buffers: list[Array]) -> Array:
        """A chunk in a buffer, found by the sum of lengths before it."""
        place = places[chunk, node]
        start = sum(
            int(shares.chunks[other])
            for other in range(instance.num_chunks)
            if 0 <= places[other, node] < place
        )
        return buffers[node][start : start + int(shares.chunks[chunk])]

    for chunk, node in np.argwhere(instance.post).tolist():
        parts = [
            piece(chunk, source, layout.inputs, inputs)
            for source in np.flatnonzero(instance.pre[chunk]).tolist()
        ]
        wanted = sum(parts) if instance.combining else parts[0]
        assert np.array_equal(piece(chunk, node, layout.outputs, outputs), wanted), (chunk, node)
    for node in range(collective.num_ranks):
        for element in range(len(outputs[node])):
            chunk = chunk_at(layout, node, shares, element)
            assert instance.post[chunk, node]


def test_chunk_at_counts_from_the_start() -> None:
    for seed in range(20):
        instance, algorithm = random_case(random.Random(seed))
        collective = MpiCollective(algorithm, instance)
        if collective.collective.kind not in (Kind.BROADCAST, Kind.REDUCE, Kind.ALLREDUCE):
            continue
        shares = collective.shares(13)
        node = int(np.flatnonzero(instance.post[0])[0])
        owners = chunks_of(instance, shares.chunks.tolist(), node, "output")
        assert [chunk_at(collective.layout, node, shares, i) for i in range(13)] == owners


class Holder:
    def __init__(self, **entries: object) -> None:
        self.__dict__.update(entries)


def test_constructors_of_a_collective() -> None:
    instance, algorithm = random_case(random.Random(1))
    one = Holder(instance=instance, algorithm=algorithm)
    for made in (
        MpiCollective(algorithm, instance),
        MpiCollective(one),
        MpiCollective(Holder(algorithms=(one,))),
    ):
        assert (made.instance, made.algorithm) == (instance, algorithm)
    for arguments, words in (
        ((algorithm,), "needs its instance"),
        ((one, instance), "instance of its own"),
        ((Holder(algorithms=(one, one)),), "2 algorithms in one file"),
        ((Holder(algorithms=()),), "0 algorithms in one file"),
        (("frontier.json",), "a str is not an algorithm"),
    ):
        with pytest.raises(UsageError, match=words):
            MpiCollective(*arguments)  # type: ignore[arg-type]


def test_a_wrong_algorithm_is_refused() -> None:
    from syncoll.errors import VerificationError

    instance, algorithm = random_case(random.Random(1))
    fewer = None if algorithm.contributions is None else algorithm.contributions[1:]
    with pytest.raises(VerificationError):
        MpiCollective(Algorithm(algorithm.rounds_per_step, algorithm.sends[1:], fewer), instance)


def test_neighbouring_chunks_are_one_message() -> None:
    """Ring allgather of four chunks a rank: one message a step, and no memory but the output."""
    nodes, chunks = 4, 4
    pre = np.tile(np.eye(nodes, dtype=bool), (chunks, 1))
    sends = [
        [turn * nodes + c, (c + s) % nodes, (c + s + 1) % nodes, s]
        for turn in range(chunks)
        for c in range(nodes)
        for s in range(nodes - 1)
    ]
    instance = Instance(ring(nodes), "x", chunks, 3, 12, pre, np.ones_like(pre))
    collective = MpiCollective(Algorithm((4, 4, 4), np.array(sends)), instance)
    for rank in range(nodes):
        program = program_of(collective._table, rank, 160)
        assert program.scratch == 0
        steps = [step for step in program.steps if step.number >= 0]
        assert [(len(step.sends), len(step.receives)) for step in steps] == [(1, 1)] * 3
        for step in steps:
            (region,) = step.receives[0].regions
            assert region.stop - region.start == 40
