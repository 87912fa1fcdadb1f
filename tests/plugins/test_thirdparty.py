"""A foreign backend, installed from its own folder, is found, passes the kit, and is chosen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "thirdparty" / "dpll-for-syncoll"

SCRIPT = """\
import json
from syncoll.formula import FormulaBuilder, Limits
from syncoll.lowerings import lower
from syncoll.plugins import PluginManager
from syncoll.solving import SolverProcess
from syncoll.testing import check_backend

manager = PluginManager.discover()
record = manager.backends["dpll"]

builder = FormulaBuilder()
numbers = [builder.integer(-1, 2) for _ in range(3)]
switches = builder.booleans(4)
builder.exactly(switches, 2)
builder.linear([2, -1], switches[:2], [1, 1, 1], numbers, low=4, high=5)
builder.difference(numbers[0], 1, numbers[1], enforcer=switches[3])
formula = builder.build()
lowered = lower(formula, record.features)
with SolverProcess(record) as process:
    outcome = process.solve(lowered.formula, Limits(seconds=30), {"first": "false"})
violation = formula.violation(lowered.raise_assignment(outcome.assignment))

print(json.dumps({
    "provenance": str(manager.provenance(record)),
    "backends": sorted(manager.backends),
    "verdict": outcome.verdict,
    "violation": violation,
    "failures": check_backend(record),
}))
"""

AUTO = """\
import json
from syncoll.api import PluginManager, Solver, SpecLibrary

manager = PluginManager.discover()
specs = SpecLibrary([record.folder for record in manager.spec_libraries.values()])
answers = []
with Solver(manager, head_start=600) as solver:
    for topology, collective, costs in (
        ("ring(3)", "broadcast", (1, 1, 1)),
        ("ring(3)", "broadcast", (2, 1, 1)),
        ("ring(2)", "allreduce", (1, 1, 1)),
        ("dgx1", "allgather", (1, 2, 2)),
        ("ring(4)", "allreduce", (4, 3, 3)),
    ):
        instance = specs.collective(collective).instantiate(
            specs.topology(topology), **dict(zip(("chunks", "steps", "rounds"), costs, strict=True))
        )
        solution = solver.solve(instance)
        answers.append([solution.backend, solver.prepare(instance).backend.name, solution.verdict])
print(json.dumps(answers))
"""

CLI = """\
from syncoll.cli.main import main

main(["solve", *{arguments!r}, "--format", "json"])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Runs a script in a new interpreter, after the package was installed from its folder."""
    work = tmp_path_factory.mktemp("thirdparty")
    source, target = work / "source", work / "site"
    shutil.copytree(FOLDER, source)
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", *install]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    path = os.pathsep.join([str(target), *filter(None, [os.environ.get("PYTHONPATH")])])

    def said(script: str) -> Any:
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return said


@pytest.fixture(scope="module")
def report(python: Callable[[str], Any]) -> Any:
    return python(SCRIPT)


def test_it_is_found(report: Any) -> None:
    assert "dpll" in report["backends"]
    assert report["provenance"] == "plugin dpll (dpll-for-syncoll 0.3)"


def test_it_passes_the_kit(report: Any) -> None:
    assert report["failures"] == []


def test_it_can_be_chosen(report: Any) -> None:
    assert report["verdict"] == "sat"
    assert report["violation"] is None


def test_auto_chooses_it_only_for_features_that_it_claims(python: Callable[[str], Any]) -> None:
    """It outranks all that come with syncoll; these are asked about formulas that it leaves to
    others."""
    ours = [["cpsat", "cpsat", "sat"], ["pysat", "pysat", "sat"]]
    claimed = [["dpll", "dpll", verdict] for verdict in ("sat", "unsat", "sat")]
    assert python(AUTO) == [*claimed, *ours]


@pytest.mark.parametrize(
    ("problem", "backend"),
    [("ring(3) broadcast -C 1 -S 1 -R 1", "dpll"), ("dgx1 allgather -C 1 -S 2 -R 2", "cpsat")],
)
def test_the_command_line_names_its_origin(
    python: Callable[[str], Any], problem: str, backend: str
) -> None:
    answer = python(CLI.format(arguments=problem.split()))
    assert (answer["verdict"], answer["backend"]) == ("sat", backend)
