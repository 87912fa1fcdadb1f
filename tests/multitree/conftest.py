"""The proposals of the seed, verified before tests use them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import syncoll_multitree
from syncoll.model import Collective, Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits
from syncoll.plugins.options import resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid


@pytest.fixture(scope="session")
def specs() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary([record.folder for record in records])


@pytest.fixture
def propose(specs: SpecLibrary, counted_work: Callable[[], float]) -> Callable[..., list[Proposal]]:
    """All proposals, each valid, in the fewest rounds, and dominated by none before it."""

    def ask(
        topology: Topology | str,
        collective: Collective | str = "allgather",
        limits: SeedLimits | None = None,
        **options: object,
    ) -> list[Proposal]:
        network = as_topology(specs.topology(topology)) if isinstance(topology, str) else topology
        wanted = specs.collective(collective) if isinstance(collective, str) else collective
        record = syncoll_multitree.RECORD
        values = resolve_options(record.options, options, "seed multitree")
        limits = limits or SeedLimits(seconds=0.2)
        proposals = list(record.load().propose(network, wanted, limits, values))
        seen: list[tuple[int, int, int]] = []
        for proposal in proposals:
            algorithm, chunks = proposal.algorithm, proposal.chunks
            steps, rounds = algorithm.steps, algorithm.rounds
            instance = wanted.instantiate(network, chunks=chunks, steps=steps, rounds=rounds)
            require_valid(instance, algorithm)
            assert list(algorithm.rounds_per_step) == algorithm.least_rounds(network)
            assert proposal.note
            assert not any(s <= steps and r * chunks <= rounds * c for s, r, c in seen)
            seen.append((steps, rounds, chunks))
        return proposals

    return ask
