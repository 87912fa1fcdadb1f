"""The command line as its users meet it: in this process where that is enough, else in its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as exactly one object."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 99
        captured = capsys.readouterr()
        return Result(int(code), captured.out, captured.err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Runs a command line as a process of its own, in an empty folder."""

    def call(*arguments: object, **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "syncoll", *map(str, arguments)],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind, and some specs."""
    folder = tmp_path_factory.mktemp("files")
    for name, command in {
        "frontier.json": ["pareto", "dgx1", "allgather"],
        "sat.json": ["solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"],
        "unsat.json": ["solve", "ring(4)", "allgather", "-C", "1", "-S", "1", "-R", "1"],
    }.items():
        assert main([*command, "-o", str(folder / name)]) in (0, 1)
    (folder / "quad.syncoll").write_text(
        "# Four in a circle.\n"
        "topology quad { nodes 4  link (i, (i + 1) mod 4) for i in nodes  bandwidth 2 }\n"
    )
    (folder / "both.syncoll").write_text(
        "topology quad { nodes 4  link (i, (i + 1) mod 4) for i in nodes  bandwidth 2 }\n"
        "collective shift {\n"
        "    chunks P * C\n"
        "    pre { (c, n) : n == c mod P }\n"
        "    post { (c, n) : n == (c + 1) mod P }\n"
        "}\n"
        "search small { topology quad  collective shift  steps <= 2  chunks <= 2 }\n"
    )
    (folder / "wrong.syncoll").write_text("topology t { nodes 4  link (0, 9) bandwidth 1 }\n")
    return folder
