"""The command line and the functions of `syncoll` give the same points, proofs and exports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import frontier_document

OWN = """
topology fan(n) { nodes n + 1  link (0, i) both ways for i in range(1, n + 1) bandwidth 1 }
collective shift { chunks 2 * C  pre Root(0)  post { (c, n) : n == 1 + c mod 2 } }
search small { topology fan(3)  collective shift  chunks <= 4 }
"""

SEARCHES: Mapping[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "moving": (("dgx1", "allgather"), {"max_steps": 3}),
    "rooted": (("ring(5)", "broadcast(root=2)"), {"max_chunks": 4, "work": 1}),
    "combining": (("ring(4)", "allreduce"), {"max_chunks": 4, "work": 1}),
    "an inverse": (("ring(4)", "reducescatter"), {}),
    "seeds only": (("torus(3,3)", "allgather"), {"backend": "ring"}),
    "without seeds": (("ring(6)", "allgather"), {"seeds": "none"}),
    "two at once": (("ring(4)", "gather"), {"jobs": 2}),
    "one solver": (("ring(4)", "alltoall"), {"backend": "pysat", "threads": 1}),
    "the paper's way": (("ring(4)", "allgather"), {"strategy": "paper"}),
    "a file of one's own": (("own.syncoll:fan(3)", "own.syncoll:shift"), {"max_chunks": 4}),
    "with switches": (("a100(boxes=1)", "allgather"), {"max_steps": 1}),
}


def shape(document: Mapping[str, Any]) -> object:
    """A frontier's file without the parts that differ from run to run."""
    kept = {k: v for k, v in document.items() if k not in ("seconds", "digest", "search")}
    points = [
        {k: v for k, v in point.items() if k not in ("seconds", "algorithm", "backend", "messages")}
        for point in document["points"]
    ]
    return json.loads(json.dumps({**kept, "points": points}))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.syncoll").write_text(OWN)


@pytest.mark.parametrize("name", SEARCHES)
def test_both_faces_find_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question, options = SEARCHES[name]
    flags = [
        word
        for key, value in options.items()
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    assert main(["pareto", *question, *flags, "-o", "shell.json", "--progress", "none"]) == 0
    found = syncoll.pareto(*question, **options, progress="none")
    assert found
    assert shape(frontier_document(found)) == shape(json.loads(Path("shell.json").read_text()))
    for mine, theirs in zip(found, syncoll.load("shell.json"), strict=True):  # type: ignore[arg-type]
        assert (mine.steps, mine.rounds, mine.chunks) == (
            theirs.steps,
            theirs.rounds,
            theirs.chunks,
        )


def test_a_store_serves_both_faces(tmp_path: Path) -> None:
    """Python reuses the answers of the shell's searches."""
    store = str(tmp_path / "store")
    question = ("ring(4)", "allgather", "--seeds", "none")
    assert main(["pareto", *question, "--store", store, "-o", "shell.json"]) == 0
    with syncoll.open_store(store) as kept:
        before = kept.describe()
    found = syncoll.pareto("ring(4)", "allgather", seeds="none", store=store, progress="none")
    with syncoll.open_store(store) as kept:
        assert kept.describe() == before
    saved = syncoll.load("shell.json")
    assert [p.algorithm.sends.tolist() for p in found] == [
        p.algorithm.sends.tolist()
        for p in saved  # type: ignore[union-attr]
    ]


def test_a_search_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "own.syncoll:small", "--format", "json"]) == 0
    shell = json.loads(capsys.readouterr().out)
    found = syncoll.search("own.syncoll:small", progress="none")
    assert shape(frontier_document(found)) == shape(shell)


@pytest.mark.parametrize("to", ["mscclpp", "msccl-xml", "csv"])
def test_exports_are_the_same_bytes(to: str) -> None:
    syncoll.pareto("ring(4)", "allgather", progress="none").save("f.json")
    suffix = {"mscclpp": "json", "msccl-xml": "xml", "csv": "csv"}[to]
    assert main(["export", "f.json", "--to", to, "--point", "0", "-o", f"shell.{suffix}"]) == 0
    done = syncoll.load("f.json")[0].export(to, f"python.{suffix}")  # type: ignore[index]
    assert done.files == (Path(f"python.{suffix}"),)
    assert Path(f"python.{suffix}").read_bytes() == Path(f"shell.{suffix}").read_bytes()
    assert done.export.checked.collective in repr(done)


def test_proofs_are_written_and_checked_by_both() -> None:
    found = syncoll.pareto("hub(4)", "reduce", max_chunks=2, max_steps=2, progress="none")
    found = found.prove("proofs")
    found.save("f.json")
    assert found.check(proofs="proofs").proved_by_file
    arguments = ["check", "f.json", "--collective", "reduce", "--proofs", "proofs"]
    assert main(arguments) == 0
