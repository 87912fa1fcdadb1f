"""`syncoll check`: right files pass without a solver, changed ones do not."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.certificates import ChunkClass, ChunkClasses
from syncoll.cli.main import main
from syncoll.documents import load_text
from syncoll.documents.document import digest
from syncoll.errors import SyncollError, VerificationError
from syncoll.trust.claims import _copies, check_claims

Json = dict[str, Any]

ODD = Path(__file__).with_name("odd.syncoll")

NAMES = (
    "prices",
    "no-last-point",
    "inverse",
    "refuted",
    "limited",
    "paper",
    "combined",
    "shared",
    "cut-short",
    "seeds alone",
    "seeded",
    "in-place",
    "irregular",
)
"""The frontiers that the fixture `documents` makes."""


def check(content: Json) -> Json:
    """Reads and checks a document whose digest is made to fit; raises as the command does."""
    content = {**content, "digest": digest(content)}
    check_claims(load_text(json.dumps(content), "some.json").claims())
    return content


@pytest.mark.parametrize("name", NAMES)
def test_claims_of_a_search_are_right(name: str, document: Callable[[str], Json]) -> None:
    check(document(name))


def test_scopes(document: Callable[[str], Json]) -> None:
    scopes = {
        name: [p["proof"]["scope"] for p in document(name)["points"]]
        + [e["proof"]["scope"] for e in document(name)["between"]]
        for name in NAMES
    }
    assert scopes["prices"] == ["all", "all"]
    assert scopes["inverse"] == ["all"]
    assert scopes["refuted"] == ["all", "chunks<=2"]
    assert "chunks<=5 and rounds<=5" in scopes["limited"]
    assert scopes["cut-short"] == []
    assert document("refuted")["points"][1]["proof"]["method"] == "unsat"


def test_no_solver_is_imported(tmp_path: Path, document: Callable[[str], Json]) -> None:
    """The command runs where importing any solver fails."""
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(document("shared")), encoding="utf-8")
    script = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {{"ortools", "highspy", "pysat", "z3", "gurobipy", "scipy"}}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Blocker())
from syncoll.cli.main import main
sys.exit(main(["check", {str(path)!r}, "--collective", "alltoall"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "everything claimed holds" in done.stdout


def test_a_changed_file_is_noticed(document: Callable[[str], Json]) -> None:
    """Even if the change makes no claim wrong."""
    content = document("prices")
    content["seconds"] += 1
    with pytest.raises(VerificationError, match="digest"):
        check_claims(load_text(json.dumps(content), "some.json").claims())


# Numbers, one after the other ---------------------------------------------------------------------


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all whole numbers and rationals."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from numbers(child, (*path, key))
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield from numbers(child, (*path, i))
    elif type(value) is int:
        yield path
    elif isinstance(value, str):
        try:
            Fraction(value)
        except (ValueError, ZeroDivisionError):
            return
        yield path


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def claims(content: Json) -> Any:
    """All statements of the file about costs and their proofs."""
    stripped = copy.deepcopy(content)
    proofs = [p["proof"] for p in stripped["points"]] + [e["proof"] for e in stripped["between"]]
    for proof in proofs:
        proof.pop("certificates")
    return (
        stripped["bounds"],
        [(p["steps"], p["rounds"], p["chunks"], p["bound"]) for p in stripped["points"]],
        proofs,
        stripped["open"],
    )


FREE = ("seconds", "variables", "constraints", "search", "version")
"""Statements about the search itself, which cannot be proved afterwards."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "in-place"])
def test_every_number_of_a_claim_is_checked(name: str, document: Callable[[str], Json]) -> None:
    """Any one number changed, and the digest made to fit: refused, unless all claims stay.

    They may stay if a certificate is changed and still proves as much, or if the same costs hold on
    the changed machine.
    """
    content = document(name)
    generator = random.Random(name)
    places = [p for p in numbers(content) if not set(p) & set(FREE)]
    sends = [p for p in places if "sends" in p]
    places = [p for p in places if "sends" not in p] + generator.sample(sends, min(12, len(sends)))
    if len(places) > 30:
        places = generator.sample(places, 30)
    accepted = []
    for path in places:
        for change in (1, -1):
            mutant = copy.deepcopy(content)
            container, key = at(mutant, path[:-1]), path[-1]
            old = container[key]
            if isinstance(old, str):
                container[key] = str(
                    Fraction(old) * (Fraction(3, 2) if change > 0 else Fraction(1, 2))
                )
                if container[key] == old:
                    continue
            else:
                container[key] = old + change
            try:
                check(mutant)
            except SyncollError:
                continue
            accepted.append(path)
            in_proof = {"evidence", "interconnect", "algorithm", "nodes", "certificates"} & set(
                path
            )
            assert in_proof, f"{path}: {old} -> {container[key]}"
            if not {"interconnect", "nodes"} & set(path):
                assert claims(mutant) == claims(content), path
    assert len(accepted) < len(places) / 4


def test_a_false_claim_is_refused(document: Callable[[str], Json]) -> None:
    """A better bound, a wider scope, a forgotten limit, a missing certificate."""
    good = document("refuted")
    for what in ("scope", "refuted", "chunks", "undefined", "certificate", "evidence", "scales"):
        content = copy.deepcopy(good)
        proof = content["points"][1]["proof"]
        if what == "scope":
            proof["scope"], proof["max_chunks"] = "all", None
        elif what == "refuted":
            proof["refuted"] = []
        elif what == "chunks":
            content["evidence"]["shapes"][0]["compared"] = []
        elif what == "undefined":
            content["evidence"]["undefined"] = [1]
        elif what == "certificate":
            proof["certificates"] = []
        elif what == "evidence":
            del content["evidence"], content["between"]
            for point in content["points"]:
                del point["proof"]
        else:
            content["evidence"]["shapes"][0]["scales"] = None
        with pytest.raises(SyncollError):
            check(content)


def test_a_dominated_or_dropped_point_is_noticed(document: Callable[[str], Json]) -> None:
    content = document("no-last-point")
    del content["points"][1]
    with pytest.raises(SyncollError, match="no claim names it"):
        check(content)
    # Without its certificates, too.
    evidence = content["evidence"]
    lists = [one["proof"]["certificates"] for one in (*content["points"], *content["between"])]
    used = sorted({i for one in (*lists, evidence["bandwidth"]) for i in one})
    for one in (*lists, evidence["bandwidth"]):
        one[:] = [used.index(i) for i in one]
    evidence["certificates"] = [evidence["certificates"][i] for i in used]
    with pytest.raises(VerificationError, match="steps"):
        check(content)


# The command --------------------------------------------------------------------------------------


def test_the_command(
    tmp_path: Path, document: Callable[[str], Json], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(document("prices")), encoding="utf-8")
    assert main(["check", str(path), "--topology", "dgx1", "--collective", "allgather"]) == 0
    said = capsys.readouterr().out
    assert "no algorithm of at most 2 steps has a bandwidth cost below 3/2" in said
    assert "for every number of chunks" in said
    assert "everything claimed holds" in said
    assert "machine: dgx1" in said
    assert main(["check", str(path), "--collective", "allgather"]) == 0
    assert "machine: as the file describes it; --topology" in capsys.readouterr().out
    assert main(["check", str(path), "--format", "json", "--collective", "allgather"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [point["scope"] for point in report["points"]] == ["all", "all"]
    assert (report["fully_checked"], report["not_checked"]) == (True, [])
    assert "cuts every chunk" in report["scales"]
    assert main(["check", str(path), "--topology", "ring(8)"]) == 2
    assert "links" in capsys.readouterr().err
    assert main(["check", str(path), "--collective", "alltoall"]) == 2
    assert "is not alltoall" in capsys.readouterr().err


def test_unchecked_claims_are_listed(
    tmp_path: Path, document: Callable[[str], Json], capsys: pytest.CaptureFixture[str]
) -> None:
    """A reason for every C is the file's word; a refutation without a proof is a solver's."""
    content, path = document("prices"), tmp_path / "frontier.json"
    content["evidence"]["shapes"][0]["scales"] = "I say so"
    named = dict(content)

    def write(collective: str) -> None:
        named["collective"] = collective
        path.write_text(json.dumps({**named, "digest": digest(named)}), encoding="utf-8")

    for name in ("alltoall", "all gather", "mine"):  # another one's name, or no collective's
        write(name)
        assert main(["check", str(path)]) == 4
    said = capsys.readouterr().out
    assert "not everything was checked" in said.splitlines()[0]
    assert "--collective" in said
    assert "I say so" not in said
    assert main(["check", str(path), "--format", "json"]) == 4
    report = json.loads(capsys.readouterr().out)
    assert not report["fully_checked"]
    assert [one["kind"] for one in report["not_checked"]] == ["scales"]
    assert report["scales"] is None
    write("allgather")
    for more in ([], ["--collective", "allgather"]):
        assert main(["check", str(path), *more]) == 0
        said = capsys.readouterr().out
        assert "compared with the definition of allgather" in said
        assert "I say so" not in said
    path.write_text(json.dumps(document("refuted")), encoding="utf-8")
    assert main(["check", str(path), "--collective", "reduce"]) == 4
    assert "on the word of" in capsys.readouterr().out


def test_irregular_collectives_are_refused(
    tmp_path: Path, document: Callable[[str], Json], capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of an earlier version is checked by itself, but compared with no definition."""
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(document("irregular")), encoding="utf-8")
    assert main(["check", str(path)]) == 0  # its only C has a point
    assert main(["check", str(path), "--collective", f"{ODD}:odd"]) == 2
    assert "odd is irregular" in capsys.readouterr().err


def test_a_refutation_that_a_point_contradicts(document: Callable[[str], Json]) -> None:
    """Also with other chunks: some can be left out, and copies run in parallel."""
    good = document("refuted")
    point = good["points"][1]
    steps, rounds, chunks = point["steps"], point["rounds"], point["chunks"]
    assert point["proof"]["refuted"]
    for copies in (1, 2, 3):
        content = copy.deepcopy(good)
        one = content["points"][1]["proof"]["refuted"][0]
        one.update(steps=steps, rounds=copies * rounds, chunks=copies * chunks)
        with pytest.raises(VerificationError, match="is said to be impossible"):
            check(content)
    two, three = (
        ChunkClasses(c, (ChunkClass((0,), (0,), 1), ChunkClass((0,), (1,), c))) for c in (2, 3)
    )
    assert (_copies(two, three), _copies(three, two)) == (1, 2)
    assert _copies(ChunkClasses(1, (ChunkClass((0,), (2,), 1),)), two) is None
    assert (
        _copies(ChunkClasses(1, (ChunkClass((2,), (2,), 1), ChunkClass((0,), (1,), 5))), two) == 3
    )


def test_a_chunk_that_starts_nowhere(document: Callable[[str], Json]) -> None:
    for name in NAMES:
        content = document(name)
        for where in ("pre", "post"):
            broken = copy.deepcopy(content)
            broken["evidence"]["shapes"][0]["classes"][0][where] = []
            with pytest.raises(SyncollError):
                check(broken)


def everything(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values."""
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    for key, child in enumerate(value) if isinstance(value, list) else pairs:
        yield from everything(child, (*path, key))


VALUES = ([], {}, "", None, -1, 0, 10**9, 10**39, 1.5, True, "1/0", "0", [0, 0], [[]], [9])


@pytest.mark.parametrize("name", ["refuted", "irregular", "inverse"])
def test_every_change_ends_in_an_error_in_words(name: str, document: Callable[[str], Json]) -> None:
    """Empty lists, other types, numbers that are huge or negative, repeats and gaps."""
    content, generator = document(name), random.Random(name)
    places = [
        path
        for part in ("evidence", "between", "points", "open")
        for path in everything(content[part], (part,))
        if "sends" not in path
    ]
    refused = 0
    for path in generator.sample(places, 25):
        mutant = copy.deepcopy(content)
        container, key = at(mutant, path[:-1]), path[-1]
        if isinstance(container, list) and generator.random() < 0.3:
            container.insert(key, container[key])
        else:
            container[key] = generator.choice(VALUES)
        try:
            check(mutant)
        except SyncollError:
            refused += 1
    assert refused > 15


def test_not_a_frontier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "outcome.json"
    main(["solve", "ring(4)", "allgather", "-C", "1", "-S", "2", "-R", "2", "-o", str(path)])
    capsys.readouterr()
    assert main(["check", str(path)]) == 2
    assert "this is an outcome; check takes a frontier" in capsys.readouterr().err
