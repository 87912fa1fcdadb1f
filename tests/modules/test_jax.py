"""Modules for JAX: their files, and eight devices of a CPU that run them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from syncoll.runtime import export_verified
from syncoll_jax import RECORD
from tests.modules.cases import case, request

SAMPLE = ("allgather", "reducescatter", "allreduce", "broadcast", "alltoallv", "groups")


@pytest.mark.skipif(find_spec("jax") is None, reason="the extra [jax] is missing")
def test_devices_of_a_cpu(tmp_path: Path) -> None:
    machines = ("dgx1", "damaged", "ring")
    types = ("float32", "int64", "bfloat16", "float16", "int32")
    cases = []
    for number, collective in enumerate(SAMPLE):
        solved = case(machines[number % 3], collective, 1 + (collective == "groups"))
        made = export_verified(RECORD, request(*solved), {}).exported.files["sample.py"].decode()
        calls = [(7 + number, types[number % 5], False)]
        if collective == "allreduce":
            calls = [(5, "float64", True)]
        cases.append((collective, made.split()[3], made, *solved, calls))
    (tmp_path / "cases").write_bytes(pickle.dumps((8, cases)))
    program = Path(__file__).with_name("jax_devices.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path / "cases", tmp_path / "results"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    errors = json.loads((tmp_path / "results").read_text())
    assert errors == {name: [] for name, *_ in cases}
