"""Training iterations: layers of networks, cycles of a systolic array, allreduce after or between.

``networks/`` has a table for each network and each of two sources:

- ``scale_sim``: the files in ``topologies`` of SCALE-Sim (github.com/ARM-software/SCALE-Sim), whose
  models the MultiTree paper says it ran.  Convolutions have no padding; AlexNet has no pooling and
  no fully connected layers; AlphaGo Zero has one residual block of 19; the Transformer is of one
  token, with an output projection for each head and an embedding of one number a word; embeddings
  are multiplied; three of GoogLeNet's sizes differ from its paper;
- ``published``: the networks' own papers.  AlexNet: Krizhevsky, Sutskever, Hinton 2012.  AlphaGo
  Zero: Silver et al. 2017, 20 blocks.  Faster R-CNN: Ren, He, Girshick, Sun 2015, on VGG-16, images
  of 600 x 1000, 128 regions.  GoogLeNet: Szegedy et al. 2015, table 1.  NCF: He et al. 2017, with
  the sizes of MLPerf Training 0.5 on MovieLens 20M.  ResNet-50: He, Zhang, Ren, Sun 2016, table 1.
  Transformer: Vaswani et al. 2017, the base model, for sentences of 32 tokens.

Biases and normalisations are left out, as in SCALE-Sim.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["NETWORKS", "SOURCES", "Iteration", "Layer", "Network", "array_cycles", "read_network"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NETWORKS = {
    "alexnet": "AlexNet",
    "alphagozero": "AlphaGoZero",
    "fasterrcnn": "FasterRCNN",
    "googlenet": "GoogLeNet",
    "ncf": "NCF",
    "resnet50": "ResNet50",
    "transformer": "Transformer",
}
SOURCES = ("scale_sim", "published")

SIDE = 32
"""Rows and columns of a systolic array (Table III)."""
CLOCK = 1e9
"""Cycles per second (Table III)."""
BYTES = 4
"""Of a parameter and its gradient (Table III: 32 bits)."""


@dataclass(frozen=True)
class Layer:
    """A layer, for one sample.

    Args:
        name: of the table.
        inputs: positions (pixels, tokens) that it reads; each has `channels` values.
        outputs: positions that it makes; each has `filters` values.
        window: positions of the input that one of the output is made of.
        channels: see `inputs`.
        filters: see `outputs`.
        kind: ``weights``; ``lookup`` where they are read and not multiplied; ``product`` where
            activations are multiplied.
    """

    name: str
    inputs: int
    outputs: int
    window: int
    channels: int
    filters: int
    kind: str = "weights"

    @property
    def parameters(self) -> int:
        """Weights."""
        return 0 if self.kind == "product" else self.window * self.channels * self.filters

    @property
    def forward_cycles(self) -> int:
        """Of one sample on one array."""
        if self.kind == "lookup":
            return 0
        return array_cycles(self.outputs, self.filters, self.window * self.channels)

    def backward_cycles(self, first: bool) -> int:
        """The same for both gradients; the first layer's input has no gradient.

        The input's is a transposed convolution, with zeros where the stride left positions out; the
        weights' is a product over all positions of the output.
        """
        if self.kind == "lookup":
            return 0
        weights = array_cycles(self.window * self.channels, self.filters, self.outputs)
        if first:
            return weights
        return weights + array_cycles(self.inputs, self.channels, self.window * self.filters)


def array_cycles(rows: int, columns: int, depth: int, side: int = SIDE) -> int:
    """Cycles of a matrix product on a systolic array that keeps its outputs in place.

    A fold of side x side outputs takes depth + 3 side - 2 cycles, in and out (Samajdar et al., A
    Systematic Methodology for Characterizing Scalability of DNN Accelerators using SCALE-Sim, 2020,
    equation 1).  Buffers are double (MultiTree paper, section V-A): folds follow each other after
    as many cycles as their products, or their rows of outputs, need.

    Args:
        rows: of the result.
        columns: of the result.
        depth: products that are added up for each output.
        side: of the array.
    """
    folds = -(-rows // side) * -(-columns // side)
    return (folds - 1) * max(depth, side) + depth + 3 * side - 2


@dataclass(frozen=True)
class Iteration:
    """Where the time of an iteration goes, in seconds.

    Args:
        compute: forward and backward.
        overlapped: of allreduces during computation.
        exposed: of allreduces alone.
    """

    compute: float
    overlapped: float
    exposed: float

    @property
    def seconds(self) -> float:
        """In all."""
        return self.compute + self.exposed

    @property
    def communication(self) -> float:
        """The part of it in which there is nothing but an allreduce."""
        return self.exposed / self.seconds


@dataclass(frozen=True)
class Network:
    """Layers in order; each array has one sample of the mini-batch (section V-B: 16 for 16)."""

    name: str
    layers: tuple[Layer, ...]

    @property
    def parameters(self) -> int:
        """Of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def gradient(self) -> int:
        """Bytes of all gradients."""
        return BYTES * self.parameters

    @property
    def gradients(self) -> Ints:
        """``[layers]``: bytes of each one's."""
        return np.array([BYTES * layer.parameters for layer in self.layers], dtype=np.int64)

    @property
    def forward(self) -> float:
        """Seconds."""
        return sum(layer.forward_cycles for layer in self.layers) / CLOCK

    @property
    def backward(self) -> Floats:
        """``[layers]``: seconds of each one's gradients."""
        cycles = [layer.backward_cycles(i == 0) for i, layer in enumerate(self.layers)]
        return np.array(cycles) / CLOCK

    def one_by_one(self, allreduce: float) -> Iteration:
        """All gradients are reduced when all are there.

        Args:
            allreduce: seconds for `gradient` bytes.
        """
        return Iteration(self.forward + float(self.backward.sum()), 0.0, allreduce)

    def layer_by_layer(self, allreduces: Sequence[float]) -> Iteration:
        """Each layer's gradients are queued when they are there, while others are computed.

        Args:
            allreduces: seconds for the `gradients` of each layer; nothing without gradients.
        """
        now, free, busy = self.forward, 0.0, 0.0
        backward, sizes = self.backward, self.gradients
        for i in reversed(range(len(self.layers))):
            now += float(backward[i])
            if sizes[i]:
                free = max(now, free) + allreduces[i]
                busy += allreduces[i]
        exposed = max(0.0, free - now)
        return Iteration(now, busy - exposed, exposed)


def read_network(name: str, source: str) -> Network:
    """A network's table; see the module for the two sources."""
    path = Path(__file__).parent / "networks" / source / f"{name}.csv"
    layers: list[Layer] = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            stride, padding = int(row["stride"]), int(row["padding"])
            sides, window = _sides(row["input"]), _sides(row["window"])
            outputs = [
                (side + 2 * padding - part) // stride + 1
                for side, part in zip(sides, window, strict=True)
            ]
            layer = Layer(
                row["layer"], prod(sides), prod(outputs), prod(window),
                int(row["channels"]), int(row["filters"]), row["kind"],
            )  # fmt: skip
            layers += [layer] * int(row["times"])
    return Network(NETWORKS[name], tuple(layers))


def _sides(text: str) -> list[int]:
    return [int(part) for part in text.split("x")]
