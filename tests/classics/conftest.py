"""The proposals of a seed, verified before tests use them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import syncoll_classics
from syncoll.model import Collective, Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

RECORDS = {record.name: record for record in syncoll_classics.RECORDS}


@pytest.fixture(scope="session")
def specs() -> SpecLibrary:
    plugins = PluginManager.discover()
    return SpecLibrary([record.folder for record in plugins.spec_libraries.values()])


@pytest.fixture(scope="session")
def propose(specs: SpecLibrary) -> Callable[..., list[Proposal]]:
    """All proposals of a seed, each valid; none if and only if the seed does not fit.

    Topology and collective are objects or names of the library.
    """

    def ask(
        name: str,
        topology: Topology | str,
        collective: Collective | str,
        limits: SeedLimits | None = None,
        **options: object,
    ) -> list[Proposal]:
        network = as_topology(specs.topology(topology)) if isinstance(topology, str) else topology
        wanted = specs.collective(collective) if isinstance(collective, str) else collective
        record = RECORDS[name]
        values = resolve_options(record.options, options, f"seed {name}")
        proposals = list(record.load().propose(network, wanted, limits or SeedLimits(), values))
        answer = record.fits(network, wanted)
        assert answer.ok != bool(answer.reason)
        assert bool(proposals) == answer.ok or (answer.ok and limits is not None)
        for proposal in proposals:
            algorithm = proposal.algorithm
            instance = wanted.instantiate(
                network, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
            require_valid(instance, algorithm)
            # No spare round or step.
            assert list(algorithm.rounds_per_step) == algorithm.least_rounds(network)
            assert min(algorithm.rounds_per_step) > 0
            assert proposal.note
        return proposals

    return ask


@pytest.fixture(scope="session")
def costs(propose: Callable[..., list[Proposal]]) -> Callable[..., list[tuple[int, int, int]]]:
    """(S, R, C) of every proposal of a seed."""

    def ask(*question: object, **options: object) -> list[tuple[int, int, int]]:
        proposals = propose(*question, **options)
        return [(p.algorithm.steps, p.algorithm.rounds, p.chunks) for p in proposals]

    return ask


@pytest.fixture(scope="session")
def random_topology() -> Callable[..., Topology]:
    """A directed network with bandwidths 1 to 3; from `strong` seeds one that is connected."""

    def make(nodes: int, seed: int, *, strong: bool = True) -> Topology:
        rng = random.Random(seed)
        pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
        while True:
            chosen = rng.sample(pairs, rng.randint(nodes, min(len(pairs), 3 * nodes)))
            links = {link: rng.randint(1, 3) for link in chosen}
            topology = Topology.from_links(f"random({nodes},{seed})", nodes, links)
            if not strong or topology.distances.max() < nodes:
                return topology

    return make
