"""``syncoll run --via`` with exporters whose files run here."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import algorithm_document, write_document
from syncoll.errors import ExecutionError, UsageError
from syncoll.mpi import exported
from tests.modules.cases import case


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "groups.json"
    instance, algorithm = case("ring", "groups")
    write_document(path, algorithm_document(instance, algorithm))
    return path


def require(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"the extra [{package}] is missing")


def test_torch(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require("torch")
    size = ("--sizes", "4,1004", "--repeats", "1", "--dtype", "bfloat16")
    assert main(["run", str(stored), "--via", "torch", "-n", "8", *size, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["via"], document["ranks"], document["ok"]) == ("torch", 8, True)
    assert "Gloo" in document["library"]
    for run in document["algorithms"][0]["runs"]:
        assert run["compared_with"] == "the definition"
        assert 0 <= run["bound_used"] < 1
        assert run["seconds"]["least"] > 0


def test_jax(tmp_path: Path) -> None:
    require("jax")
    path = tmp_path / "reducescatter.json"
    instance, algorithm = case("ring", "reducescatter", 1)
    write_document(path, algorithm_document(instance, algorithm))
    (done,) = syncoll.run(path, via="jax", sizes=[1000], repeats=1)
    assert done.ok
    assert "8 CPU devices" in str(done.page())


def test_a_failed_process_is_named(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("torch")
    plain = exported.export_verified

    def spoiled(*arguments: object) -> object:
        made = plain(*arguments)  # type: ignore[arg-type]
        (name,) = made.exported.files
        head, _, sums = made.exported.files[name].partition(b"SUMS = [")
        text = head + b"SUMS = [" + sums[sums.index(b"),") + 2 :]
        made.exported.files[name] = text  # type: ignore[index]
        return made

    monkeypatch.setattr(exported, "export_verified", spoiled)
    with pytest.raises(ExecutionError, match="wrong table: step"):
        syncoll.run(stored, via="torch", sizes=[16], repeats=0)


def test_unknown_and_missing_libraries_fail(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="expected one of memory, mpi, jax, torch"):
        syncoll.run(stored, via="goal")
    monkeypatch.setattr(exported, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'syncoll\[torch\]'"):
        syncoll.run(stored, via="torch")
