"""PCIe as a tree: in the tree built from a matrix, the pairs meet at the levels of the matrix."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine, import_spec
from syncoll.model import Fabric
from syncoll_smi import NVIDIA_SMI

from .conftest import Import, bandwidths, nvidia_text, uniform

Machine = list[list[list[list[int]]]]
"""Sockets of host bridges of PCIe switches of GPUs."""


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Random trees; GPUs are numbered in random order."""
    shape = draw(
        st.lists(
            st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=2),
            min_size=1,
            max_size=3,
        )
    )
    total = sum(gpus for socket in shape for bridge in socket for gpus in bridge)
    order = iter(draw(st.permutations(range(total))))
    return [[[[next(order) for _ in range(k)] for k in bridge] for bridge in s] for s in shape]


def matrix(machine: Machine, rng: random.Random) -> list[list[str]]:
    where = {
        gpu: (s, b, w)
        for s, socket in enumerate(machine)
        for b, bridge in enumerate(socket)
        for w, switch in enumerate(bridge)
        for gpu in switch
    }
    total = len(where)
    cells = uniform(total, "SYS")
    for a in range(total):
        for b in range(a):
            alike = len(common(where[a], where[b]))
            cell = ("SYS", "NODE", "PXB", "PIX")[alike]
            cells[a][b] = cells[b][a] = cell
    for bridges in machine:  # PHB or NODE, the same for all pairs of a socket
        members = [gpu for bridge in bridges for switch in bridge for gpu in switch]
        cell = rng.choice(["NODE", "PHB"])
        for a in members:
            for b in members:
                if cells[a][b] in ("NODE", "PHB"):
                    cells[a][b] = cell
    return cells


def common(one: Sequence[int], other: Sequence[int]) -> list[int]:
    found = []
    for a, b in zip(one, other, strict=True):
        if a != b:
            break
        found.append(a)
    return found


@settings(max_examples=80, deadline=None)
@given(machine=machines(), seed=st.integers(0, 99))
def test_the_tree_gives_the_matrix_again(machine: Machine, seed: int) -> None:
    cells = matrix(machine, random.Random(seed))
    total = len(cells)
    if total < 2:
        return
    imported = import_machine(
        NVIDIA_SMI, nvidia_text(cells), "t", {"pcie": "16", "socket": "20", "sockets": 3}
    )
    fabric = imported.machine
    assert isinstance(fabric, Fabric)
    tree = nx.Graph(list(fabric.bandwidths))
    assert nx.is_tree(tree)
    assert fabric.is_symmetric
    names = dict(enumerate(imported.switch_names, total))
    for a in range(total):
        for b in range(a):
            path = nx.shortest_path(tree, a, b)
            kinds = [names[vertex].split(" ")[0] for vertex in path[1:-1]]
            rates = [fabric.bandwidths[x, y] for x, y in pairwise(path)]
            if cells[a][b] == "PIX":
                assert kinds == ["PCIe"]
            elif cells[a][b] == "PXB":
                assert (kinds.count("upper"), kinds.count("CPU")) == (1, 0)
            else:
                assert kinds.count("CPU") == 1 + (cells[a][b] == "SYS")
            between = [rate for rate in rates if rate == 20]
            assert len(between) == (0 if cells[a][b] != "SYS" else min(len(machine), 3) - 1)
            assert all(rate == 16 for rate in rates if rate != 20)
    assert import_spec(NVIDIA_SMI, nvidia_text(cells), "t.txt")


def test_a_socket_of_one_gpu_has_its_lanes(nvidia: Import) -> None:
    imported = nvidia(nvidia_text(uniform(2, "SYS")), pcie="16", socket="40")
    assert bandwidths(imported.machine) == {
        (0, 2): 16, (2, 0): 16, (1, 3): 16, (3, 1): 16, (2, 3): 40, (3, 2): 40,
    }  # fmt: skip
    assert imported.switch_names == ("CPU of GPU0", "CPU of GPU1")


def test_pairs_that_nvlinks_hide(nvidia: Import) -> None:
    """Two bridged pairs on two sockets: the affinity shows the levels that the cells do not."""
    cells = uniform(4, "NODE")
    cells[0][1] = cells[1][0] = cells[2][3] = cells[3][2] = "NV4"
    for a in (0, 1):
        for b in (2, 3):
            cells[a][b] = cells[b][a] = "SYS"
    expected = ("CPU of GPU0 and GPU1", "CPU of GPU2 and GPU3")
    for affinity in (["0-7", "0-7", "8-15", "8-15"], ["N/A"] * 4):
        imported = nvidia(nvidia_text(cells, affinity=affinity))
        assert imported.switch_names == expected
        assert imported.machine.bandwidths[0, 1] == 56.25
    imported = nvidia(nvidia_text(cells, affinity=["0-7", "8-15", "16-23", "24-31"]))
    assert imported.switch_names == expected  # four NUMA nodes on two sockets
    assert "The 4 NUMA nodes are assumed to be in 2 CPU sockets" in " ".join(imported.notes)
    imported = nvidia(nvidia_text(cells, affinity=["0-7", "8-15", "16-23", "24-31"]), sockets="4")
    assert len(imported.switch_names) == 5  # four CPUs, and the switch between them
    for a in (0, 1):
        for b in (2, 3):
            cells[a][b] = cells[b][a] = "PHB"
    imported = nvidia(nvidia_text(cells, affinity=["N/A"] * 4))
    assert imported.switch_names == ("CPU of GPU0 to GPU3",)


def test_pcie_is_added_to_nvlinks_on_request(nvidia: Import) -> None:
    text = nvidia_text(uniform(4, "NV4"))
    assert nvidia(text).machine.num_switches == 0
    assert nvidia(text, pcie="no").machine.num_switches == 0
    assert nvidia(text, pcie="12").machine.bandwidths[3, 4] == 12


def test_pcie_only_and_not_wanted(nvidia: Import) -> None:
    with pytest.raises(ImportFormatError, match=r"separate: GPU0 \| GPU1\n"):
        nvidia(nvidia_text(uniform(2, "PHB")), pcie="no")


def test_matrices_without_a_tree_are_errors(nvidia: Import) -> None:
    cells = uniform(3, "PIX")
    cells[0][2] = cells[2][0] = "SYS"
    with pytest.raises(ImportFormatError) as caught:
        nvidia(nvidia_text(cells))
    assert "GPU0 and GPU2 meet higher up than each of them meets others" in str(caught.value)
    assert "such as GPU1: no tree" in str(caught.value)


def test_old_drivers_say_soc_for_sys(nvidia: Import) -> None:
    cells = uniform(4, "PHB")
    cells[0][3] = cells[3][0] = "PHB"
    for a in (0, 1):
        for b in (2, 3):
            cells[a][b] = cells[b][a] = "SYS"
    soc = [[cell.replace("SYS", "SOC") for cell in row] for row in cells]
    assert nvidia(nvidia_text(soc)).machine == nvidia(nvidia_text(cells)).machine
