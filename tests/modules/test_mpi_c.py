"""C files for MPI: they compile without a warning, and run on real processes."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from syncoll.model import invert
from syncoll.runtime import Buffer, export_verified, layout_of
from syncoll.testing.instances import random_trees
from syncoll_mpi_c import RECORD
from tests.modules import oracle
from tests.modules.cases import COLLECTIVES, case, request
from tests.oracles.classics import line

BIN = Path(sys.executable).parent
MPICC, MPIEXEC = (
    shutil.which(name, path=BIN) or shutil.which(name) for name in ("mpicc", "mpiexec")
)
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99")

needs_mpi = pytest.mark.skipif(
    not (MPICC and MPIEXEC and shutil.which("cc")), reason="no mpicc, mpiexec or C compiler"
)


def compiled(text: str, folder: Path, *more: str | Path) -> Path:
    """A program from an exported file, alone or included by the one in `more`."""
    source, program = folder / "exported.c", folder / "program"
    source.write_text(text)
    arguments = more or ("-DSYNCOLL_TEST", source)
    command = [MPICC, *WARNINGS, f'-DEXPORTED="{source}"', *arguments, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # type: ignore[arg-type]
    assert not done.stderr
    return program


def ran(program: Path, ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [MPIEXEC, "-n", str(ranks), program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # type: ignore[arg-type]


def text_of(machine: str, collective: str) -> str:
    files = export_verified(RECORD, request(*case(machine, collective)), {}).exported.files
    return files["sample.c"].decode()


@needs_mpi
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_program_checks_itself(collective: str, tmp_path: Path) -> None:
    machine = ("damaged", "ring", "dgx1")[COLLECTIVES.index(collective) % 3]
    done = ran(compiled(text_of(machine, collective), tmp_path), 8, "17", "1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "OK"


@needs_mpi
def test_calls_of_an_allreduce(tmp_path: Path) -> None:
    """Errors, derived types, kept requests, in place; floats are added in the plan's order."""
    program = compiled(text_of("dgx1", "allreduce"), tmp_path, Path(__file__).with_name("calls.c"))
    done = ran(program, 8)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("does not commute", "different counts", "is negative", "for 8 ranks"):
        assert words in done.stderr
    instance, algorithm = case("dgx1", "allreduce")
    layout = layout_of(instance, in_place=False)
    sizes = oracle.lengths(layout, 37)
    starts = np.cumsum([0, *(sizes[c] for c in layout.chunks_in(Buffer.INPUT, 0))])
    inputs = {}
    for rank in range(8):
        data = np.float32(1) / (1 + rank * 7 + np.arange(37)).astype(np.float32)
        for place, chunk in enumerate(layout.chunks_in(Buffer.INPUT, rank)):
            inputs[chunk, rank] = data[starts[place] : starts[place + 1]]
    wanted = oracle.results(instance, algorithm, inputs, np.add)
    right = np.concatenate(oracle.joined(layout, 0, wanted, Buffer.OUTPUT))
    assert done.stdout.split() == [f"{bits:08x}" for bits in right.view(np.uint32)]


@needs_mpi
@pytest.mark.parametrize("root", [0, 3])
def test_a_plan_in_the_order_of_ranks_takes_any_operation(root: int, tmp_path: Path) -> None:
    """A reduce to one end of a line adds neighbours, so matrices can be multiplied."""
    end = np.array([[node == root for node in range(4)]])
    there = random_trees(random.Random(1), line(4), "x", end, np.ones_like(end))
    made = export_verified(RECORD, request(*invert(*there, "reduce")), {})
    text = made.exported.files["sample.c"].decode()
    calls = Path(__file__).with_name("calls.c")
    done = ran(compiled(text, tmp_path, "-DLINE", calls), 4)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the plan has another root" in done.stderr


@needs_mpi
def test_a_wrong_table_is_refused_at_the_first_call(tmp_path: Path) -> None:
    text = text_of("ring", "broadcast")
    start = text.index("{", text.index("MESSAGES[][7] = {") + len("MESSAGES[][7] = {"))
    less = text[:start] + text[text.index("},", start) + 2 :]
    done = ran(compiled(less, tmp_path), 8, "1", "1")
    assert done.returncode
    assert "wrong table: step" in done.stderr


@needs_mpi
@pytest.mark.parametrize("collective", ["allreduce", "alltoallv"])
def test_the_program_in_order_checks_itself(collective: str, tmp_path: Path) -> None:
    """Receives are posted early, and sums are done when a send needs them."""
    flags = ("-DSYNCOLL_TEST", "-DSYNCOLL_IN_ORDER")
    program = compiled(text_of("damaged", collective), tmp_path, *flags, tmp_path / "exported.c")
    done = ran(program, 8, "20", "1", "1", "100")
    assert done.stdout.splitlines()[-1] == "OK", done.stdout + done.stderr
