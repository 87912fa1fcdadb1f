"""``--proofs`` writes files that others can check, and ``check --proofs`` only relies on them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main

Run = Callable[..., Any]

CASES = {
    "gather": ("pareto", "dgx1", "gather", "--strategy", "paper", "--k", "2"),
    "reduce": ("pareto", "hub(4)", "reduce", "--max-chunks", "2", "--max-steps", "2"),
}
"""Searches whose claims need a refutation."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case with the frontier and its proofs; not to be changed."""
    folder = tmp_path_factory.mktemp("proofs")
    for name, command in CASES.items():
        where = folder / name
        where.mkdir()
        options = ["-o", str(where / "frontier.json"), "--proofs", str(where / "proofs")]
        assert main([*command, "--seeds", "none", *options]) == 0
    return folder


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, written: Path, tmp_path: Path) -> Path:
    """A copy of one case."""
    shutil.copytree(written / request.param, tmp_path / "case")
    return tmp_path / "case"


def refutations(case: Path) -> list[Path]:
    """The documents, which name the proofs and formulas."""
    return sorted((case / "proofs").glob("*.refutation.json"))


def check(run: Run, case: Path, *more: object) -> Any:
    return run("check", case / "frontier.json", "--proofs", case / "proofs", *more)


def test_the_refutations_are_checked(case: Path, run: Run) -> None:
    files = refutations(case)
    assert files
    assert all(json.loads(path.read_text())["proof"]["file"] for path in files)
    checked = check(run, case, "--format", "json")
    assert checked.code == 0, checked.err
    assert checked.json["not_checked"] == []
    assert checked.json["refutations_checked"] == len(files)
    assert checked.json["refutations_on_word"] == []
    text = check(run, case)
    assert "checked step by step" in text.out
    assert "on the word of" not in text.out
    assert "by refutations checked here" in text.out
    without = run("check", case / "frontier.json", "--format", "json")
    assert without.code == 4
    assert {one["kind"] for one in without.json["not_checked"]} == {"refutations"}
    assert without.json["refutations_checked"] == 0
    assert len(without.json["refutations_on_word"]) == len(files)
    assert "\n  on the word of" in run("check", case / "frontier.json").out


def test_written_again_they_are_used_again(
    written: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written / "gather" / "proofs"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def never(*_: object, **__: object) -> None:
        raise AssertionError("solved once more")

    monkeypatch.setattr("syncoll.proofs.refute.to_clauses", never)
    assert run(*CASES["gather"], "--seeds", "none", "--proofs", folder).code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def refused(result: Any, *words: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("syncoll: ")
    assert len(result.err.splitlines()) == 1
    for word in words:
        assert word in result.err


def proof_of(document: Path) -> Path:
    return document.parent / str(json.loads(document.read_text())["proof"]["file"])


@pytest.mark.parametrize("how", ["last line", "empty", "flipped", "other variable"])
def test_a_tampered_proof_is_refused(how: str, case: Path, run: Run) -> None:
    for document in refutations(case):
        proof = proof_of(document)
        data = gzip.decompress(proof.read_bytes()) if proof.suffix == ".gz" else proof.read_bytes()
        lines = data.decode("ascii").splitlines()
        changed = {
            "last line": "\n".join([*lines[:-1], ""]),
            "empty": "",
            "flipped": data.decode("ascii").replace(" 0\n", " 1 0\n", 1),
            "other variable": f"{lines[0].split()[0]}1 0\n" + "\n".join(lines),
        }[how]
        whole = changed.encode("ascii")
        before = proof.read_bytes()
        proof.write_bytes(gzip.compress(whole) if proof.suffix == ".gz" else whole)
        if gzip.decompress(proof.read_bytes()) == data if proof.suffix == ".gz" else whole == data:
            continue  # an empty proof cannot be emptied
        refused(check(run, case), proof.name)
        proof.write_bytes(before)
        assert check(run, case).code == 0


@pytest.mark.parametrize("key", ["chunks", "steps", "rounds"])
def test_a_proof_of_something_else_is_refused(key: str, case: Path, run: Run) -> None:
    document = refutations(case)[0]
    content = json.loads(document.read_text())
    content[key] -= 1
    document.write_text(json.dumps(content))
    refused(check(run, case), document.name)


def test_the_proof_of_another_machine_is_refused(written: Path, run: Run, tmp_path: Path) -> None:
    """Each file is complete, but belongs to the other machine."""
    case = tmp_path / "case"
    shutil.copytree(written / "gather", case)
    (other,) = refutations(written / "reduce")[:1]
    mine = refutations(case)[0]
    shutil.copy(proof_of(other), case / "proofs")
    mine.write_bytes(other.read_bytes())
    refused(check(run, case), mine.name)


def test_missing_files_are_named(case: Path, run: Run) -> None:
    document = refutations(case)[0]
    proof = proof_of(document)
    proof.rename(case / "proof")
    refused(check(run, case), proof.name)
    (case / "proof").rename(proof)
    assert check(run, case).code == 0
    document.unlink()
    refused(check(run, case), document.name)
    shutil.rmtree(case / "proofs")
    refused(check(run, case), "--proofs: there is no folder ", "proofs")


def test_a_name_that_leads_elsewhere_is_refused(case: Path, run: Run) -> None:
    """A frontier cannot name a file outside its folder."""
    from syncoll.documents.document import digest

    document = json.loads((case / "frontier.json").read_text())
    text = json.dumps(document).replace(refutations(case)[0].name, "../outside.refutation.json")
    document = json.loads(text)
    document["digest"] = digest(document)
    (case / "frontier.json").write_text(json.dumps(document))
    shutil.copy(refutations(case)[0], case / "outside.refutation.json")
    refused(check(run, case), "../outside.refutation.json")


def test_the_folder_of_proofs_is_tried_before_the_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("pareto", "dgx1", "allgather", "--proofs", "file")
    refused(result, "--proofs file", "folder")


@pytest.mark.parametrize("names", ["auto", "cpsat+pysat", "pysat+cpsat", "highs"])
def test_backends_by_any_name_find_the_same(names: str, run: Run) -> None:
    result = run(
        *("pareto", "ring(4)", "allgather", "--strategy", "paper", "--k", "1", "--seeds", "none"),
        *("--backend", names, "--format", "json"),
    )
    assert result.code == 0, result.err
    costs = [(p["steps"], p["bandwidth"]) for p in result.json["points"]]
    assert costs == [(2, "3/2")]
    assert result.json["search"]["backend"] == names
    found = {p["backend"] for p in result.json["points"]}
    assert found <= ({"cpsat", "pysat"} if names == "auto" else set(names.split("+")))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("cpsat+glpk", ["glpk", "cpsat"]),
        ("cpsat+", ["empty"]),
        ("cpsat+cpsat", ["twice"]),
        ("cpsat+auto", ["write only auto"]),
        ("glpk", ["glpk"]),
    ],
)
@pytest.mark.parametrize("how", [(), ("--jobs", "2")])
def test_names_that_are_no_backends(
    names: str, words: list[str], how: tuple[str, ...], run: Run
) -> None:
    refused(run("pareto", "dgx1", "allgather", "--backend", names, *how), *words)
