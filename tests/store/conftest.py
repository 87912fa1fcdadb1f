from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from syncoll.certificates import Demand
from syncoll.formula import FormulaSize, Limits, StopReason, Verdict
from syncoll.model import Algorithm, BandwidthBound, Instance, Topology
from syncoll.store import Store, StoredAnswer

SIZE = FormulaSize(1, 2, 3, 4, 5, 6, 7, frozenset())


@dataclass
class Renumbering:
    """Another numbering of nodes, order of bounds and of chunks, and other names."""

    nodes: list[int]
    rng: random.Random

    @classmethod
    def of(cls, nodes: int, rng: random.Random) -> Renumbering:
        return cls(rng.sample(range(nodes), nodes), rng)

    def topology(self, topology: Topology) -> Topology:
        def moved(links: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
            return tuple(sorted((self.nodes[a], self.nodes[b]) for a, b in links))

        bounds = [
            BandwidthBound(moved(b.links), b.chunks_per_round, f"label {i}")
            for i, b in enumerate(topology.bounds)
        ]
        self.rng.shuffle(bounds)
        return Topology("elsewhere", topology.num_nodes, moved(topology.links), tuple(bounds))

    def instance(self, instance: Instance) -> Instance:
        chunks = self.rng.sample(range(instance.num_chunks), instance.num_chunks)
        tables = []
        for table in (instance.pre, instance.post):
            turned = np.zeros_like(table)
            turned[:, self.nodes] = table
            tables.append(turned[chunks])
        return replace(
            instance,
            topology=self.topology(instance.topology),
            collective="another name",
            pre=tables[0],
            post=tables[1],
        )

    def demands(self, demands: tuple[Demand, ...], times: int = 1) -> tuple[Demand, ...]:
        result = [
            Demand(
                tuple(sorted(self.nodes[n] for n in d.sources)),
                tuple(sorted(self.nodes[n] for n in d.destinations)),
                d.count * times,
            )
            for d in demands
        ]
        self.rng.shuffle(result)
        return tuple(result)


@pytest.fixture
def renumbering() -> Callable[[int, random.Random], Renumbering]:
    return Renumbering.of


def _answer(
    algorithm: Algorithm | None = None,
    verdict: Verdict | None = None,
    reason: StopReason | None = None,
    **limits: object,
) -> StoredAnswer:
    if verdict is None:
        verdict = Verdict.UNSAT if algorithm is None else Verdict.SAT
    if reason is None:
        reason = StopReason.TIME_LIMIT if verdict is Verdict.UNKNOWN else StopReason.DECIDED
    return StoredAnswer(
        verdict,
        algorithm,
        "an encoding",
        "a backend",
        SIZE,
        SIZE,
        {"solve": 1.5, "load": 0.1},
        "details — for people",
        reason,
        Limits(**limits),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="session")
def answer() -> Callable[..., StoredAnswer]:
    return _answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    def fail(text: str) -> None:
        raise AssertionError(text)

    with Store.open(path, on_trouble=fail) as store:
        yield store
