"""Every collective on every machine, in every library; run by hand: ``python matrix.py [LIBRARY]``.

Prints a line for each library and number of ranks, and the errors.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import syncoll_jax
import syncoll_mpi_c
import syncoll_torch
from syncoll.runtime import export_verified
from tests.modules.cases import COLLECTIVES, MACHINES, case, request
from tests.modules.test_mpi_c import compiled, ran
from tests.modules.test_torch import calls

LIBRARIES = {"torch": syncoll_torch, "jax": syncoll_jax, "mpi-c": syncoll_mpi_c}
JAX_TYPES = ("float32", "float64", "int64", "bfloat16", "float16")


def text_of(library: str, machine: str, collective: str) -> str:
    made = export_verified(LIBRARIES[library].RECORD, request(*case(machine, collective)), {})
    (content,) = made.exported.files.values()
    return content.decode()


def together(program: str, ranks: int, cases: list[Any], folder: Path) -> dict[str, list[str]]:
    """The errors of each case, all in one group of processes or devices."""
    (folder / "cases").write_bytes(pickle.dumps((ranks, cases)))
    command = [sys.executable, Path(__file__).with_name(program), folder / "cases", folder / "out"]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run(command, check=True, env=environment)
    found: dict[str, list[str]] = json.loads((folder / "out").read_text())
    return found


def errors_of(library: str, machines: list[str], ranks: int, folder: Path) -> dict[str, list[str]]:
    cases, found = [], dict[str, list[str]]()
    for machine in machines:
        for number, collective in enumerate(COLLECTIVES):
            text, name = text_of(library, machine, collective), f"{collective} on {machine}"
            if library == "mpi-c":
                done = ran(compiled(text, folder), ranks, "1100", "1")
                found[name] = [] if done.stdout.endswith("OK\n") else [done.stdout + done.stderr]
                continue
            asked: list[Any] = [one for one in calls(collective, number) if one[2] != "refused"]
            if library == "torch" and ranks != 8:
                asked = [one for one in asked if one[2] != "in place"]
            if library == "jax":
                grad = number % 2 == 0
                asked = [(7 + number, "float64" if grad else JAX_TYPES[number % 5], grad)]
            cases.append((name, text.split()[3], text, *case(machine, collective), asked))
    if library != "mpi-c":
        program = "gloo_ranks.py" if library == "torch" else "jax_devices.py"
        found = together(program, ranks, cases, folder)
    return found


def main() -> None:
    for library in sys.argv[1:] or LIBRARIES:
        for ranks in (8, 16):
            sizes = {name: make().num_nodes for name, make in MACHINES.items()}
            machines = [name for name, nodes in sizes.items() if nodes == ranks]
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                found = errors_of(library, machines, ranks, Path(folder))
            wrong = {name: errors[:2] for name, errors in found.items() if errors}
            seconds = time.perf_counter() - start
            about = f"{library}, {ranks} ranks: {len(found)} cases, {len(wrong)} wrong"
            lines = [f"{about}, {seconds:.0f} s"]
            lines += [f"  {name}: {errors}" for name, errors in wrong.items()]
            sys.stdout.write("\n".join([*lines, ""]))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
