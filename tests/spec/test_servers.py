"""Servers and TPU slices, against the figures that their makers publish."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import pytest

from syncoll.model import Fabric
from syncoll.routing import as_topology, bottleneck
from syncoll.spec import SpecLibrary

from .test_errors import ask


def read(library: SpecLibrary, reference: str) -> Fabric:
    fabric = Fabric.of(library.topology(reference))
    assert fabric.measure == "GB/s"
    return fabric


def cables(*ends: tuple[int, int, int]) -> dict[tuple[int, int], int]:
    return {link: rate for a, b, rate in ends for link in ((a, b), (b, a))}


@pytest.mark.parametrize("boxes", [1, 2, 4, 32])
@pytest.mark.parametrize("rails", [True, False])
def test_dgx_h100(boxes: int, rails: bool, library: SpecLibrary) -> None:
    fabric = read(library, f"dgx_h100(boxes={boxes}{'' if rails else ', rails=false'})")
    gpus = 8 * boxes
    nvlinks = [(gpu, gpus + gpu // 8, 450) for gpu in range(gpus)]
    cards = [(gpu, gpus + boxes + (gpu % 8 if rails else 0), 50) for gpu in range(gpus)]
    leaves = (8 if rails else 1) if boxes > 1 else 0
    assert (fabric.num_nodes, fabric.num_switches) == (gpus, boxes + leaves)
    assert fabric.bandwidths == cables(*nvlinks, *(cards if boxes > 1 else ()))


def test_rails_join_only_gpus_of_the_same_place(library: SpecLibrary) -> None:
    for name in ("dgx_h100", "mi300x"):
        topology = as_topology(library.topology(f"{name}(boxes=3)"))
        assert set(topology.links) == {
            (a, b)
            for a, b in itertools.permutations(range(24), 2)
            if a // 8 == b // 8 or a % 8 == b % 8
        }


def test_nvl72(library: SpecLibrary) -> None:
    for reference, gpus in (("nvl72", 72), ("nvl72(gpus=36)", 36)):
        fabric = read(library, reference)
        assert (fabric.num_nodes, fabric.num_switches) == (gpus, 1)
        assert fabric.bandwidths == cables(*((gpu, gpus, 900) for gpu in range(gpus)))


@pytest.mark.parametrize("boxes", [1, 2, 5])
@pytest.mark.parametrize("rails", [True, False])
def test_mi300x(boxes: int, rails: bool, library: SpecLibrary) -> None:
    fabric = read(library, f"mi300x(boxes={boxes}{'' if rails else ', rails=false'})")
    gpus = 8 * boxes
    pairs = [(a, b, 64) for a, b in itertools.combinations(range(gpus), 2) if a // 8 == b // 8]
    cards = [(gpu, gpus + (gpu % 8 if rails else 0), 50) for gpu in range(gpus)]
    assert fabric.num_nodes == gpus
    assert fabric.num_switches == ((8 if rails else 1) if boxes > 1 else 0)
    assert fabric.bandwidths == cables(*pairs, *(cards if boxes > 1 else ()))
    if boxes == 1:
        into = sum(rate for (_, b), rate in fabric.bandwidths.items() if b == 0)
        assert into == 448, "what AMD says of a GPU among eight"


# Allgather is limited by the links into one GPU, or one box: (others) / GB/s for all.
ALLGATHER = {
    "dgx_h100": Fraction(8 * 450, 7),
    "dgx_h100(boxes=2)": Fraction(16 * 500, 15),
    "dgx_h100(boxes=4)": Fraction(32 * 500, 31),
    "dgx_h100(boxes=6)": Fraction(48 * 400, 40),
    "nvl72": Fraction(72 * 900, 71),
    "mi300x": Fraction(8 * 448, 7),
    "mi300x(boxes=2)": Fraction(16 * 498, 15),
    "mi300x(boxes=6)": Fraction(48 * 400, 40),
    "tpu_v4(4,4,4)": Fraction(64 * 300, 63),
    "tpu_v5p(4,4,4)": Fraction(64 * 600, 63),
    "tpu_v4(2,2,1)": Fraction(4 * 100, 3),
}


@pytest.mark.parametrize("reference", ALLGATHER)
def test_the_best_allgather(reference: str, library: SpecLibrary) -> None:
    assert bottleneck(read(library, reference)).algbw == ALLGATHER[reference]


# TPUs ---------------------------------------------------------------------------------------------

SLICES = [
    (1, 2, 4), (2, 2, 1), (2, 2, 2), (2, 2, 4), (2, 4, 4),
    (4, 4, 4), (4, 4, 8), (4, 8, 8), (8, 8, 8),
]  # fmt: skip


@pytest.mark.parametrize("sizes", SLICES)
def test_slices_of_tpus(sizes: tuple[int, int, int], library: SpecLibrary) -> None:
    chips = sizes[0] * sizes[1] * sizes[2]
    whole = all(size % 4 == 0 for size in sizes)
    grid = nx.grid_graph(sizes[::-1], periodic=whole)  # it takes the sizes reversed
    number = {place: i for i, place in enumerate(sorted(grid))}
    for name, rate in (("tpu_v4", 50), ("tpu_v5p", 100)):
        fabric = read(library, f"{name}{sizes}")
        assert (fabric.num_nodes, fabric.num_switches) == (chips, 0)
        assert fabric.bandwidths == cables(*((number[a], number[b], rate) for a, b in grid.edges))
        if whole:  # 6 links each; v5p: 1200 GB/s in both directions together
            assert sum(fabric.bandwidths.values()) == chips * 6 * rate


@pytest.mark.parametrize("sizes", [(4, 4, 8), (4, 8, 8), (8, 8, 16)])
def test_twisted_slices(sizes: tuple[int, int, int], library: SpecLibrary) -> None:
    arguments = ",".join(map(str, sizes))
    torus = as_topology(library.topology(f"twisted_torus({arguments})"))
    for name, rate in (("tpu_v4", 50), ("tpu_v5p", 100)):
        fabric = read(library, f"{name}({arguments}, twisted=true)")
        assert fabric.bandwidths == dict.fromkeys(torus.links, rate)


@pytest.mark.parametrize("name", ["a100", "dgx_h100", "mi300x"])
def test_boxes_of_different_sizes(name: str, library: SpecLibrary) -> None:
    even, listed = (read(library, f"{name}(boxes={boxes})") for boxes in ("2", "[8,8]"))
    assert (even.links, even.num_switches) == (listed.links, listed.num_switches)
    odd = as_topology(library.topology(f"{name}(boxes=[3,2])"))
    assert odd.num_nodes == 5
    across = {(a, b) for a, b in odd.links if (a < 3) != (b < 3)}
    assert across
    assert {(b, a) for a, b in across} == across
    assert {(a, b) for a in range(3) for b in range(3) if a != b} <= set(odd.links)


NAMES = {"dgx_h100", "nvl72", "mi300x", "tpu_v4", "tpu_v5p"}

WRONG = {
    "dgx_h100(boxes=0)": "at least 1 box",
    "mi300x(boxes=0)": "at least 1 box",
    "mi300x(boxes=[8,9])": "a list of sizes from 1 to 8",
    "dgx_h100(boxes=[8,[8]])": "a list of sizes from 1 to 8",
    "nvl72(gpus=73)": "1 to 72 GPUs",
    "nvl72(gpus=0)": "1 to 72 GPUs",
    "tpu_v4(0,4,4)": "sides that are multiples of 4, or a part of one 4 x 4 x 4 cube",
    "tpu_v4(2,4,8)": "sides that are multiples of 4, or a part of one 4 x 4 x 4 cube",
    "tpu_v5p(6,8,8)": "sides that are multiples of 4, or a part of one 4 x 4 x 4 cube",
    "tpu_v4(4,4,4,twisted=true)": "sides k, k and 2 * k, or k, 2 * k and 2 * k",
    "tpu_v4(1,2,2,twisted=true)": "to twist a slice of whole cubes",
    "tpu_v5p(4,4,12,twisted=true)": "sides k, k and 2 * k, or k, 2 * k and 2 * k",
    "tpu_v5p(4,8,16,twisted=true)": "sides k, k and 2 * k, or k, 2 * k and 2 * k",
    "tpu_v5p(2,2,4,twisted=true)": "to twist a slice of whole cubes",
}


@pytest.mark.parametrize("reference", WRONG)
def test_wrong_arguments(reference: str, library: SpecLibrary) -> None:
    error = ask(library, reference)
    assert WRONG[reference] in f"{error.message} {error.expected}"


def test_sixteen_boxes_under_leaves_and_spines(library: SpecLibrary) -> None:
    fabric = read(library, "leaf_spine([[8 for box in range(4)] for leaf in range(4)])")
    assert (fabric.num_nodes, fabric.num_switches) == (128, 4 + 2 + 16)
    assert len(fabric.bandwidths) == 2 * (128 + 128 + 8)
    assert {fabric.bandwidths[ends] for ends in fabric.bandwidths if min(ends) >= 128} == {400}
