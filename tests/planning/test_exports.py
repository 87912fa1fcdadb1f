"""Exports of a plan: ranges touch, every file is checked, folders are complete or absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET

from syncoll.documents import StoredAlgorithm, require_new_folder, write_new_folder
from syncoll.documents.plan import NeedsRecord
from syncoll.errors import ExportError, UsageError, VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.planning import CostModel, export_plan, plan_sizes
from syncoll.planning.exports import _export, _usable
from syncoll.plugins import (
    CheckedExport,
    ExportCounts,
    Exported,
    ExporterRecord,
    ExportRequest,
    Options,
)
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime.export_each import export_each
from syncoll.spec import SpecLibrary

MODEL = CostModel(Fraction(100), Fraction(1))


@dataclass
class Spy:
    """An exporter that records its requests, and cannot express some numbers of steps.  With
    `most`, it counts a thread block for each chunk, and refuses more; files of more chunks than
    `large` are too large; messages of at most `small` bytes have files of their own."""

    refuses: frozenset[int] = frozenset()
    most: int | None = None
    large: int = 99
    small: int = 0
    largest: int = UNLIMITED
    files: tuple[str, ...] = ("{}.txt",)
    wrong: bool = False
    asked: list[ExportRequest] = field(default_factory=list)
    checked: int = 0

    def export(self, request: ExportRequest, options: Options) -> Exported:
        if request.algorithm.steps in self.refuses:
            raise ExportError(f"{request.algorithm.steps} steps are too many")
        self.asked.append(request)
        text = f"{request.min_bytes} {request.max_bytes}"
        return Exported({name.format(request.name): text.encode() for name in self.files})

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        if self.wrong:
            raise VerificationError("rank 0 waits for ever")
        self.checked += 1
        return CheckedExport("text", "broadcast", 5, None, {})

    def record(self, *, folder: bool = False) -> ExporterRecord:
        def counts(request: ExportRequest, options: Options) -> ExportCounts | None:
            if self.most is None:
                return None
            blocks = request.instance.chunks
            if blocks > self.most:
                raise ExportError(f"it needs {blocks} thread blocks; at most {self.most}")
            large = f"it has {blocks} files" if blocks > self.large else None
            what = {"max_bytes": self.largest, "large": large, "small": self.small}
            return ExportCounts(blocks, scratch=0.5, multiple_of=8, **what)

        return ExporterRecord(
            "spy", "for tests", lambda: self, lambda: self, folder=folder, counts=counts
        )


def in_a_line(specs: SpecLibrary, chunks: int) -> StoredAlgorithm:
    """A broadcast of chunks that follow each other down a line of five nodes."""
    steps = chunks + 3
    instance = specs.collective("broadcast").instantiate(
        specs.topology("line(5)"), chunks=chunks, steps=steps, rounds=steps
    )
    sends = [(c, node, node + 1, c + node) for c in range(chunks) for node in range(4)]
    return StoredAlgorithm(instance, Algorithm((1,) * steps, np.array(sends)), f"S{steps}")


@pytest.fixture(scope="module")
def points() -> list[StoredAlgorithm]:
    """Three points that are all the best at some size: R/C is 4, 5/2 and 7/4."""
    from syncoll.plugins import PluginManager

    specs = SpecLibrary([PluginManager.discover().spec_libraries["syncoll"].folder])
    return [in_a_line(specs, chunks) for chunks in (1, 2, 4)]


def name(steps: int, chunks: int) -> str:
    return f"line-5-broadcast-C{chunks}-S{steps}-R{steps}"


def test_ranges_touch(points: list[StoredAlgorithm]) -> None:
    spy = Spy()
    made = export_plan(points, MODEL, spy.record(), {})
    assert [one.algorithm for one in made.plan.ranges] == points
    asked = [(one.name, one.min_bytes, one.max_bytes) for one in spy.asked]
    assert asked[0][1] == 0
    assert asked[-1][2] == UNLIMITED
    for one, after in pairwise(asked):
        assert one[2] + 1 == after[1]
    assert [(one.min_bytes, one.max_bytes) for one in made.exports[:-1]] == [
        (least, most) for _, least, most in asked[:-1]
    ]
    assert made.exports[-1].max_bytes is None
    assert spy.checked == len(points)
    assert made.files == {
        f"algorithms/{name}.txt": f"{least} {most}".encode() for name, least, most in asked
    }


def test_ranges_without_a_whole_byte_are_not_exported(points: list[StoredAlgorithm]) -> None:
    spy = Spy()
    made = export_plan(points, CostModel(Fraction(1), Fraction(1)), spy.record(), {})
    assert [one.algorithm for one in made.plan.ranges] == points
    assert made.plan.crossovers[0] == Fraction(2, 3)
    assert [(one.name, one.min_bytes) for one in spy.asked] == [(name(5, 2), 0), (name(7, 4), 3)]


def test_a_format_of_folders(points: list[StoredAlgorithm]) -> None:
    spy = Spy(files=("a.{}", "b"))
    made = export_plan(points, MODEL, spy.record(folder=True), {}, in_place=True)
    assert all(request.in_place for request in spy.asked)
    assert made.exports[0].files == tuple(
        f"algorithms/{name(4, 1)}-in-place/{file}" for file in (f"a.{name(4, 1)}-in-place", "b")
    )
    assert len(made.files) == 6


def test_one_that_cannot_be_expressed(points: list[StoredAlgorithm]) -> None:
    with pytest.raises(ExportError, match=r"S5, the best .* bytes, .*5 steps(.|\n)*skip_refused"):
        export_plan(points, MODEL, Spy(frozenset({5})).record(), {})
    spy = Spy(frozenset({5}))
    made = export_plan(points, MODEL, spy.record(), {}, skip_refused=True)
    rest = [points[0], points[2]]
    assert made.plan.crossovers == plan_sizes(rest, MODEL).crossovers
    assert made.refused == ((points[1], "5 steps are too many"),)
    assert [one.algorithm for one in made.exports] == rest
    assert made.exports[0].max_bytes is not None
    assert made.exports[0].max_bytes + 1 == made.exports[1].min_bytes


def test_one_that_the_runtime_cannot_carry_is_left_out(points: list[StoredAlgorithm]) -> None:
    spy = Spy(most=2)
    made = export_plan(points, MODEL, spy.record(), {})
    assert [one.algorithm for one in made.exports] == points[:2]
    assert made.refused == ((points[2], "it needs 4 thread blocks; at most 2"),)
    assert made.exports[-1].max_bytes is None
    assert [one.needs for one in made.exports] == [
        "1 thread block, messages of a multiple of 8 bytes",
        "2 thread blocks, messages of a multiple of 8 bytes",
    ]
    with pytest.raises(ExportError, match=r"none .* the simplest one: it needs 1 thread blocks"):
        export_plan(points, MODEL, Spy(most=0).record(), {})


def test_files_state_the_proved_bound(points: list[StoredAlgorithm]) -> None:
    spy = Spy()
    export_plan([replace(points[0], claim="S is the least.")], MODEL, spy.record(), {})
    assert [one.claims for one in spy.asked] == [("S is the least.",)]


def test_large_files_are_a_plan_only_if_no_other_is_left(points: list[StoredAlgorithm]) -> None:
    made = export_plan(points, MODEL, Spy(most=3, large=1).record(), {})
    assert [one.algorithm for one in made.exports] == points[:1]
    assert [reason for _, reason in made.refused] == [
        "it has 2 files; `syncoll export` writes it",
        "it needs 4 thread blocks; at most 3",
    ]
    made = export_plan(points, MODEL, Spy(most=3, large=0).record(), {})
    assert [one.algorithm for one in made.exports] == points[:2]


def test_ranges_without_a_message_of_the_runtime_join_others(points: list[StoredAlgorithm]) -> None:
    """Messages are multiples of 8 bytes, and the first two ranges end at 2."""
    spy = Spy(most=4)
    made = export_plan(points, CostModel(Fraction(1), Fraction(1)), spy.record(), {})
    assert [(one.name, one.min_bytes) for one in spy.asked] == [(name(7, 4), 0)]
    assert made.refused == ()
    a, b = points[:2]
    counts = {id(a): ExportCounts(multiple_of=8), id(b): ExportCounts(multiple_of=64)}
    ranges = [(a, 0, 99), (b, 100, 120), (a, 121, 500), (b, 501, None)]
    assert _usable(ranges, counts) == [(a, 0, 500), (b, 501, None)]


def test_small_messages_have_files_of_their_own(points: list[StoredAlgorithm]) -> None:
    spy = Spy(most=4)
    export_plan(points, MODEL, spy.record(), {})
    whole = [(one.min_bytes, one.max_bytes) for one in spy.asked]
    small = whole[1][0] + 8
    spy = Spy(most=4, small=small)
    made = export_plan(points, MODEL, spy.record(), {})
    first, (least, most), last = whole
    parts = [first, (least, small), (small + 1, most), last]
    assert [(one.min_bytes, one.max_bytes) for one in spy.asked] == parts
    assert [one.name for one in spy.asked][1:3] == [
        f"{name(5, 2)}-from-{least}",
        f"{name(5, 2)}-from-{small + 1}",
    ]
    assert len(made.files) == 4
    end, spy = least + 16, Spy(most=4, small=small)  # the times are known
    export_plan(
        points,
        MODEL,
        spy.record(),
        {},
        small=lambda _, sizes: [Fraction(size - end) for size in sizes],
    )
    assert [(one.min_bytes, one.max_bytes) for one in spy.asked][1:3] == [
        (least, end),
        (end + 1, most),
    ]
    assert [one.small is not None and one.max_bytes <= one.small for one in spy.asked] == [
        *(True, True, False, False)
    ]
    spy = Spy(most=4, small=4)  # no multiple of 8
    export_plan(points, MODEL, spy.record(), {})
    assert [(one.min_bytes, one.max_bytes) for one in spy.asked] == whole


def test_ranges_beyond_the_largest_message_are_left_out(points: list[StoredAlgorithm]) -> None:
    ends = [one.max_bytes for one in export_plan(points, MODEL, Spy().record(), {}).exports]
    assert ends[1] is not None
    spy = Spy(most=4, largest=ends[1])
    made = export_plan(points, MODEL, spy.record(), {})
    assert [one.max_bytes for one in made.exports] == [ends[0], None]
    ((left_out, reason),) = made.refused
    assert left_out is points[2]
    assert reason == (
        f"it is the best from {ends[1] + 1} bytes on, and the runtime takes at most {ends[1]}"
    )


def test_an_index_has_the_counts(points: list[StoredAlgorithm]) -> None:
    made = export_plan(points[:1], MODEL, Spy(most=4).record(), {})
    (needs,) = (_export(one).needs for one in made.exports)
    assert needs == NeedsRecord(1, None, None, None, None, 0.5, 8, 0, None)
    (needs,) = (
        _export(one).needs for one in export_plan(points[:1], MODEL, Spy().record(), {}).exports
    )
    assert needs is UNSET


def test_an_export_that_does_not_fit_names_a_simpler_one(points: list[StoredAlgorithm]) -> None:
    how: dict[str, Any] = {"apart": True, "in_place": False, "min_bytes": 0, "max_bytes": None}
    for most, offered in ((3, "S5 fits: 5 steps, R/C = 5/2, 2 chunks"), (1, "S4 fits"), (0, None)):
        spy = Spy(most=most)
        ((one, error),) = export_each(
            spy.record(), points[2:], None, **how, options={}, others=points
        )
        assert one is points[2]
        assert str(error).startswith(f"it needs 4 thread blocks; at most {most}")
        assert offered is None or offered in str(error)
        assert offered or "fits" not in str(error)


def test_none_that_can_be_expressed(points: list[StoredAlgorithm]) -> None:
    spy = Spy(frozenset({4, 5, 7}))
    with pytest.raises(ExportError, match="none of the algorithms can be exported"):
        export_plan(points, MODEL, spy.record(), {}, skip_refused=True)


def test_exports_that_fail_their_check_are_refused(points: list[StoredAlgorithm]) -> None:
    with pytest.raises(VerificationError, match="rank 0 waits for ever"):
        export_plan(points, MODEL, Spy(wrong=True).record(), {}, skip_refused=True)


def test_two_of_one_name(points: list[StoredAlgorithm]) -> None:
    with pytest.raises(UsageError, match=r"two algorithms .* algorithms/same.txt"):
        export_plan(points, MODEL, Spy(files=("same.txt",)).record(), {})


def test_a_collective_without_one_message(
    points: list[StoredAlgorithm], monkeypatch: pytest.MonkeyPatch
) -> None:
    from syncoll.runtime import Kind, StandardCollective

    unknown = StandardCollective(Kind.CUSTOM, 5, 0, None, "for a test")
    monkeypatch.setattr("syncoll.planning.plan.kind_of", lambda _: unknown)
    with pytest.raises(UsageError, match="no single message size"):
        export_plan(points, MODEL, Spy().record(), {})
    spy = Spy()
    export_plan(points[:1], MODEL, spy.record(), {})
    assert [(one.min_bytes, one.max_bytes) for one in spy.asked] == [(0, UNLIMITED)]


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_folder_is_complete(tmp_path: Path) -> None:
    write_new_folder(tmp_path / "new", {"index": b"1", "in/side": b"2"})
    (tmp_path / "empty").mkdir()
    write_new_folder(tmp_path / "empty", {"index": b"1"})
    assert left(tmp_path) == ["empty", "empty/index", "new", "new/in", "new/in/side", "new/index"]
    assert (tmp_path / "new" / "in" / "side").read_bytes() == b"2"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(number: int) -> Callable[[int], None]:
        def fsync(_: int) -> None:
            nonlocal number
            number -= 1
            if number == 0:
                raise error

        return fsync

    (tmp_path / "there").mkdir()
    for name in ("new", "there"):
        monkeypatch.setattr("os.fsync", fail(2))
        expected = UsageError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            write_new_folder(tmp_path / name, {"a": b"1", "b": b"2", "c": b"3"})
    assert left(tmp_path) == ["there"]


def test_existing_files_stay(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "old").write_text("old")
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    for name, complaint in [
        ("full", "not empty"),
        ("file", "not a folder"),
        ("link", "not a folder"),
        ("no/new", "create it first"),
        ("x" * 300, "cannot write"),
        ("\0", "cannot write"),
    ]:
        with pytest.raises(UsageError, match=complaint):
            write_new_folder(tmp_path / name, {"a": b"1"})
    with pytest.raises(UsageError, match="not empty"):
        require_new_folder(tmp_path / "full")
    assert left(tmp_path) == ["file", "full", "full/old", "link"]
