"""On a full disk results are printed, the error is reported once, and no file is left."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

ALPHA = ("--alpha", "0.7us", "--beta", "10GB/s")

FULL = "No space left on device"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Fills the disk: later writes fail."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, FULL)

    def fill() -> None:
        monkeypatch.setattr(os, "fsync", fail)
        monkeypatch.setattr(Path, "write_bytes", fail)

    return fill


def left(folder: Path) -> list[str]:
    """The files in a folder and its subfolders."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("pareto", "ring(4)", "allgather", "-o", "new.json"), "1 verified point"),
        (("pareto", "ring(4)", "broadcast", "--seeds", "none", "-o", "new.json"), "verified"),
        (("solve", "ring(4)", "allgather", "-C1", "-S2", "-R2", "-o", "new.json"), "sat:"),
        (("forest", "ring(4)", "-o", "new.json"), "chunks per round"),
        (("export", "kept.json", "--to", "msccl-xml", "-o", "new.xml"), ""),
        (("plan", "kept.json", "--to", "msccl-xml", "-o", "new", *ALPHA), "L; L: the data"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_full_disk_costs_no_result(
    command: tuple[str, ...], words: str, run: Run, full: Any, tmp_path: Path
) -> None:
    assert run("pareto", "ring(4)", "allgather", "-o", "kept.json").code == 0
    full()
    result = run(*command)
    assert result.code == 2
    assert words in result.out
    assert result.err.count(FULL) == 1, result.err
    assert left(tmp_path) == ["kept.json"]


def test_an_export_of_several_leaves_no_folder(run: Run, full: Any, tmp_path: Path) -> None:
    assert run("pareto", "dgx1", "allgather", "--max-chunks", "3", "-o", "kept.json").code == 0
    full()
    result = run("export", "kept.json", "--to", "msccl-xml", "-o", "exports")
    assert (result.code, result.err.count(FULL)) == (2, 1)
    assert left(tmp_path) == ["kept.json"]


def test_proofs_that_cannot_be_written_cost_no_result(run: Run, full: Any, tmp_path: Path) -> None:
    full()
    unsat = ("dgx1", "allgather", "-C", "1", "-S", "2", "-R", "1")
    result = run("solve", *unsat, "--proof", "some/where")
    assert result.out.startswith("unsat:")
    assert left(tmp_path) == []
