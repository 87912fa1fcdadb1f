"""Solver libraries live together: in one process, imported in either order."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """\
import importlib
import sys
from syncoll.formula import Limits
from syncoll.plugins import PluginManager, resolve_options
from syncoll.testing import pigeonhole

manager = PluginManager.discover()
for name in sys.argv[1:]:
    record = manager.backends[name]
    options = resolve_options(record.options, {}, name)
    formula = pigeonhole(3, record.features)
    print(name, record.load().solve(formula, Limits(seconds=30), options).verdict)
"""


@pytest.mark.parametrize(
    "order",
    [
        ["highs", "cpsat", "highs"],
        ["cpsat", "highs", "cpsat"],
        ["z3", "pysat", "cpsat", "highs"],
        ["highs", "cpsat", "pysat", "z3"],
    ],
)
def test_backends_share_a_process(order: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *order],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [word for name in order for word in (name, "unsat")]
