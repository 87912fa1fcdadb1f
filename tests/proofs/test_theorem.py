"""Frontiers as theorems: their text, and the verified checker where Coq is asked for."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import SyncollError, UsageError, VerificationError
from syncoll.proofs.theorem import COVERED, theorem_text
from syncoll.proofs.verified import proved_claims, write_theorem
from syncoll_check import FileError, WrongError, at
from syncoll_check.algorithms import Replay
from syncoll_check.certificates import Certificate
from syncoll_check.families import Family
from syncoll_check.layout import parse, read, require
from syncoll_check.machine import Machine, Shape
from tests.docs.mutations import mutated

Json = dict[str, Any]

COMMANDS = {
    "ring(3) allgather": "pareto --backend ring",
    "line(3) broadcast": "pareto --work 0.5 --max-steps 3",
    "bus(3) allreduce": "pareto --backend pysat --max-chunks 2",
    "hub(4) reduce": "pareto --backend pysat --max-chunks 2 --max-steps 2",
    "ring(5) reducescatter": "pareto --backend ring",
    "dgx1 allgather": "pareto --work 0.5",
    "ring(4) allreduce": "bounds --max-steps 3",
    "ring(4) allreduce+alltoall": "bounds",
    "dgx1 gather": "bounds --max-steps 3",
    "hypercube(3) broadcast": "bounds --max-steps 5",
    "hypercube(3) reduce": "bounds --max-steps 3",
    "hypercube(3) allreduce": "bounds --max-steps 3",
    "ring(5) allreduce": "bounds --max-steps 3",
    "ring(6) allreduce": "bounds --max-steps 4",
    "nvl72(3,true) allreduce": "pareto --backend inswitch",
    "ring(4) broadcast": "pareto --backend pipelines",
    "dgx_h100(boxes=[3,3],nvls=true) allreduce": "pareto --backend inswitch --max-steps 3",
    "dgx_h100(boxes=[3,3],nvls=true) allgather": "bounds --max-steps 3",
}
"""Files by topology and collective, and how they are made."""

LARGE = {
    "hypercube(4) broadcast": "bounds --max-steps 4",
    "torus(4,4) allreduce": "bounds --max-steps 4",
}
"""Files with trees to 15 nodes."""

MUTATED = int(os.environ.get("SYNCOLL_THEOREMS", "0"))
"""Number of mutated files; with 0 Coq is not used."""

needs_coq = pytest.mark.skipif(
    not MUTATED or shutil.which("coqc") is None or shutil.which("ocamlopt") is None,
    reason="`python -m tasks theorems` runs it, with Coq",
)


class Documents(dict[str, Json]):
    """Frontiers and bounds, made by the command line when a test asks for them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def __missing__(self, name: str) -> Json:
        verb, *options = (COMMANDS | LARGE)[name].split()
        assert main([verb, *name.split(), *options, "-o", str(self.path)]) in (0, 3)
        self[name] = json.loads(self.path.read_text("utf-8"))
        return self[name]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """All of them."""
    return Documents(tmp_path_factory.mktemp("files") / "frontier.json")


def text_of(document: Json) -> str:
    return theorem_text(json.dumps(document).encode()).text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the proofs are compiled once."""
    return tmp_path_factory.mktemp("theorem")


Judge = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def judge(folder: Path, documents: Documents) -> Judge:
    """The verified checker's verdict on a text."""
    write_theorem(folder, text_of(documents["ring(3) allgather"]), {})
    assert proved_claims(folder)

    def judged(text: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "checker"), "/dev/stdin"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    return judged


# The text -----------------------------------------------------------------------------------------

BUS = """\
syncoll-theorem 2
nodes 3 grains 1
links 6 0 1 0 2 1 0 1 2 2 0 2 1
bounds 1
sends 1 6 0 1 2 3 4 5
collective combining per 1
classes 1
1 3 0 1 2 3 0 1 2
distance 1 0 1 0 1
certificates 1
certificate sends rounds 4 parts 3 0 1 2 moved 0 one 1 prices 1 1
"""


def test_the_text_of_a_bus(documents: Documents) -> None:
    document = copy.deepcopy(documents["bus(3) allreduce"])
    evidence = document["evidence"]
    evidence["certificates"] = [one for one in evidence["certificates"] if one["method"] == "sends"]
    document["points"] = []
    assert text_of(document) == f"{BUS}points 0\nfamilies 0\nend\n"


def test_certificates_on_the_reversed_machine_are_turned(documents: Documents) -> None:
    """The nodes of a cut are the others, and its links the same."""
    document = documents["ring(5) reducescatter"]
    cut = next(one for one in document["evidence"]["certificates"] if one["method"] == "cut")
    assert cut["reading"] == "inverse"
    text = text_of(document)
    inside = sorted(set(range(5)) - set(cut["nodes"]))
    line = next(one for one in text.splitlines() if one.startswith("certificate cut"))
    assert f"inside {len(inside)} {' '.join(map(str, inside))} cover" in line


def test_one_tree_stands_for_its_images(documents: Documents) -> None:
    """A cube has 48 automorphisms, and each makes an image of the tree of node 0: a node has 6 of
    the images, and its own goes to node 0."""
    text = text_of(documents["hypercube(3) allreduce"])
    head, _, rest = text.partition("certificate trees ")[2].partition("\ntrees 1\n")
    assert head.startswith("rounds 1 steps 3 unit 144 multiple 6 prices 72 ")
    assert rest.startswith("0 0 0 9 ")
    images = [[int(word) for word in line.split()] for line in rest.splitlines()[1:49]]
    assert sorted(image[0] for image in images) == sorted([*range(8)] * 6)
    assert len({tuple(image) for image in images}) == 48
    assert all(size == 8 and goes[root] == 0 for root, size, *goes in images)


def test_claims_that_are_left_out_are_named(documents: Documents) -> None:
    document = copy.deepcopy(documents["ring(3) allgather"])
    assert theorem_text(json.dumps(document).encode()).left_out == ()
    evidence = document["evidence"]
    evidence["certificates"].append(
        {"shape": 0, "steps": 2, "rounds": "1", "reading": "moving", "node": None}
        | {"method": "switches", "prices": []}
    )
    found = theorem_text(json.dumps(document).encode())
    assert found.left_out == ("1 certificate by switches",)


def test_sends_that_a_switch_adds_up_arrive_together(documents: Documents) -> None:
    """In the first step node 1 gets the sum of a chunk from the others, and in the second step it
    sends the sum of all to them."""
    text = text_of(documents["nvl72(3,true) allreduce"])
    assert "\nbounds 6\ncopies 1 2 0 1\n" in text
    assert "\nsums 1 2 1 3\n" in text
    first, second = text.partition("point 4 5 open 2\n")[2].splitlines()[:2]
    assert first.startswith("step 3 9 ")
    (summed,) = re.findall(r" (\d) 1 2 0 1 0 2 1 2\b", first)
    assert second.startswith("step 2 6 ")
    assert f" {summed} 0 1 1 3 0 1 2 {summed} 2 1 1 3 0 1 2" in second


def test_a_refused_file_leaves_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "frontier.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="neither a frontier"):
        syncoll.theorem(path, tmp_path / "theorem")
    assert not (tmp_path / "theorem").exists()


def test_wrong_entries_have_their_place(documents: Documents) -> None:
    document = copy.deepcopy(documents["ring(3) allgather"])
    document["evidence"]["certificates"][0]["rounds"] = "x"
    with pytest.raises(VerificationError, match=r"evidence\.certificates\[0\]\.rounds: 'x'"):
        text_of(document)


def test_the_shell_writes_a_folder(
    documents: Documents,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.json").write_text(json.dumps(documents["ring(3) allgather"]), encoding="utf-8")
    assert main(["theorem", "ring.json"]) == 0
    assert "written to theorem; `make -C theorem` checks them" in capsys.readouterr().out
    for name in ("Definitions.v", "Makefile", "main.ml", "frontier.txt"):
        assert Path("theorem", name).is_file()
    before = Path("theorem", "Definitions.v").stat().st_mtime_ns
    assert main(["theorem", "ring.json", "--format", "json"]) == 0
    assert Path("theorem", "Definitions.v").stat().st_mtime_ns == before
    assert json.loads(capsys.readouterr().out)["left_out"] == []
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["theorem", "ring.json", "--check"]) == 2
    assert "apt-get install --no-install-recommends make coq" in capsys.readouterr().err


# The verified checker -----------------------------------------------------------------------------


@needs_coq
@pytest.mark.parametrize("name", COMMANDS)
def test_frontiers_are_accepted(name: str, documents: Documents, judge: Judge) -> None:
    text = theorem_text(json.dumps(documents[name]).encode())
    done = judge(text.text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f": accepted: {text.claims} claims\n")


@needs_coq
@pytest.mark.parametrize(("name", "bound"), [*zip(LARGE, ("5/6", "1"), strict=True)])
def test_trees_to_many_nodes_are_accepted(
    name: str, bound: str, documents: Documents, judge: Judge
) -> None:
    text, claim = text_of(documents[name]), f"trees rounds {bound} "
    assert text.count(claim) == 1
    assert judge(text).returncode == 0
    done = judge(text.replace(claim, "trees rounds 7/6 "))
    assert (done.returncode, done.stderr) == (1, "/dev/stdin: refused: certificate 1\n")


@needs_coq
def test_a_frontier_is_a_theorem_without_axioms(folder: Path, judge: Judge) -> None:
    assert judge("").returncode == 2
    done = subprocess.run(
        ["make", "-s", "-C", str(folder), "theorem"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("Closed under the global context\n")


@needs_coq
@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("rounds 3/2", "rounds 8/5", "refused: certificate"),
        ("point 2 3 ", "point 2 2 ", "refused: point 0"),
        ("nodes 8", "nodes x", "line 2: x; expected a number"),
        ("distance 1 0 0", "distance 1 0 2", "refused: the distance"),
        ("\nend", "", "the file ends early"),
    ],
)
def test_a_wrong_text_is_refused_with_its_place(
    old: str, new: str, error: str, documents: Documents, judge: Judge
) -> None:
    text = text_of(documents["dgx1 allgather"])
    assert old in text
    done = judge(text.replace(old, new, 1))
    assert done.returncode in (1, 2)
    assert error in done.stderr


@needs_coq
def test_clauses_are_refuted_by_hints(
    folder: Path,
    judge: Judge,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert judge("").returncode == 2
    monkeypatch.chdir(tmp_path)
    limits = ["--max-steps", "2", "--max-chunks", "2", "--proofs", "proofs"]
    assert main(["pareto", "hub(4)", "reduce", *limits, "-o", "hub.json"]) == 0
    arguments = ["theorem", "hub.json", "-o", str(folder), "--proofs", "proofs", "--check"]
    assert main(arguments) == 4
    out = capsys.readouterr().out
    assert "clauses of refuted-0.cnf have no model" in out
    assert "Assumed: an algorithm with at most 2 steps, R = 3 and C = 2 is a model" in out
    lines = (folder / "refuted-0.lrat").read_text().splitlines()
    for wrong in (lines[:-1], ["1 0 1 0"], [*lines[:-1], lines[-1].replace(" 0 ", " 0 1 ", 1)]):
        proof = tmp_path / "wrong.lrat"
        proof.write_text("\n".join([*wrong, ""]))
        command = [str(folder / "checker"), "--lrat", str(folder / "refuted-0.cnf"), str(proof)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 1


EACH_ALONE = " ".join(f"0 {b} 1 {a} 1 {a}" for a, b in permutations(range(3), 2))


@needs_coq
@pytest.mark.parametrize(
    ("arrivals", "rounds", "error"),
    [
        ("3 0 0 2 1 1 1 2 1 2 0 1 2 0 1 0 2 1 2 0 2 2 0 1 0 1 1 1", "1", "refused: point 0"),
        (f"6 {EACH_ALONE}", "1", "refused: point 0"),
        (f"6 {EACH_ALONE}", "2", ""),
    ],
)
def test_a_switch_adds_up_no_copies(
    arrivals: str, rounds: str, error: str, documents: Documents, judge: Judge
) -> None:
    """If it did, one round were enough for an allreduce."""
    text = text_of(documents["nvl72(3,true) allreduce"]).partition("points ")[0]
    point = f"points 1\npoint 1 {rounds} open 1\nstep {rounds} {arrivals}\nfamilies 0\nend\n"
    done = judge(text + point)
    assert error in done.stderr
    assert done.returncode == (1 if error else 0)


@needs_coq
@pytest.mark.parametrize(
    ("family", "error"),
    [
        ("0 0 1 3 1 2", ""),
        ("0 0 1 2 1 2", "family 0"),  # no room when each wave gets one sum and sends another
        ("0 0 1 3 1 1", "family 0"),  # no room at the end
        ("0 0 0 1 2", "family 0"),  # no interval
        ("0 0 1 3 2 2 2", "family 0"),  # the first member is shorter than its ramp
    ],
)
def test_the_rounds_of_a_family_hold_for_every_member(
    family: str, error: str, documents: Documents, judge: Judge
) -> None:
    """Waves that start in each step, after a head that is the whole first member."""
    text, whole = text_of(documents["nvl72(3,true) allreduce"]), "family 0 0 1 3 1 2"
    assert text.count(whole) == 1
    done = judge(text.replace(whole, f"family {family}"))
    assert error in done.stderr
    claim = "for every n >= 0 an algorithm with C = 1 + 3 n, S = 1 + n, R = 2 + 3 n exists"
    assert (claim in done.stdout) is (not error)


def python_accepts(content: bytes) -> bool:
    """Whether `syncoll_check` accepts the claims that are in a text."""
    try:
        document, _, version = parse(content)
        with at():
            found = read(document, "frontier", version)
            machine = Machine.read(found)
            (shape,) = [Shape(one, machine) for one in found["evidence"]["shapes"]]
            for one in found["evidence"]["certificates"]:
                require(one["shape"] == 0, "another shape")
                if one["method"] in COVERED:
                    Certificate(one, machine, [shape])
            for point in found["points"]:
                replay = Replay(point, machine)
                replay.check()
                require(replay.kinds == shape.scaled(point["chunks"]), "chunks")
                require(replay.combining is shape.combining, "combining")
                for i in point["proof"]["certificates"]:
                    found["evidence"]["certificates"][i]
            for written in found.get("families", ()):
                for key, replay in Family(written, machine).replays.items():
                    require(replay.kinds == shape.scaled(written[key]["chunks"]), "chunks")
                    require(replay.combining is shape.combining, "combining")
            if (distance := found["evidence"]["distance"]) is not None:
                start = tuple(distance["from"])
                require(shape.is_journey(start, distance["to"]), "not a journey")
                far = machine.distances(start)[distance["to"]]
                require(far == distance["steps"], "the distance")
    except (FileError, WrongError, ValueError):
        return False
    return True


@needs_coq
def test_cases_are_divided_by_sends(documents: Documents, judge: Judge) -> None:
    """A case is divided by whether a send is made: neither half may be missing."""
    document = copy.deepcopy(documents["ring(5) allreduce"])
    certificates = document["evidence"]["certificates"]
    (cases,) = [one["cases"] for one in certificates if one["method"] == "completions"]
    whole = cases.pop()
    for made in (True, False):
        cases.append(whole | {"sends": [[0, 0, made]]})
        assert python_accepts(json.dumps(document).encode()) is not made
        done = judge(text_of(document))
        assert ("a case is missing" in done.stderr, done.returncode) == (made, 2 if made else 0)


@needs_coq
def test_both_agree_about_mutated_files(documents: Documents, judge: Judge) -> None:
    """A text is accepted if and only if `syncoll_check` accepts the claims in it."""
    accepted = judged = 0
    for seed in range(MUTATED):
        choose = random.Random(seed)
        name, document = choose.choice([(name, documents[name]) for name in COMMANDS])
        keys = ("nodes", "interconnect", "evidence", "points", "families")
        parts = {key: document[key] for key in keys if key in document}
        rest = {key: value for key, value in document.items() if key not in ("digest", *parts)}
        changed = mutated(parts, choose)
        changed.pop("digest", None)
        content = json.dumps(rest | changed).encode()
        try:
            text = theorem_text(content).text
        except SyncollError:
            verdict = False
        else:
            verdict, judged = judge(text).returncode == 0, judged + 1
        assert verdict is python_accepts(content), (seed, name)
        accepted += verdict
    assert MUTATED // 20 < accepted < judged < MUTATED
