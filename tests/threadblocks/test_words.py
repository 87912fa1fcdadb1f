"""Messages of the machine about wrong programs: rank, place and reason."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Instance, Topology
from syncoll_threadblocks import (
    STANDARD,
    AddressSpace,
    Instruction,
    Program,
    Specification,
    Thread,
    ThreadConnection,
    execute,
)


def program(*threads: list[Instruction], depth: int = 2, size: int = 4) -> Program:
    """Each thread is a rank of its own with a buffer ``s``; connections form a ring."""
    memory = AddressSpace()
    for rank in range(len(threads)):
        memory.add(rank, "s", size)
    num = len(threads)
    return Program(
        [Thread(rank, 7, steps) for rank, steps in enumerate(threads)],
        [ThreadConnection(a, (a + 1) % num, 5, depth) for a in range(num)],
        memory,
        ["flag 0", "flag 1"],
        ["barrier 0"],
    )


def reason(wrong: Program) -> str:
    with pytest.raises(VerificationError) as caught:
        execute(wrong, None)
    return str(caught.value)


def test_a_cycle_is_reported_thread_by_thread() -> None:
    wrong = program(
        [Instruction(3, "rs", receive=2, send=0, line=10)],
        [Instruction(4, "rs", receive=0, send=1, line=11)],
        [Instruction(5, "rs", receive=1, send=2)],
    )
    assert reason(wrong) == (
        "deadlock: rank 0, thread block 7, step 3 (rs), line 10 waits for a message (rank 2 -> "
        "rank 0, channel 5); rank 2, thread block 7, step 5 (rs) waits for a message (rank 1 -> "
        "rank 2, channel 5); rank 1, thread block 7, step 4 (rs), line 11 waits for a message "
        "(rank 0 -> rank 1, channel 5)"
    )


def test_only_the_cycle_is_reported_not_its_waiters() -> None:
    wrong = program(
        [Instruction(0, "w", waits=((0, 1),))],
        [Instruction(0, "a", waits=((1, 1),)), Instruction(1, "b", posts=(0,))],
        [Instruction(0, "c", waits=((0, 1),)), Instruction(1, "d", posts=(1,))],
    )
    assert reason(wrong).startswith("deadlock: rank 1, ")
    assert "rank 0" not in reason(wrong)


def test_a_barrier_that_a_thread_reaches_less_often() -> None:
    barrier = Instruction(0, "barrier", barrier=0)
    wrong = program([barrier, Instruction(1, "barrier", barrier=0)], [barrier])
    assert reason(wrong) == (
        "rank 0, thread block 7, step 1 (barrier): waits forever for barrier 0"
    )
    execute(program([barrier] * 3, [barrier] * 3), None)


def test_a_barrier_orders_and_a_full_connection_does_not() -> None:
    memory = [Instruction(0, "w", writes=(0,), reads=(1,)), Instruction(1, "barrier", barrier=0)]
    execute(program(memory, [memory[1], Instruction(2, "r", reads=(0,))]), None)
    wrong = program([memory[0]], [Instruction(2, "r", reads=(0,))])
    assert "race: it reads s[0] of rank 0, which rank 0, thread block 7, step 0 (w)" in reason(
        wrong
    )
    # The sender's third message can only go when the first was taken, but not under every depth.
    send, take = Instruction(0, "s", send=0, reads=(1,)), Instruction(0, "r", receive=0)
    late = Instruction(3, "w", writes=(4,), reads=(1,))
    early = Instruction(0, "x", reads=(4,))
    wrong = program([send, send, send, late], [early, take, take, take])
    assert "race: " in reason(wrong)


def test_two_threads_at_one_end_of_a_connection() -> None:
    send, take = Instruction(0, "s", send=0), Instruction(0, "r", receive=0)
    wrong = program([send], [take, take], [send])
    assert "two thread blocks, 7 and 7, send over the same connection (rank 0 -> rank 1" in reason(
        wrong
    )


def test_a_shared_counter_orders_only_if_both_posts_are_needed() -> None:
    one = [Instruction(0, "w", writes=(0,), reads=(1,), posts=(0,))]
    other = [Instruction(0, "x", posts=(0,))]
    both = [Instruction(0, "r", reads=(0,), waits=((0, 2),))]
    either = [Instruction(0, "r", reads=(0,), waits=((0, 1),))]
    execute(program(one, other, both), None)
    assert "race: " in reason(program(one, other, either))


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("share", [1, 2])
def test_every_required_value_is_an_input(name: str, ranks: int, share: int) -> None:
    spec: Specification = Specification(name, ranks, share, ranks - 1 if name in ROOTED else None)
    there: dict[int, int] = {}
    for rank in range(ranks):
        for j in range(spec.input_size):
            value = spec.initial(rank, j)
            if value is not None:
                assert not there.get(value[0], 0) & value[1], "the same contribution in two slots"
                there[value[0]] = there.get(value[0], 0) | value[1]
    wanted = [spec.wanted(r, j) for r in range(ranks) for j in range(spec.output_size)]
    assert all(there[value[0]] == value[1] for value in wanted if value is not None)
    assert {value[0] for value in wanted if value is not None} == set(there)
    for rank in range(ranks):
        i, o = spec.in_place(rank)
        assert 0 <= i + spec.input_size <= max(spec.input_size, spec.output_size)
        assert 0 <= o + spec.output_size <= max(spec.input_size, spec.output_size)


ROOTED = ("broadcast", "reduce", "gather", "scatter")


@pytest.mark.parametrize("any_cut", [False, True])
def test_allgather_is_not_a_collective_without_sends(any_cut: bool) -> None:
    held = np.eye(2, dtype=bool)
    pair = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    stay = Instance(pair, "stay", 1, 1, 1, held, held)
    with pytest.raises(VerificationError, match=r"chunk from rank 0 to rank 1; .* needs 0"):
        Specification("allgather", 2, 1).require_same(stay, any_cut=any_cut)
