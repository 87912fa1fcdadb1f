"""Proposals of seeds, verified as a search verifies them."""

from __future__ import annotations

from collections.abc import Iterable

from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal
from syncoll.trust import require_valid
from syncoll.trust.families import require_family

__all__ = ["verified"]


def verified(
    proposals: Iterable[Proposal | None], topology: Topology, asked: Collective
) -> list[Proposal]:
    """All proposals and their families, each an algorithm of the question; pauses are skipped."""
    found = []
    for one in proposals:
        if one is None:
            continue
        algorithm = one.algorithm
        instance = asked.instantiate(
            topology, chunks=one.chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
        if one.family is not None:
            require_family(one.family)
        found.append(one)
    return found
