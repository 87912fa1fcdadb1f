"""Networks have as many parameters as is published, and arrays take the cycles that they must."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.multitree.training import (
    NETWORKS,
    SOURCES,
    Layer,
    Network,
    array_cycles,
    read_network,
)


def cycle_by_cycle(rows: int, columns: int, depth: int, side: int) -> int:
    """An array that keeps its outputs in place, one fold after the other, a cycle at a time.

    Operand k of row r and of column c meet in cell (r, c) in cycle r + c + k.  When a fold's last
    cell has added its last product, its outputs leave by a row a cycle. With double buffers the
    next fold's first operands follow the last ones of this fold. They wait if the outputs of this
    fold would not be out when the next outputs leave.
    """
    folds = -(-rows // side) * -(-columns // side)
    began, out = 0, 0
    for fold in range(folds):
        if fold:
            began += max(depth, side)
        done = began
        for r in range(side):
            for c in range(side):
                done = max(done, began + r + c + depth)
        assert done >= out  # the rows of the fold before have left
        out = done + side
    return out


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(1, 1, 1), (4, 4, 9), (5, 4, 9), (9, 8, 2), (3, 13, 40)]
)
def test_cycles_equal_a_simulated_array(rows: int, columns: int, depth: int) -> None:
    assert array_cycles(rows, columns, depth, 4) == cycle_by_cycle(rows, columns, depth, 4)


def test_cycles_by_hand() -> None:
    assert array_cycles(32, 32, 100) == 100 + 2 * 32 + 32 - 2  # a fold: 2 R + C + T - 2
    assert array_cycles(33, 32, 100) == 100 + 194
    assert array_cycles(64, 64, 1) == 3 * 32 + 95  # bound by the outputs


# The published totals, and by how much biases, normalisations and rounding may move it.
PUBLISHED = {
    "alexnet": (60e6, 0.02),  # "60 million parameters" (abstract)
    "googlenet": (6.8e6, 0.03),  # the column of parameters of table 1, added up
    "ncf": (31.8e6, 0.005),  # MLPerf's model on MovieLens 20M
    "resnet50": (25.5e6, 0.005),  # Zagoruyko, Komodakis 2016, table 5: 25.6 million
    "transformer": (65e6, 0.04),  # table 3, base
    # No totals are published.  By hand: 19 blocks of two convolutions of 9 x 256 x 256, 17 planes
    # into the first one, two heads; the convolutions of VGG-16 (Simonyan, Zisserman 2015: 138
    # million with three layers, the last with 1000 outputs), the same without that one and
    # with 3 x 3 proposals, 54 and 105 outputs.
    "alphagozero": (38 * 9 * 256**2 + 9 * 17 * 256 + 256 * 3 + 722 * 362 + 361 * 256 + 256, 0),
    "fasterrcnn": (138.34e6 - 4.1e6 + 9 * 512**2 + 512 * 54 + 4096 * 105, 0.001),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_published_totals(name: str) -> None:
    total, slack = PUBLISHED[name]
    assert read_network(name, "published").parameters == pytest.approx(total, rel=slack, abs=0)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", NETWORKS)
def test_no_layer_is_worked_on_faster_than_its_products_allow(name: str, source: str) -> None:
    for layer in read_network(name, source).layers:
        assert min(layer.inputs, layer.outputs, layer.window, layer.channels, layer.filters) > 0
        if layer.kind == "lookup":
            continue
        products = layer.outputs * layer.window * layer.channels * layer.filters
        assert layer.forward_cycles >= products / 32**2
        assert layer.backward_cycles(False) >= 2 * products / 32**2
        assert layer.backward_cycles(True) >= products / 32**2


@pytest.mark.parametrize(
    ("name", "billions"), [("alexnet", 0.72), ("resnet50", 3.8), ("googlenet", 1.5)]
)
def test_products_of_an_image_equal_the_published_ones(name: str, billions: float) -> None:
    """ResNet: table 1 (3.8 billion multiplications and additions); GoogLeNet: section 5 (1.5)."""
    layers = read_network(name, "published").layers
    products = sum(x.outputs * x.window * x.channels * x.filters for x in layers)
    assert products == pytest.approx(billions * 1e9, rel=0.06)


def toy() -> Network:
    return Network("toy", tuple(Layer(str(i), 1, 1, 1, 32, 32) for i in range(3)))


def test_an_iteration_by_hand() -> None:
    network = toy()
    each = (32 + 94) / 1e9
    assert network.forward == pytest.approx(3 * each)
    # The first layer has one gradient alone; the weights' are 32 x 1 x 32, which the outputs bind.
    assert network.backward == pytest.approx(np.array([95e-9, 95e-9 + each, 95e-9 + each]))
    after = network.one_by_one(1.0)
    assert after.seconds == pytest.approx(1 + after.compute)
    assert after.communication == pytest.approx(1 / after.seconds)
    # Shorter than the layer before takes: all but the first layer's is hidden.
    small = network.layer_by_layer([50e-9] * 3)
    assert (small.overlapped, small.exposed) == pytest.approx((100e-9, 50e-9))
    # Far longer: they follow each other from the last layer's end on.
    large = network.layer_by_layer([1.0] * 3)
    assert large.seconds == pytest.approx(3 + network.forward + float(network.backward[2]))
    assert large.seconds == pytest.approx(large.compute + large.exposed)
    assert large.overlapped == pytest.approx(float(network.backward[:2].sum()))
