"""Steps of several chunks need space: a program that fits chunk by chunk may wait in a cycle."""

from __future__ import annotations

import pytest

from syncoll.runtime import Buffer, Slot
from syncoll_msccl_xml.blocks import BlockStep, ThreadBlock
from syncoll_msccl_xml.instructions import Op, XmlInstruction
from syncoll_msccl_xml.playing import ends

HERE, THERE = Slot(Buffer.INPUT, 0), Slot(Buffer.OUTPUT, 0)


def step(incoming: int | None, outgoing: int | None) -> BlockStep:
    op = Op.SEND if incoming is None else Op.RECEIVE if outgoing is None else Op.RECEIVE_SEND
    return BlockStep(XmlInstruction(op, (0, 0, 0, 0), HERE, THERE, incoming, outgoing), None)


@pytest.mark.parametrize(("chunks", "fits"), [(1, True), (2, True), (3, False), (64, False)])
@pytest.mark.parametrize("ranks", [2, 5])
def test_ranks_that_all_send_first_need_space_for_every_chunk(
    chunks: int, fits: bool, ranks: int
) -> None:
    ring = [(rank, (rank + 1) % ranks, 0) for rank in range(ranks)]
    blocks = []
    for rank in range(ranks):
        one = ThreadBlock(ring[rank - 1], ring[rank])
        one.steps += [step(None, rank), step((rank - 1) % ranks, None)]
        blocks.append([one])
    assert ends(blocks, [chunks]) == fits


def test_blocks_that_only_send_or_receive_need_no_more_space() -> None:
    blocks = []
    for rank in range(2):
        away, back = (rank, 1 - rank, 0), (1 - rank, rank, 0)
        sending, receiving = ThreadBlock(None, away), ThreadBlock(back, None)
        sending.steps.append(step(None, rank))
        receiving.steps.append(step(1 - rank, None))
        blocks.append([sending, receiving])
    assert ends(blocks, [64])


def test_a_chunk_is_passed_on_before_the_next_one_arrives() -> None:
    first, second = (0, 1, 0), (1, 2, 0)
    source, middle, last = (
        ThreadBlock(None, first),
        ThreadBlock(first, second),
        ThreadBlock(second, None),
    )
    source.steps.append(step(None, 0))
    middle.steps.append(step(0, 1))
    last.steps.append(step(1, None))
    assert ends([[source], [middle], [last]], [40])
    last.steps[0].waits = (last, 0)  # it waits for itself
    assert not ends([[source], [middle], [last]], [40])
    assert ends([[source], [middle], [ThreadBlock(second, None)]], [2])
