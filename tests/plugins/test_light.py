"""Finding every plugin imports no solver."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """\
import json, sys
from syncoll.plugins import PluginManager
manager = PluginManager.discover()
answers = {name: record.installed().ok for name, record in manager.backends.items()}
print(json.dumps([answers, sorted(sys.modules)]))
"""

SOLVERS = {"gurobipy", "highspy", "ortools", "pysat", "pysolvers", "z3"}


def test_discovery_imports_no_solver() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True
    )
    answers, modules = json.loads(run.stdout)
    assert {name for name, installed in answers.items() if installed} >= {
        "cpsat",
        "highs",
        "pysat",
        "z3",
    }
    assert not {module.partition(".")[0] for module in modules} & SOLVERS
