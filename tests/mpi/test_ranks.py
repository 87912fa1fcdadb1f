"""Eight ranks run many collectives on real buffers: one launch, many checks (see ranks.py)."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from syncoll.model import Algorithm, Instance
from syncoll.mpi.launcher import find_mpiexec
from syncoll.runtime import Kind, kind_of

pytest.importorskip("mpi4py", reason="the extra [mpi] is not installed")
pytestmark = pytest.mark.slow

Pair = tuple[Algorithm, Instance]


def launched(cases: list[tuple[str, Pair]], folder: Path) -> dict[str, list[str]]:
    """The errors, by the name of every check."""
    (folder / "cases").write_bytes(pickle.dumps(cases))
    script = Path(__file__).with_name("ranks.py")
    files = [str(folder / "cases"), str(folder / "results")]
    done = subprocess.run(
        [*find_mpiexec().command, "-n", "8", sys.executable, str(script), *files],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[str]] = json.loads((folder / "results").read_text())
    return found


def test_results_are_right_on_all_buffers(cases: list[tuple[str, Pair]], tmp_path: Path) -> None:
    """One test, so that workers of the test runner do not launch it twice."""
    assert {kind_of(instance).kind for _, (_, instance) in cases} == set(Kind)
    on_dgx1 = {kind_of(i).kind for name, (_, i) in cases if name.startswith("dgx1")}
    assert on_dgx1 >= {
        Kind.ALLGATHER,
        Kind.REDUCESCATTER,
        Kind.ALLREDUCE,
        Kind.ALLTOALL,
        Kind.BROADCAST,
    }
    results = launched(cases, tmp_path)
    for name, (_, instance) in cases:
        count = sum(label.startswith(f"{name} ") for label in results)
        assert count >= (4 if kind_of(instance).kind is Kind.CUSTOM else 7), name
    assert {"refusals", "spoiled"} <= set(results)
    wrong = {label: problems for label, problems in results.items() if problems}
    assert not wrong
