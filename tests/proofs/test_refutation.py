"""Refutations: written with a proof, checked without a solver, and no wrong claim passes."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.documents.document import digest
from syncoll.errors import (
    BackendError,
    FileFormatError,
    SyncollError,
    UsageError,
    VerificationError,
)
from syncoll.formula import Formula, FormulaBuilder, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.proofs import refute
from syncoll.proofs.refutation import (
    check_refutation,
    clause_lists,
    refutation_document,
    to_clauses,
)
from syncoll.proofs.refute import refute_with_proof
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.trust.drat import ProofCheck, ProofVerdict
from syncoll.wording import counted

Json = dict[str, Any]
MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])


def instance(topology: str, collective: str, chunks: int, steps: int, rounds: int) -> Instance:
    return SPECS.collective(collective).instantiate(
        SPECS.topology(topology), chunks=chunks, steps=steps, rounds=rounds
    )


QUESTIONS = [
    ("dgx1", "allgather", 2, 2, 2),
    ("dgx1", "broadcast", 6, 3, 2),
    ("dgx1", "gather", 6, 2, 6),
    ("dgx1", "reducescatter", 8, 2, 1),
    ("ring(8)", "allgather", 2, 4, 6),
    ("ring(4)", "allgather", 1, 1, 1),  # fewer steps than the distance
    ("ring(4)", "allreduce", 4, 3, 2),
]
HARD = instance("dgx1", "allgather", 6, 3, 6)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A refutation that has lemmas; not to be changed."""
    folder = tmp_path_factory.mktemp("refutations")
    done = refute_with_proof(instance("dgx1", "gather", 6, 2, 6), folder, MANAGER)
    assert done.file is not None
    return done.file


@pytest.fixture
def changed(pair: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes the refutation with another document or proof, and with hashes that fit."""

    def write(document: Json | None = None, proof: bytes | None = None) -> Path:
        own = json.loads(pair.read_text("utf-8"))
        document = copy.deepcopy(document or own)
        if proof is None:
            proof = (pair.parent / own["proof"]["file"]).read_bytes()
        else:
            document["proof"] |= {"bytes": len(proof), "sha256": hashlib.sha256(proof).hexdigest()}
        document["digest"] = digest(document)
        (tmp_path / own["proof"]["file"]).write_bytes(proof)
        path = tmp_path / "changed.refutation.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


# Writing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_written_and_checked(question: tuple[str, str, int, int, int], tmp_path: Path) -> None:
    asked = instance(*question)
    done = refute_with_proof(asked, tmp_path, MANAGER)
    assert done.file is not None, done.reason
    assert (done.checked, done.reused, done.reason) == (True, False, "")
    checked = check_refutation(
        done.file,
        MANAGER,
        topology=SPECS.topology(question[0]),
        collective=SPECS.collective(question[1]),
    )
    assert checked.proof.proved
    assert checked.encoding == ("partial" if asked.combining else "step")
    assert np.array_equal(checked.instance.pre, asked.pre)
    assert np.array_equal(checked.instance.post, asked.post)
    costs = f"no algorithm of at most {counted(question[3], 'step')} and " + counted(
        question[4], "round"
    )
    assert checked.claim.endswith(costs)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    stem = done.file.name.removesuffix(".refutation.json")
    assert all(name.startswith(stem) for name in names)


def test_the_formula_file_has_the_clauses_of_the_proof(pair: Path) -> None:
    document = json.loads(pair.read_text("utf-8"))
    text = (pair.parent / document["formula"]["file"]).read_text("ascii")
    clauses = to_clauses(MANAGER, instance("dgx1", "gather", 6, 2, 6), "step", {})
    head, *rows = text.splitlines()
    assert head == f"p cnf {document['formula']['variables']} {document['formula']['clauses']}"
    assert [list(map(int, row.split()))[:-1] for row in rows] == clauses.clauses
    assert hashlib.sha256(text.encode()).hexdigest() == document["formula"]["sha256"]


def test_a_refutation_is_made_once(tmp_path: Path) -> None:
    asked = instance("dgx1", "allgather", 2, 2, 2)
    first = refute_with_proof(asked, tmp_path, MANAGER)
    again = refute_with_proof(asked, tmp_path, MANAGER)
    assert (again.file, again.reused) == (first.file, True)
    assert first.file is not None
    other = refute_with_proof(asked, tmp_path, MANAGER, encoding_options={"symmetry": "arrival"})
    assert other.file != first.file
    # One that is broken is made again.
    proof = tmp_path / json.loads(first.file.read_text("utf-8"))["proof"]["file"]
    proof.write_bytes(b"1 0\n")
    again = refute_with_proof(asked, tmp_path, MANAGER)
    assert (again.file, again.reused) == (first.file, False)
    assert check_refutation(first.file, MANAGER).proof.proved


def test_two_searches_write_into_one_folder(tmp_path: Path) -> None:
    asked = instance("dgx1", "gather", 6, 2, 6)
    done = []

    def write(seed: int) -> None:
        done.append(refute_with_proof(asked, tmp_path, MANAGER, seed=seed))

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.file for one in done}) == 1
    assert done[0].file is not None
    assert check_refutation(done[0].file, MANAGER).proof.proved
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_large_files_are_zipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refute, "_ZIPPED_FROM", 100)
    done = refute_with_proof(instance("dgx1", "gather", 6, 2, 6), tmp_path, MANAGER)
    assert done.file is not None
    document = json.loads(done.file.read_text("utf-8"))
    proof = tmp_path / document["proof"]["file"]
    assert proof.name.endswith(".drat.gz")
    assert len(gzip.decompress(proof.read_bytes())) == document["proof"]["bytes"]
    assert document["formula"]["file"].endswith(".cnf.gz")
    assert check_refutation(done.file, MANAGER).proof.proved
    proof.write_bytes(proof.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match="cannot read"):
        check_refutation(done.file, MANAGER)
    proof.write_bytes(gzip.compress(b"0\n" * 10_000_000))
    with pytest.raises(VerificationError, match="not the proof"):
        check_refutation(done.file, MANAGER)


def test_checking_imports_no_solver(pair: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from syncoll.proofs.refutation import check_refutation\n"
        f"print(check_refutation(Path({str(pair)!r})).claim)\n"
        "solvers = {'pysat', 'pysolvers', 'ortools', 'z3', 'highspy', 'gurobipy'}\n"
        "assert not solvers & set(sys.modules), solvers & set(sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "no algorithm of at most 2 steps and 6 rounds" in result.stdout


# Reasons without a file ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"seconds": 1.0}, "time limit"), ({"largest_proof": 100_000}, "grew larger than")],
)
def test_reasons(settings: Json, reason: str, tmp_path: Path) -> None:
    done = refute_with_proof(HARD, tmp_path, MANAGER, **settings)
    assert done.file is None
    assert reason in done.reason
    assert not list(tmp_path.iterdir())


def test_an_instance_with_an_algorithm_is_not_refuted(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="found a model"):
        refute_with_proof(instance("dgx1", "allgather", 1, 2, 2), tmp_path, MANAGER)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Path) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(refute, "_size", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        refute_with_proof(HARD, tmp_path, MANAGER)
    assert "solve" in [entry.name for entry in caught.traceback]
    assert not list(tmp_path.iterdir())


def test_given_rounds_refute_nothing(tmp_path: Path) -> None:
    asked = replace(instance("dgx1", "allgather", 2, 2, 2), rounds_per_step=(1, 1))
    with pytest.raises(UsageError, match="rounds of each step are given"):
        refute_with_proof(asked, tmp_path, MANAGER)


def test_not_checked_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = ProofCheck(ProofVerdict.STOPPED)
    monkeypatch.setattr(refute, "check_rup", lambda *_, **__: stopped)
    done = refute_with_proof(instance("dgx1", "gather", 6, 2, 6), tmp_path, MANAGER)
    assert done.file is not None
    assert not done.checked
    assert "not checked in time" in done.reason
    assert check_refutation(done.file, MANAGER).proof.proved


def test_a_solver_with_wrong_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ProofCheck(ProofVerdict.NOT_PROVED, "lemma (1) does not follow", 7)
    monkeypatch.setattr(refute, "check_rup", lambda *_, **__: wrong)
    with pytest.raises(BackendError, match="line 7: lemma"):
        refute_with_proof(instance("dgx1", "gather", 6, 2, 6), tmp_path, MANAGER)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write into"):
        refute_with_proof(instance("dgx1", "gather", 6, 2, 6), tmp_path / "file", MANAGER)


# Changed files -----------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every number, text and truth value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path


def variants(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, value - 1, 0, 10**9, str(value), None]
    return [f"{value}x", "2", "0" * 64, "../x", None, 3]


def put(document: Json, path: tuple[Any, ...], value: Any) -> Json:
    result = copy.deepcopy(document)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def substance(one: Instance) -> tuple[object, ...]:
    """All that decides whether there is an algorithm."""
    bounds = sorted((bound.links, bound.chunks_per_round) for bound in one.topology.bounds)
    return (
        one.topology.num_nodes,
        one.topology.links,
        bounds,
        one.pre.tolist(),
        one.post.tolist(),
        one.steps,
        one.rounds,
        one.combining,
    )


def test_a_changed_value_is_noticed(pair: Path, tmp_path: Path) -> None:
    document = json.loads(pair.read_text("utf-8"))
    rng = random.Random(1)
    for path in rng.sample(list(leaves(document)), 100):
        broken = put(document, path, variants(document_at(document, path))[0])
        file = tmp_path / "broken.refutation.json"
        file.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(SyncollError):
            check_refutation(file, MANAGER)


def document_at(document: Json, path: tuple[Any, ...]) -> Any:
    place: Any = document
    for key in path:
        place = place[key]
    return place


@pytest.mark.slow
def test_a_forged_value_is_refused_or_changes_nothing(
    pair: Path, changed: Callable[..., Path]
) -> None:
    """All hashes of the file are made to fit."""
    document = json.loads(pair.read_text("utf-8"))
    truth = substance(instance("dgx1", "gather", 6, 2, 6))
    rng = random.Random(2)
    places = list(leaves(document))
    accepted = set()
    # Every place outside the long lists, and some of each list.
    places = [p for p in places if len(p) < 4] + rng.sample([p for p in places if len(p) > 3], 12)
    for path in places:
        for value in variants(document_at(document, path)):
            forged = put(document, path, value)
            if path[-1] in ("chunks", "rounds") and type(value) is int and value > 0:
                forged["bandwidth"] = f"{forged['rounds']}/{forged['chunks']}"
            if path[0] == "digest":
                continue
            try:
                checked = check_refutation(changed(forged), MANAGER)
            except (SyncollError, OSError):
                continue
            if substance(checked.instance) != truth:  # a node more that has no link, say
                with Solver(MANAGER, encoding="path", backend="cpsat") as solver:
                    assert solver.solve(checked.instance).verdict is Verdict.UNSAT
            assert "it calls this" in checked.claim
            accepted.add(path[0])
    # The labels: they are compared if the reader gives a topology and a collective.
    assert accepted >= {"chunks", "topology", "collective", "solver", "version"}
    assert not accepted & {"steps", "rounds", "combining", "encoding", "lowerings"}


def test_labels_are_compared_with_the_expected_ones(
    pair: Path, changed: Callable[..., Path]
) -> None:
    meant: Json = {"topology": SPECS.topology("dgx1"), "collective": SPECS.collective("gather")}
    checked = check_refutation(pair, MANAGER, **meant)
    assert checked.claim == (
        "gather on dgx1 with C = 6 has no algorithm of at most 2 steps and 6 rounds"
    )
    document = json.loads(pair.read_text("utf-8"))
    forged = changed({**document, "chunks": 3, "bandwidth": "2"})
    assert check_refutation(forged, MANAGER).instance.chunks == 3
    with pytest.raises(VerificationError, match="is not gather: with C = 3, its chunks start"):
        check_refutation(forged, MANAGER, **meant)
    with pytest.raises(VerificationError, match="links or bandwidths differ"):
        check_refutation(pair, MANAGER, topology=SPECS.topology("ring(8)"))
    with pytest.raises(VerificationError, match="is not allgather: with C = 6"):
        check_refutation(pair, MANAGER, collective=SPECS.collective("allgather"))


def test_the_proof_of_one_instance_proves_no_other(
    pair: Path, changed: Callable[..., Path]
) -> None:
    """A document that is right in all its parts, about an instance that has an algorithm."""
    own = json.loads(pair.read_text("utf-8"))
    proof = (pair.parent / own["proof"]["file"]).read_bytes()
    for question in (("dgx1", "gather", 6, 2, 12), ("dgx1", "gather", 6, 3, 7)):
        other = instance(*question)
        clauses = to_clauses(MANAGER, other, "step", {})
        document = refutation_document(other, clauses, "x", proof, own["proof"]["file"], "x.cnf")
        with pytest.raises(VerificationError, match=r"drat:\d+: not a proof: .*follows"):
            check_refutation(changed(document, proof), MANAGER)


def test_a_broken_proof_is_refused_or_proves_all_the_same(
    pair: Path, changed: Callable[..., Path]
) -> None:
    own = json.loads(pair.read_text("utf-8"))
    lines = (pair.parent / own["proof"]["file"]).read_text("ascii").splitlines()
    rng = random.Random(3)
    refused = 0
    for i in range(len(lines)):
        broken = list(lines)
        if i % 2:
            del broken[i]
        else:
            words = broken[i].removeprefix("d ").split()
            words[0] = str(rng.randint(1, own["formula"]["variables"]))
            broken[i] = " ".join(words)
        try:
            check_refutation(changed(None, "\n".join(broken).encode()), MANAGER)
        except VerificationError:
            refused += 1
    assert refused > 5
    for junk in (b"", b"\x00\xff\x80", b"a\x85\r\x00", b"0\n", b"1 2\n"):
        with pytest.raises(VerificationError, match="not a proof"):
            check_refutation(changed(None, junk), MANAGER)


def test_missing_parts_are_errors(pair: Path, changed: Callable[..., Path], tmp_path: Path) -> None:
    document = json.loads(pair.read_text("utf-8"))
    path = changed()
    assert check_refutation(path, MANAGER).proof.proved
    (tmp_path / document["proof"]["file"]).unlink()
    with pytest.raises(FileFormatError, match=r"cannot read .*drat"):
        check_refutation(path, MANAGER)
    for key in document.keys() - {"version", "combining", "digest"}:
        without = {k: v for k, v in document.items() if k != key}
        with pytest.raises(FileFormatError):
            check_refutation(changed(without), MANAGER)


def test_a_file_with_excessive_demands_is_refused_at_once(
    pair: Path, changed: Callable[..., Path]
) -> None:
    document = json.loads(pair.read_text("utf-8"))
    for key in ("steps", "rounds"):
        forged = {**document, key: 10**9}
        forged["bandwidth"] = f"{forged['rounds']}/{forged['chunks']}"
        with pytest.raises(FileFormatError, match=r"steps times rounds|too many"):
            check_refutation(changed(forged), MANAGER)


def test_only_clauses_are_written_as_clauses() -> None:
    builder = FormulaBuilder()
    a, b, c = builder.booleans(3)
    builder.clause([a, -b], c)
    formula: Formula = builder.build()
    assert clause_lists(formula) == [[1, -2, -3]]
    builder.at_most([a, b], 1)
    with pytest.raises(UsageError, match="cardinality"):
        clause_lists(builder.build())
