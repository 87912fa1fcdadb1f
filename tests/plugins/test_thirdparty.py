"""A stranger's backend, installed from its own folder, is found, passes the kit, and is chosen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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
record = manager.backend("dpll")

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


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a new interpreter says after the package was installed from its folder."""
    work = tmp_path_factory.mktemp("thirdparty")
    source, target = work / "source", work / "site"
    shutil.copytree(FOLDER, source)
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", *install]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    path = os.pathsep.join([str(target), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_it_is_found(report: Any) -> None:
    assert "dpll" in report["backends"]
    assert report["provenance"] == "plugin dpll (dpll-for-syncoll 0.3)"


def test_it_passes_the_kit(report: Any) -> None:
    assert report["failures"] == []


def test_it_can_be_chosen(report: Any) -> None:
    assert report["verdict"] == "sat"
    assert report["violation"] is None
