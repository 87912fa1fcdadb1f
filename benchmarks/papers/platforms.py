"""The ForestColl paper's machines: their algorithms, made anew, and models from two points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from benchmarks.papers.figure import Compared, Line, Panel, Tell
from benchmarks.papers.fitting import fit
from benchmarks.papers.schedules import (
    Raced,
    allreduce_of,
    from_trees,
    inverse,
    library_ring,
    step_trees,
)
from syncoll.documents import StoredAlgorithm
from syncoll.model import Topology
from syncoll.scheduling import StepTree
from syncoll.session import Session
from tests.oracles.forests import allgather, broadcast

__all__ = [
    *("BLINK_SEGMENTS", "SHOWN", "SIZES", "Measured", "Network", "Reason", "Platform", "Values"),
    "assemble",
]

Floats = npt.NDArray[np.float64]
SIZES = tuple(1 << bits for bits in range(20, 31))
SHOWN = {"1M": 0, "16M": 4, "128M": 7, "1G": 10}
KS = (1, 2, 4)
"""Trees for each root: with more the trees fit the links better, and need more chunks."""
SEGMENTS = (1, 2, 4, 8, 16)
"""Into which each tree's share is cut."""
BLINK_K, BLINK_SEGMENTS = 16, (1, 2, 4, 16, 64)
"""Of trees from one root, each with a part of all data."""

Values = Mapping[str, Mapping[str, Sequence[float]]]
"""The printed values by collective and algorithm: at the sizes of `SHOWN`, and the mean."""

Reason = Callable[[float, float], str]
"""Why our value differs from the paper's."""


@dataclass(frozen=True, eq=False)
class Platform:
    """A machine with the algorithms of the paper.

    Args:
        name: as the table has it.
        library: NCCL or RCCL.
        topology: two boxes of it.
        raced: by collective and algorithm, as the table names them.
        printed: the values of the table.
    """

    name: str
    library: str
    topology: Topology
    raced: Mapping[str, Mapping[str, Raced]]
    printed: Values

    def ring(self) -> Raced:
        """The library's allgather."""
        return self.raced["allgather"][f"{self.library} Ring"]


@dataclass(frozen=True)
class Network:
    """A model of a machine from two points.

    Args:
        alpha: seconds of a send.
        efficiency: the usable share of the stated bandwidths.
    """

    alpha: float
    efficiency: float

    @classmethod
    def of(cls, platform: Platform) -> Network:
        """The model with which the library's allgather takes the times at 1 MiB and 1 GiB."""
        printed, ring = platform.printed["allgather"][f"{platform.library} Ring"], platform.ring()
        points = [(SIZES[SHOWN[name]], printed[i]) for name, i in (("1M", 0), ("1G", 3))]

        def model(alpha: float, beta: float, size: int) -> float:
            return float(ring.seconds(alpha, 1 / beta, [size])[0])

        small, large = ((size, size / rate / 1e9) for size, rate in points)
        alpha, beta = fit(model, small, large)
        return cls(alpha, 1 / beta)

    @property
    def words(self) -> str:
        bandwidths = f"{100 * self.efficiency:.0f} % of the bandwidths"
        return f"alpha is {self.alpha * 1e6:.1f} us and there are {bandwidths}"


def assemble(
    tell: Tell, name: str, machine: str, library: str, printed: Values, *more: str
) -> Platform:
    """A machine with algorithms made anew.

    Args:
        more: further algorithms for allreduce, ``Blink+Switch`` or ``NCCL Tree``.
    """
    session = Session()
    topology = session.topology(machine)
    tell(f"rings on {machine}")
    ring = library_ring(session, topology)
    tell(f"forests on {machine}")
    assert topology.fabric is not None
    packed = (step_trees(allgather(topology.fabric, fixed_k=k).forest) for k in KS)
    forests = from_trees(session, topology, "allgather", packed, SEGMENTS, "forest")
    halves = {"ForestColl": forests, f"{library} Ring": [ring]}
    raced = {
        "allgather": dict(halves),
        "reducescatter": {k: [inverse(x, "reducescatter") for x in v] for k, v in halves.items()},
        "allreduce": {k: [allreduce_of(x) for x in v] for k, v in halves.items()},
    }
    if "Blink+Switch" in more:
        tell(f"trees of one root on {machine}")
        single = [step_trees(broadcast(topology.fabric, 0, fixed_k=BLINK_K).forest)]
        trees = from_trees(session, topology, "broadcast", single, BLINK_SEGMENTS, "broadcast")
        raced["allreduce"]["Blink+Switch"] = [allreduce_of(one, "reduce") for one in trees]
    if "NCCL Tree" in more:
        tell(f"chains on {machine}")
        chains = box_chains(session, topology)
        raced["allreduce"]["NCCL Tree"] = [allreduce_of(one) for one in chains]
    listed = {c: {k: Raced(v) for k, v in found.items()} for c, found in raced.items()}
    return Platform(name, library, topology, listed, printed)


def box_chains(session: Session, topology: Topology, gpus: int = 8) -> list[StoredAlgorithm]:
    """NCCL's trees on two boxes, as an allgather: chains in boxes, joined where they begin.

    Channel i begins at GPU i of each box and goes on round the box; the two trees of a channel have
    their roots in one box and the other, and each of these 16 has as large a part of the data.
    """
    trees = []
    for root in range(2 * gpus):
        other = (root + gpus) % (2 * gpus)
        chains = [
            [first // gpus * gpus + (first + i) % gpus for i in range(gpus)]
            for first in (root, other)
        ]
        edges = [(root, other), *(e for c in chains for e in pairwise(c))]
        trees.append(StepTree(root, 1, tuple(edges)))
    return from_trees(session, topology, "allgather", [trees], SEGMENTS, "chains")


@dataclass(frozen=True, eq=False)
class Measured:
    """A machine's algorithm bandwidths: ours in GB/s for each of `SIZES`, and the paper's.

    Args:
        platform: the machine.
        network: its model.
        ours: by collective and algorithm.
    """

    platform: Platform
    network: Network
    ours: Mapping[str, Mapping[str, Floats]]

    @classmethod
    def of(cls, platform: Platform, network: Network, tell: Tell) -> Measured:
        """Simulates everything."""
        tell(f"simulating {platform.name} with {network.words}")
        ours = {
            collective: {
                name: one.algbw(network.alpha, network.efficiency, SIZES)
                for name, one in raced.items()
            }
            for collective, raced in platform.raced.items()
        }
        return cls(platform, network, ours)

    def values(self, collective: str, name: str) -> tuple[float, ...]:
        """As a table has them: at the sizes of `SHOWN`, and the mean."""
        rates = self.ours[collective][name]
        return (*(float(rates[i]) for i in SHOWN.values()), float(rates.mean()))

    def gain(self, collective: str, column: int, *rivals: str) -> float:
        """ForestColl's bandwidth over the best of rivals'."""
        best = max(self.values(collective, one)[column] for one in rivals)
        return self.values(collective, "ForestColl")[column] / best

    def rows(self, reasons: Mapping[str, Reason], fitted: bool) -> Iterator[Compared]:
        """Every value that both have."""
        ring = ("allgather", f"{self.platform.library} Ring")
        for collective, names in self.platform.printed.items():
            for name in names:
                if name not in self.ours[collective]:
                    continue
                values = zip(
                    [*SHOWN, "mean"], names[name], self.values(collective, name), strict=True
                )
                for size, paper, ours in values:
                    taken = fitted and (collective, name) == ring and size in ("1M", "1G")
                    reason = "one of the two points" if taken else reasons[name](ours, paper)
                    what = f"{self.platform.name}, {collective}, {name}, {size}"
                    yield Compared(what, paper, ours, reason)

    def panels(self) -> Iterator[Panel]:
        """A plot for each collective."""
        sizes = tuple(float(size) for size in SIZES)
        for collective, names in self.platform.printed.items():
            lines = []
            for name, values in names.items():
                if name in self.ours[collective]:
                    rates = tuple(self.ours[collective][name].tolist())
                    lines.append(Line(name, sizes, rates))
                at = tuple(sizes[i] for i in SHOWN.values())
                lines.append(Line(name, at, tuple(map(float, values[:4])), paper=True))
            title = f"{self.platform.name}, {collective}"
            yield Panel(title, "size of the data", "algbw, GB/s", tuple(lines))
