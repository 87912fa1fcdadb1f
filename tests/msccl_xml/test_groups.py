"""Collectives within groups: a file for the communicator of each group, but not for all ranks."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.api import collective
from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Instance, compose, invert
from syncoll.plugins import ExportRequest
from syncoll.runtime import HandedOut, export_verified
from syncoll_msccl_xml import RECORD
from tests.oracles.classics import hub

GROUPS = [[0, 2, 4], [1, 3]]


def straight(name: str) -> tuple[Instance, Algorithm]:
    """Allgather or allreduce within both groups, over links inside them."""
    table = collective("allgather").within(GROUPS).tabulate(5, 1)
    sends = [
        (chunk, int(table.pre[chunk].argmax()), node, 0)
        for chunk, node in np.argwhere(table.post & ~table.pre).tolist()
    ]
    free = Algorithm((0,), sends)
    rounds = free.least_rounds(hub(5))
    gather = (
        Instance(hub(5), "allgather", 1, 1, sum(rounds), table.pre, table.post),
        Algorithm(tuple(rounds), free.sends),
    )
    if name == "allgather":
        return gather
    return compose(invert(*gather, "reducescatter"), gather, "allreduce")


def export(name: str, in_place: bool = False, **options: object) -> HandedOut:
    case = straight(name)
    return export_verified(RECORD, ExportRequest("x", name, *case, in_place), options)


@pytest.mark.parametrize("name", ["allgather", "allreduce"])
@pytest.mark.parametrize("dialect", ["msccl", "executor", "rccl"])
@pytest.mark.parametrize("in_place", [False, True])
def test_each_group_has_a_file(name: str, dialect: str, in_place: bool) -> None:
    for group, nodes in enumerate(GROUPS):
        handed = export(name, in_place, dialect=dialect, group=group)
        assert list(handed.exported.files) == [f"group{group}-x.xml"]
        assert (handed.checked.collective, handed.checked.num_nodes) == (name, len(nodes))
        shown = ", ".join(map(str, nodes))
        assert any(f"of nodes {shown} alone" in note for note in handed.exported.notes)


def test_a_file_for_all_ranks_is_refused() -> None:
    with pytest.raises(ExportError, match=r"option group=0 to group=1.* \(--to mscclpp\)"):
        export("allreduce")
    with pytest.raises(ExportError, match="there is no group 2"):
        export("allreduce", group=2)
    uneven = collective("alltoallv", [[0, 1], [0, 0]]).tabulate(2, 1)
    instance = Instance(hub(2), "x", 1, 1, 1, uneven.pre, uneven.post)
    request = ExportRequest("x", "x", instance, Algorithm((1,), [(0, 0, 1, 0)]))
    with pytest.raises(ExportError, match="same size; --to mscclpp writes an execution plan"):
        export_verified(RECORD, request, {})


def test_a_file_is_compared_with_its_own_group() -> None:
    handed = export("allgather", group=0)
    checker, (instance, _) = RECORD.load_checker(), straight("allgather")
    checker.check(handed.exported.files, {"group": 0}, instance)
    with pytest.raises(VerificationError, match="for 3 ranks, the instance for 2 nodes"):
        checker.check(handed.exported.files, {"group": 1}, instance)
    with pytest.raises(VerificationError, match="for 3 ranks, the instance for 5 nodes"):
        checker.check(handed.exported.files, {}, instance)
