"""Fusion keeps the order right: cases that are rare in random algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from syncoll.runtime import Action, Buffer, Dependency, Hazard, Operation, Slot
from syncoll_msccl_xml.instructions import Op, forward, instructions_of

I0, O0 = Slot(Buffer.INPUT, 0), Slot(Buffer.OUTPUT, 0)
S0, S1, S2 = (Slot(Buffer.SCRATCH, i) for i in range(3))
RAW, WAR = Hazard.READ_AFTER_WRITE, Hazard.WRITE_AFTER_READ


def operation(
    action: Action,
    step: int,
    sources: Sequence[Slot],
    target: Slot | None,
    waits: Sequence[tuple[int, Hazard]] = (),
    message: int | None = None,
) -> Operation:
    depends = tuple(Dependency(*one) for one in waits)
    return Operation(
        action, step, 0, frozenset(), tuple(sources), target, message, message, depends
    )


def receive(step: int, message: int, target: Slot) -> Operation:
    return operation(Action.RECEIVE, step, [], target, [], message)


def written(operations: Sequence[Operation], *, fuse: bool = True) -> list[str]:
    return [
        f"{one.op} {one.source or '-'} {one.target or '-'}"
        for one in instructions_of(operations, fuse=fuse)
    ]


def test_received_data_is_reduced_on_arrival() -> None:
    operations = [receive(0, 0, S0), operation(Action.REDUCE, 0, [I0, S0], O0, [(0, RAW)])]
    assert written(operations) == ["rrc input[0] output[0]"]
    assert written(operations, fuse=False) == [
        "r - scratch[0]",
        "cpy scratch[0] output[0]",
        "re input[0] output[0]",
    ]
    same = [receive(0, 0, O0), operation(Action.REDUCE, 0, [I0, O0], O0, [(0, RAW)])]
    assert written(same) == ["rrc input[0] output[0]"]
    assert written(same, fuse=False) == ["r - output[0]", "re input[0] output[0]"]


def test_data_with_other_readers_is_not_fused() -> None:
    reduce = operation(Action.REDUCE, 0, [I0, S0], O0, [(0, RAW)])
    send = operation(Action.SEND, 1, [S0], None, [(0, RAW)], 1)
    assert written([receive(0, 0, S0), reduce, send])[0] == "r - scratch[0]"


def test_a_reduction_of_a_later_step_is_not_fused() -> None:
    """The queue would be blocked until then."""
    reduce = operation(Action.REDUCE, 1, [I0, S0], O0, [(0, RAW)])
    assert written([receive(0, 0, S0), reduce])[0] == "r - scratch[0]"


def test_fusion_does_not_overwrite_data_still_to_be_read() -> None:
    """The second sum replaces data that the first, which must wait for both, still reads."""
    operations = [
        receive(0, 0, S0),
        receive(0, 1, S1),
        operation(Action.REDUCE, 0, [I0, S0], S2, [(0, RAW)]),
        operation(Action.REDUCE, 0, [I0, S1], I0, [(1, RAW), (2, WAR)]),
        operation(Action.SEND, 1, [S0], None, [(0, RAW)], 2),
    ]
    assert written(operations) == [
        "r - scratch[0]",
        "r - scratch[1]",
        "cpy scratch[0] scratch[2]",
        "re input[0] scratch[2]",
        "re scratch[1] input[0]",
        "s scratch[0] -",
    ]


def test_the_later_of_two_messages_is_reduced_on_arrival() -> None:
    both = operation(Action.REDUCE, 0, [S0, S1], S0, [(0, RAW), (1, RAW)])
    operations = [receive(0, 0, S0), receive(0, 1, S1), both]
    assert written(operations) == ["r - scratch[0]", "rrc scratch[0] scratch[0]"]


@pytest.mark.parametrize(
    ("target", "others", "wanted"),
    [
        (S0, [], [Op.RECEIVE_REDUCE_SEND]),
        (O0, [], [Op.RECEIVE_REDUCE_STORE_SEND]),
        (S0, [(Action.SEND, S0, None)], [Op.RECEIVE_REDUCE_STORE_SEND, Op.SEND]),
        (S0, [(Action.COPY, S0, O0)], [Op.RECEIVE_REDUCE_STORE_SEND, Op.COPY]),
        (O0, [(Action.COPY, S1, O0)], [Op.RECEIVE_REDUCE_SEND, Op.COPY]),  # overwritten
    ],
)
def test_forwarded_data_is_stored_only_if_needed(
    target: Slot, others: list[tuple[Action, Slot, Slot | None]], wanted: list[Op]
) -> None:
    operations = [
        receive(0, 0, S2),
        operation(Action.REDUCE, 0, [I0, S2], target, [(0, RAW)]),
        operation(Action.SEND, 1, [target], None, [(1, RAW)], 1),
        *(
            operation(action, 1, [source], to, [(1, RAW)], 2 if to is None else None)
            for action, source, to in others
        ),
    ]
    fused = forward(instructions_of(operations, fuse=True), lambda one, two: (one, two) == (0, 1))
    assert [one.op for one in fused] == wanted
    assert (fused[0].incoming, fused[0].outgoing) == (0, 1)


@pytest.mark.parametrize(("step", "leads", "ops"), [(1, True, 1), (2, True, 2), (1, False, 2)])
def test_data_sent_in_the_next_step_is_forwarded(step: int, leads: bool, ops: int) -> None:
    operations = [receive(0, 0, O0), operation(Action.SEND, step, [O0], None, [(0, RAW)], 1)]
    fused = forward(instructions_of(operations, fuse=True), lambda _one, _two: leads)
    assert len(fused) == ops
    assert (fused[0].op is Op.RECEIVE_SEND) == (ops == 1)
