"""The checker of modules refuses forged files, whose digest fits their table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import syncoll_mpi_c
import syncoll_torch
from syncoll.errors import VerificationError
from syncoll.runtime import MessageTable, export_verified, table_of
from tests.modules.cases import case, request


def forged(table: MessageTable, head: str = "A head.") -> None:
    for package in (syncoll_mpi_c, syncoll_torch):
        record = package.RECORD
        text = record.load().text(table, "function", head)
        record.load_checker().check({"forged": text.encode()}, {})


def test_steps_out_of_order_are_refused() -> None:
    """The file in C takes sums one after the other, and sends nothing before step 0."""
    table = table_of(request(*case("ring", "allreduce")))
    forged(table)
    early = [row._replace(step=-1) for row in table.messages if row.step == 0]
    rest = [row for row in table.messages if row.step > 0]
    before = [row._replace(step=-3) for row in early]
    for wrong in (
        replace(table, sums=(*table.sums[1:], table.sums[0])),
        replace(table, messages=(*early, *rest)),
        replace(table, messages=(*before, *table.messages)),
    ):
        with pytest.raises(VerificationError, match="are not in order"):
            forged(wrong)


def test_sizes_beyond_memory_are_refused() -> None:
    table = table_of(request(*case("ring", "broadcast")))
    last = table.messages[-1]._replace(step=999_999_999)
    place = table.places[-1]._replace(chunk=0, slots=999_999_999)
    for wrong in (
        replace(table, messages=(*table.messages, last)),
        replace(table, chunks=999_999_999, places=(*table.places, place)),
    ):
        with pytest.raises(VerificationError, match="too many to follow"):
            forged(wrong)


def test_a_sum_without_its_first_part_is_refused() -> None:
    table = table_of(request(*case("ring", "allreduce")))
    row = table.sums[0]
    copy = row._replace(one=-1, other=row.one)
    with pytest.raises(VerificationError, match="no slots"):
        forged(replace(table, sums=(copy, *table.sums)))


@pytest.mark.parametrize("head", ["*\\\n/ int code; /*", "*??/\n/ int code; /*", "\\x"])
def test_a_head_cannot_end_its_comment(head: str) -> None:
    with pytest.raises(VerificationError, match="differs from the exported one"):
        forged(table_of(request(*case("ring", "broadcast"))), head)


@pytest.mark.parametrize(("collective", "blocks", "share"), [("alltoallv", 1, 2), ("gather", 1, 3)])
def test_chunks_of_other_lengths_are_refused(collective: str, blocks: int, share: int) -> None:
    table = table_of(request(*case("ring", collective)))
    with pytest.raises(VerificationError, match=f"no {blocks} blocks of {share}"):
        forged(replace(table, blocks=blocks, share=share))


@pytest.mark.parametrize(("package", "word"), [(syncoll_torch, "call"), (syncoll_mpi_c, "copy")])
def test_a_name_of_the_file_is_not_the_collective(package: Any, word: str) -> None:
    """Its function would replace another one."""
    for name, function in ((word, f"{word}_"), ("halo(2)", "halo")):
        made = replace(request(*case("ring", "alltoallv")), collective=name)
        (content,) = export_verified(package.RECORD, made, {}).exported.files.values()
        assert content.decode().split()[3] == function
