"""docs/certificates.md suffices: syncoll_check, written from it, agrees with `syncoll check`."""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main
from syncoll.documents import evidence, load_text, node_set, written_problem
from syncoll.documents.stored_forest import read_forests
from syncoll.errors import SyncollError
from syncoll.model import orbit_algorithm
from syncoll.trust.claims import check_claims
from syncoll_check import FileError, WrongError, check
from syncoll_check.__main__ import main as checker_main
from syncoll_check.certificates import Certificate
from syncoll_check.frontier import digest
from syncoll_check.layout import NEWEST, read
from syncoll_check.machine import Machine, Shape

from .conftest import ROOT, Block, blocks
from .mutations import mutated

Json = dict[str, Any]
Change = Callable[[Json], object]

PAGE = ROOT / "docs" / "certificates.md"
EXAMPLES = [block for block in blocks(PAGE) if block.language == "json"]

SPECS = """
topology lop {
    nodes 4
    link (0, 1) bandwidth 2  link (1, 2) bandwidth 2  link (2, 3) bandwidth 2
    link (3, 0) bandwidth 2  link (2, 0) bandwidth 1  link (0, 2) bandwidth 1
}
topology slopes {
    nodes 3
    rounds per 1/4
    link (0, 1) bandwidth 4/3  link (1, 2) bandwidth 2
    link (2, 0) bandwidth 1/2  link (1, 0) bandwidth 1
}
topology pairs {
    nodes 6
    link (a, b) for a in nodes, b in nodes if a != b
    shared { (0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4) } bandwidth 24
    shared { (a, b) for a in nodes, b in nodes if a div 2 != b div 2 } bandwidth 6
}
collective pair { chunks C  pre Root(0)  post { (c, n) : n == 0 or n == 1 } }
collective both = reduce then pair
"""

COMMANDS = {
    "dgx1 allgather": "--backend multitree",
    "hypercube(3) broadcast": "--backend pysat --max-steps 3",
    "bus(3) allreduce": "--backend pysat --max-chunks 2",
    "slopes broadcast": "--backend pysat --max-steps 2 --max-chunks 2",
    "slopes reducescatter": "--backend ring",
    "slopes allreduce": "--max-chunks 3 --max-steps 3",
    "hub(4) reduce": "--backend pysat --max-chunks 2 --max-steps 2",
    "ring(5) reducescatter": "--backend ring",
    "hub(3) allgather": "--backend all_pairs",
    "nvl72(3,true) broadcast": "--backend pysat --max-steps 2 --max-chunks 2",
    "bus(3) alltoall": "--backend all_pairs",
    "lop both": "--backend pysat --max-steps 3 --max-chunks 3",
    "ring(6) broadcast": "--backend pysat --k 0 --max-chunks 5",
    "ring(1) allgather": "--backend pysat",
    "line(3) allreduce": "--backend ring --max-steps 3",
    "line(3) broadcast": "--backend pipelines --backend-option steps=3",
    "line(4) reduce": "--backend pipelines --backend-option steps=3",
}
"""Frontiers by topology and collective, with the options of the search."""

BOUNDS = {
    "ring(3) allreduce": "",
    "ring(5) allreduce": "--max-steps 3",
    "hypercube(3) allreduce": "--max-steps 4",
    "nvl72(3,true) allreduce": "--max-steps 2",
    "pairs allreduce": "--max-steps 5",
    "line(3) allreduce+alltoall": "",
    "ring(4) allreduce+alltoall": "",
}
"""Files of bounds alone."""

EARLIER = ("odd", "gap")
"""Frontiers of irregular collectives, from an earlier version that searched several C each."""

METHODS = {
    *("prices", "trees", "cut", "sends", "completions", "gossip", "boxes", "switches", "nothing")
}

LARGE = ("ring(17) allgather", "ring(17) reducescatter")
"""Frontiers written as if they were large: with carriers, and runs of nodes."""

RUNS = ("ring(3) alltoallv([[0,9,4],[2,0,7],[8,3,0]])",)
"""Frontiers with runs of chunks, which otherwise only large ones have."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Frontiers as the command line writes them."""
    folder = tmp_path_factory.mktemp("frontiers")
    specs = folder / "specs.syncoll"
    specs.write_text(SPECS, encoding="utf-8")
    made = {}

    def words(name: str) -> list[str]:
        own = re.findall(r"^(?:topology|collective) (\w+)", SPECS, re.MULTILINE)
        return [f"{specs}:{word}" if word in own else word for word in name.split()]

    for name, options in COMMANDS.items():
        path = folder / "frontier.json"
        limits = ["--work", "0.5", *options.split()]
        assert main(["pareto", *words(name), *limits, "-o", str(path)]) in (0, 3)
        made[name] = json.loads(path.read_text("utf-8"))
    for name in EARLIER:
        file = Path(__file__).parent / "earlier" / f"{name}.json"
        made[f"line(3) {name}"] = json.loads(file.read_text("utf-8"))
    for name, options in BOUNDS.items():
        assert main(["bounds", *words(name), *options.split(), "-o", str(path)]) == 0
        made[name] = json.loads(path.read_text("utf-8"))
    with pytest.MonkeyPatch.context() as patch:  # features that only large machines have
        patch.setattr(orbit_algorithm, "MOST_PLAIN", 0)
        for module in (node_set, evidence):
            patch.setattr(module, "MOST_LISTED_NODES", 0)
        for name in LARGE:
            assert main(["pareto", *name.split(), "--backend", "bfb", "-o", str(path)]) == 0
            made[name] = json.loads(path.read_text("utf-8"))
        patch.setattr(written_problem, "_MOST_LISTED", 0)
        for name in RUNS:
            assert main(["pareto", *name.split(), "--work", "0.5", "-o", str(path)]) == 0
            made[name] = json.loads(path.read_text("utf-8"))
            assert made[name]["schema"] in ("syncoll/frontier/5", "syncoll/frontier/7")
    return made


@pytest.fixture
def document(documents: dict[str, Json]) -> Callable[[str], Json]:
    """A fresh copy."""
    return lambda name: copy.deepcopy(documents[name])


def ours(content: Json) -> set[str] | None:
    """The claims that syncoll leaves unchecked; None for a file that it refuses."""
    try:
        checked = check_claims(load_text(json.dumps(content), "some.json").claims())
    except SyncollError:
        return None
    return {one.kind for one in checked.unchecked}


def accepted(content: Json) -> set[str]:
    return {kind for kind, _ in check(json.dumps(content).encode()).unchecked()}


def independent(content: Json) -> set[str] | None:
    try:
        return accepted(content)
    except (FileError, WrongError):
        return None


def test_the_checker_imports_the_standard_library_alone() -> None:
    for file in (ROOT / "syncoll_check").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert {one.name for one in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module is not None
                assert node.module.partition(".")[0] in sys.stdlib_module_names


# Accepted files -----------------------------------------------------------------------------------


def test_it_accepts_files_of_searches(documents: dict[str, Json]) -> None:
    left = {name: accepted(content) for name, content in documents.items()}
    assert left == {name: ours(content) for name, content in documents.items()}
    assert left["line(3) odd"] == {"shapes"}
    assert left["line(3) gap"] >= {"undefined"}
    assert left["hub(4) reduce"] == {"scales", "refutations"}


def test_it_accepts_files_of_older_versions(document: Callable[[str], Json]) -> None:
    content = document("line(3) odd")
    del content["bounds"]["max_chunks"], content["digest"]
    assert independent(content) == ours(content) == {"shapes"}
    content = document("bus(3) allreduce")
    del content["digest"]
    proof = content["points"][0]["proof"]
    assert "1 step " in proof["words"]
    proof["words"] = proof["words"].replace("1 step ", "1 steps ")
    assert independent(content) == ours(content) == {"scales"}


def test_files_of_large_machines_have_carriers(documents: dict[str, Json]) -> None:
    for name in LARGE:
        content = documents[name]
        assert content["schema"] == "syncoll/frontier/2"
        assert all("carriers" in point["algorithm"] for point in content["points"])
        classes = content["points"][0]["chunk_classes"]
        assert [[0, 16]] in [one["pre"] for one in classes] + [one["post"] for one in classes]


def test_every_kind_of_proof_is_among_them(documents: dict[str, Json]) -> None:
    every = [one for content in documents.values() for one in content["evidence"]["certificates"]]
    assert {one["method"] for one in every} == METHODS
    assert {one["reading"] for one in every} >= {"moving", "inverse", "spread"}
    scopes, fewer_steps, several = set(), False, False
    for content in documents.values():
        several |= len(content["evidence"]["shapes"]) > 1
        certificates = content["evidence"]["certificates"]
        for steps, proof in proofs(content):
            scopes.add(proof["scope"])
            used = [certificates[i]["steps"] for i in proof["certificates"]]
            fewer_steps |= any(s is not None and s < steps for s in used)
    assert {"all", "chunks<=2", "chunks<=5 and rounds<=5"} <= scopes
    assert fewer_steps, "certificates for fewer steps than S, where R < S"
    assert several, "the least over several shapes"


COLLECT = """
{
  "shape": 0, "steps": 4, "rounds": "5/7", "reading": "collect", "node": 1, "method": "prices",
  "prices": [
    {"bound": 0, "step": 0, "price": "1/2"}, {"bound": 0, "step": 1, "price": "2/7"},
    {"bound": 3, "step": 2, "price": "1/7"}, {"bound": 3, "step": 3, "price": "3/7"},
    {"bound": 5, "step": 1, "price": "3/14"}, {"bound": 5, "step": 2, "price": "3/7"},
    {"bound": 5, "step": 3, "price": "2/7"}
  ],
  "shares": [
    {"destination": 2, "demands": [0], "prices": [[0, 2, "1/7"], [0, 3, "3/7"], [1, 2, "1/7"],
                                                  [2, 0, "3/7"], [2, 1, "2/7"]]},
    {"destination": 3, "demands": [0], "prices": [[1, 1, "3/14"], [1, 2, "2/7"], [1, 3, "2/7"],
                                                  [2, 0, "1/14"]]}
  ]
}
"""
"""On `lop`; a search prefers one that is as good and prices the contributions of a node."""


@pytest.mark.parametrize(
    "change", [{}, {"rounds": "6/7"}, {"reading": "spread"}, {"node": 0}], ids=str
)
def test_a_certificate_on_the_reversed_machine(
    change: Json, document: Callable[[str], Json]
) -> None:
    content = document("lop both")
    del content["digest"]
    certificates = content["evidence"]["certificates"]
    certificates.append({**json.loads(COLLECT), **change})
    assert independent(content) is ours(content) is None, "a certificate that no claim names"
    proof = content["points"][-1]["proof"]
    proof["certificates"].append(len(certificates) - 1)
    proof["method"] = "prices"  # no longer of one kind
    verdict = {"scales"} if not change else None
    assert independent(content) == ours(content) == verdict


def proofs(content: Json) -> Iterator[tuple[int, Json]]:
    for one in [*content["points"], *content["between"]]:
        yield one["steps"], one["proof"]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"line {block.line}")
def test_an_example_is_as_in_a_file(block: Block, documents: dict[str, Json]) -> None:
    """Certificates hold for the machine and the shape; everything else stands in the file."""
    shown = json.loads(block.text)
    kind, name, *path = block.mark.split(": ")
    content = documents[name]
    if kind == "certificate":
        content = read(content, "frontier", NEWEST["frontier"])
        machine = Machine.read(content)
        shapes = [Shape(one, machine) for one in content["evidence"]["shapes"]]
        certificate = read(shown, "certificate", NEWEST["frontier"])
        Certificate(certificate, machine, shapes)
        for rounds in (Fraction(shown["rounds"]) * 2 + 1, Fraction(shown["rounds"]) / 2):
            if str(rounds) != shown["rounds"]:
                with pytest.raises(WrongError):
                    Certificate({**certificate, "rounds": rounds}, machine, shapes)
        return
    assert kind == "excerpt"
    for key in path[0].replace("[", ".").replace("]", "").split(".") if path else []:
        content = content[int(key)] if key.isdigit() else content[key]  # type: ignore[index]
    assert contains(content, shown)


def contains(value: Any, part: Any) -> bool:
    """Whether objects have at least these entries; which solver was first is not compared."""
    if isinstance(part, dict):
        shown = {key: one for key, one in part.items() if key not in ("encoding", "backend")}
        return all(key in value and contains(value[key], one) for key, one in shown.items())
    if isinstance(part, list):
        return len(value) == len(part) and all(map(contains, value, part))
    return bool(value == part)


# Refused files ------------------------------------------------------------------------------------


def certificate(content: Json, method: str) -> Json:
    found: Json = next(c for c in content["evidence"]["certificates"] if c["method"] == method)
    return found


def set_bounds(content: Json, value: str) -> None:
    """A higher bound, everywhere where it is stated."""
    content["evidence"]["certificates"][0]["rounds"] = value
    content["bounds"]["bandwidth"] = value


def widen(content: Json) -> None:
    """Says of a point that is proved for C <= 2 that it is for every C."""
    proof = content["points"][1]["proof"]
    words = "no algorithm of at most 2 steps has a bandwidth cost below 3/2, "
    proof.update(scope="all", method="prices", max_chunks=None, refuted=[])
    proof["words"] = words + "whatever its chunks and rounds"


def cheaper(family: Json) -> None:
    """One chunk more in the closed form, and in the tail that it does not have."""
    family["chunks"]["base"] += 1
    family["tail"] = copy.deepcopy(family["wave"])


def stand_for_every(content: Json) -> None:
    """Keeps one of several shapes and says that it stands for every C."""
    shape = content["evidence"]["shapes"][0]
    shape.update(compared=[1, 2], scales="it does")


WRONG: dict[str, tuple[str, Change]] = {
    "a price": (
        "dgx1 allgather",
        lambda d: certificate(d, "prices")["prices"][0].update(price="1"),
    ),
    "a share": ("dgx1 allgather", lambda d: certificate(d, "prices")["shares"].clear()),
    "a share for node 100": (
        "bus(3) alltoall",
        lambda d: certificate(d, "prices")["shares"].append(
            {"destination": 100, "demands": [], "prices": []}
        ),
    ),
    "a tree's price": (
        "hypercube(3) broadcast",
        lambda d: certificate(d, "trees")["prices"][0].update(price="1/4"),
    ),
    "a part": ("bus(3) allreduce", lambda d: certificate(d, "sends").update(parts=[0, 0, 1])),
    "an automorphism": (
        "ring(5) allreduce",
        lambda d: certificate(d, "completions").update(automorphisms=[[0, 2, 1, 3, 4]]),
    ),
    "a case": ("ring(5) allreduce", lambda d: certificate(d, "completions")["cases"].pop()),
    "a way": (
        "ring(5) allreduce",
        lambda d: certificate(d, "completions")["cases"][0]["collects"].pop(),
    ),
    "a share of a tree": (
        "hypercube(3) allreduce",
        lambda d: certificate(d, "gossip")["trees"][0]["prices"][0].__setitem__(2, "1/12"),
    ),
    "a tree's node": (
        "hypercube(3) allreduce",
        lambda d: certificate(d, "gossip")["trees"][0].update(node=1),
    ),
    "boxes of others": (
        "pairs allreduce",
        lambda d: certificate(d, "boxes").update(parts=[0, 0, 1, 2, 1, 2]),
    ),
    "boxes of no kind": ("pairs allreduce", lambda d: certificate(d, "boxes").pop("parts")),
    "a price of boxes": (
        "pairs allreduce",
        lambda d: certificate(d, "boxes")["prices"][1].update(price="1/80"),
    ),
    "trees of all": ("hypercube(3) allreduce", lambda d: certificate(d, "gossip")["trees"].pop()),
    "a price of what enters": (
        "nvl72(3,true) allreduce",
        lambda d: certificate(d, "switches")["prices"].pop(),
    ),
    "what counts copies": (
        "nvl72(3,true) allreduce",
        lambda d: d["interconnect"]["bounds"][0].pop("counts"),
    ),
    "rounds by nothing": (
        "ring(1) allgather",
        lambda d: certificate(d, "nothing").update(rounds="1"),
    ),
    "a cover": ("ring(5) reducescatter", lambda d: certificate(d, "cut")["cover"].pop()),
    "a reading": (
        "ring(5) reducescatter",
        lambda d: certificate(d, "cut").update(reading="spread", node=4),
    ),
    "a node without need": ("dgx1 allgather", lambda d: certificate(d, "cut").update(node=3)),
    "the bound raised": ("dgx1 allgather", lambda d: set_bounds(d, "9/7")),
    "best": ("dgx1 allgather", lambda d: d["points"][0]["proof"].update(best="1")),
    "low": ("lop both", lambda d: d["points"][0]["proof"].update(low="3/2")),
    "steps of a certificate": (
        "dgx1 allgather",
        lambda d: certificate(d, "prices").update(steps=3),
    ),
    "the least steps": ("dgx1 allgather", lambda d: d["bounds"].update(steps=1)),
    "the scope widened": ("hub(4) reduce", widen),
    "a refutation less": ("hub(4) reduce", lambda d: d["points"][1]["proof"]["refuted"].pop()),
    "a refutation that a point contradicts": (
        "hub(4) reduce",
        lambda d: d["points"][1]["proof"]["refuted"][0].update(rounds=4),
    ),
    "certificates of another machine": (
        "ring(6) broadcast",
        lambda d: d["interconnect"]["bounds"][0].update(chunks_per_round="3"),
    ),
    "a certificate for fewer steps left out": (
        "lop both",
        lambda d: d["points"][-1]["proof"]["certificates"].remove(2),
    ),
    "one shape for every C": ("line(3) odd", stand_for_every),
    "a shape less": ("line(3) odd", lambda d: d["evidence"]["shapes"].pop()),
    "every C": ("line(3) odd", lambda d: d["bounds"].update(max_chunks=None)),
    "an undefined C": ("line(3) gap", lambda d: d["evidence"].update(undefined=[])),
    "a C left out that is there": (
        "line(3) odd",
        lambda d: d.update(left_out=[{"chunks": 2, "reason": "no reason"}]),
    ),
    "nothing is open": ("line(3) allreduce", lambda d: d.update(open=[])),
    "a member that is not known": (
        "line(3) broadcast",
        lambda d: d["open"][-1].update(bandwidth=["1", "12/11"]),
    ),
    "more known than a member": (
        "line(4) reduce",
        lambda d: d["open"][-1].update(bandwidth=["1", "15/13"]),
    ),
    "a member that is open at last": (
        "line(3) broadcast",
        lambda d: d["open"][-1].update(steps=[14, None], bandwidth=["1", "14/13"]),
    ),
    "a cheaper family": ("line(3) broadcast", lambda d: cheaper(d["families"][0])),
    "a family that begins too soon": ("line(4) reduce", lambda d: d["families"][0].update(first=0)),
    "a family's member left out": (
        "line(3) broadcast",
        lambda d: d.update(schema="syncoll/frontier/3"),
    ),
    "a send": ("bus(3) allreduce", lambda d: d["points"][1]["algorithm"]["sends"][0].reverse()),
    "whose contribution": (
        "bus(3) allreduce",
        lambda d: d["points"][1]["algorithm"]["contributions"][0].append(2),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_both_refuse(what: str, document: Callable[[str], Json]) -> None:
    name, change = WRONG[what]
    content = document(name)
    change(content)
    assert independent(content) is None, "the digest"
    content["digest"] = digest(content)
    assert ours(content) is None
    with pytest.raises(WrongError):
        accepted(content)


def test_certificates_of_another_frontier(document: Callable[[str], Json]) -> None:
    content, other = document("dgx1 allgather"), document("ring(6) broadcast")
    content["evidence"] = other["evidence"]
    content["digest"] = digest(content)
    assert independent(content) is ours(content) is None


FORESTS = (
    "dgx1 allgather",
    "dgx1 allreduce",
    "ring(3) reduce",
    "nvl72(3,true) broadcast",
    "nvl72(4,true) reduce",
    "nvl72(3,true) allreduce",
)


@pytest.fixture(scope="module")
def forests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    path = tmp_path_factory.mktemp("forests") / "forest.json"
    made = {}
    for name in FORESTS:
        assert main(["forest", *name.split(), "-o", str(path)]) == 0
        made[name] = json.loads(path.read_text("utf-8"))
    return made


def check_of_forest(content: Json, path: Path) -> set[str] | None:
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        return {"any roots"} if read_forests(path).any_roots else set()
    except SyncollError:
        return None


def test_forests_are_accepted(forests: dict[str, Json], tmp_path: Path) -> None:
    for name, content in forests.items():
        rest = {"any roots"} if name.endswith("allreduce") else set()
        assert accepted(content) == check_of_forest(content, tmp_path / "forest.json") == rest


FOREST_ERRORS: dict[str, Change] = {
    "a lighter tree": lambda d: d["trees"][0].update(weight=d["trees"][0]["weight"] - 1),
    "a faster forest": lambda d: d.update(algbw=str(2 * Fraction(d["algbw"])), bound="1000"),
    "a tighter bound": lambda d: d.update(bound=d["algbw"] + "1"),
    "another cut": lambda d: d.update(cut=[0, 1, 2]),
    "a cut that names a node twice": lambda d: d["cut"].append(d["cut"][0]),
    "the height": lambda d: d.update(max_height=d["max_height"] + 1),
    "an edge less": lambda d: d["trees"][0]["edges"].pop(),
    "edges in another order": lambda d: d["trees"][0]["edges"].reverse(),
    "a link that is not there": lambda d: d["network"]["links"].pop(0),
    "no network": lambda d: d.pop("network"),
    "roots of something else": lambda d: d.update(any_roots={"at_least": "1", "at_most": "1"}),
}


@pytest.mark.parametrize("what", FOREST_ERRORS)
def test_both_refuse_a_forest(what: str, forests: dict[str, Json], tmp_path: Path) -> None:
    content = copy.deepcopy(forests["dgx1 allgather"])
    FOREST_ERRORS[what](content)
    assert independent(content) is check_of_forest(content, tmp_path / "forest.json") is None


def test_both_agree_about_mutated_files(
    documents: dict[str, Json], forests: dict[str, Json], tmp_path: Path
) -> None:
    named = list((documents | forests).items())
    count = int(os.environ.get("SYNCOLL_MUTATIONS", "200"))
    accepted_files = 0
    for seed in range(count):
        choose = random.Random(seed)
        name, document = choose.choice(named)
        content = mutated(document, choose)
        if name in forests:
            verdict = check_of_forest(content, tmp_path / "forest.json")
        else:
            verdict = ours(content)
        assert independent(content) == verdict, (seed, name)
        accepted_files += verdict is not None
    assert count // 20 < accepted_files < count // 2


# The command --------------------------------------------------------------------------------------


def test_the_page_lists_the_entries() -> None:
    (listed,) = [block for block in blocks(PAGE) if block.mark == "entries"]
    assert listed.text == (ROOT / "syncoll_check" / "entries.txt").read_text("utf-8")


def test_the_command_prints_the_output_of_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = [block.text for block in blocks(PAGE) if block.mark == "checker"]
    command, _, output = shown.partition("\n")
    monkeypatch.chdir(folder)
    assert checker_main(shlex.split(command.removeprefix("$ python -m syncoll_check"))) == 0
    solver = r"(?<=word of )\w+"  # whichever was first
    printed = capsys.readouterr().out
    assert re.sub(solver, "it", printed) == re.sub(solver, "it", output)


def test_exit_codes_of_the_command(
    documents: dict[str, Json], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, wrong, other = (tmp_path / f"{name}.json" for name in ("good", "wrong", "other"))
    content = documents["hub(4) reduce"]
    good.write_text(json.dumps(content), encoding="utf-8")
    wrong.write_text(json.dumps({**content, "digest": "sha256:0"}), encoding="utf-8")
    other.write_text("{", encoding="utf-8")
    assert checker_main(["--claims", str(good)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("points[1]: an algorithm of S = 2, R/C = 2" in line for line in lines)
    assert checker_main([str(good), str(wrong)]) == 1
    assert "refused: the file was changed" in capsys.readouterr().err
    assert checker_main([str(wrong), str(other), str(tmp_path / "none.json")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    assert "not JSON" in errors[1]
    assert "No such file" in errors[2]


def test_a_large_machine_is_checked_orbit_by_orbit(tmp_path: Path) -> None:
    path = tmp_path / "torus.json"
    assert main(["pareto", "torus(16,16)", "allgather", "--backend", "bfb", "-o", str(path)]) == 0
    point = json.loads(path.read_text("utf-8"))["points"][0]
    assert len(point["algorithm"]["sends"]) < 2000
    assert {kind for kind, _ in check(path.read_bytes()).unchecked()} == {"scales"}
