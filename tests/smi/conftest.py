"""Matrices as the tools print them, made from cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from syncoll.importing import import_machine
from syncoll.model import Fabric
from syncoll.plugins import Imported, ImporterRecord
from syncoll_smi import AMD_SMI, NVIDIA_SMI, ROCM_SMI


class FabricImported(NamedTuple):
    """An import whose machine is a fabric."""

    machine: Fabric
    notes: tuple[str, ...]
    names: tuple[str, ...]
    switch_names: tuple[str, ...]


class Import(Protocol):
    """Imports a text; keyword arguments are options."""

    def __call__(self, text: str, **options: str) -> FabricImported: ...


RECORDS = {record.name: record for record in (NVIDIA_SMI, ROCM_SMI, AMD_SMI)}
DUMPS = Path(__file__).parents[3] / "shared" / "reference" / "topology-dumps"


def nvidia_text(
    cells: Sequence[Sequence[str]],
    *,
    affinity: Sequence[str] = (),
    nics: Mapping[str, Sequence[str]] | None = None,
    tail: str = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID",
    legend: str = "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of #\n",
) -> str:
    """The output of ``nvidia-smi topo -m``.

    Args:
        cells: between GPUs.
        affinity: the CPUs of each GPU.
        nics: for each NIC its cells to the GPUs.
        tail: the names of the columns after the devices.
        legend: the lines after the matrix.
    """
    nics = nics or {}
    gpus = [f"GPU{g}" for g in range(len(cells))]
    lines = ["\t".join(["", *gpus, *nics, tail])]
    for g, row in enumerate(cells):
        cpus = affinity[g] if affinity else "0-63"
        shown = ["X " if cell == "X" else cell for cell in row]
        lines.append(
            "\t".join([gpus[g], *shown, *(c[g] for c in nics.values()), cpus, "0", "", "N/A"])
        )
    for name, row in nics.items():
        lines.append("\t".join([name, *row, *("X " if n == name else "SYS" for n in nics)]))
    return "\n".join(lines) + "\n" + legend


def uniform(number: int, cell: str) -> list[list[str]]:
    """The same cell between all GPUs."""
    return [["X" if a == b else cell for b in range(number)] for a in range(number)]


def bandwidths(machine: Fabric) -> dict[tuple[int, int], Fraction]:
    """Of each link."""
    return machine.bandwidths


def importing(record: ImporterRecord) -> Import:
    def call(text: str, **options: str) -> FabricImported:
        found: Imported = import_machine(record, text, "topo.txt", options)
        assert isinstance(found.machine, Fabric)
        return FabricImported(found.machine, found.notes, found.names, found.switch_names)

    return call


@pytest.fixture
def nvidia() -> Import:
    return importing(NVIDIA_SMI)


@pytest.fixture
def rocm() -> Import:
    return importing(ROCM_SMI)


@pytest.fixture
def amd() -> Import:
    return importing(AMD_SMI)
