"""Hypothesis strategies of small random topologies and instances."""

from __future__ import annotations

from hypothesis import strategies
from hypothesis.strategies import SearchStrategy

from syncoll.model import Instance, Topology
from syncoll.testing.instances import random_instance, random_topology


def topology_strategy(*, least_nodes: int = 2, most_nodes: int = 5) -> SearchStrategy[Topology]:
    """A Hypothesis strategy of the topologies of `random_topology`."""
    return strategies.randoms(use_true_random=False).map(
        lambda rng: random_topology(rng, least_nodes=least_nodes, most_nodes=most_nodes)
    )


def instance_strategy(
    *, least_nodes: int = 2, most_nodes: int = 5, most_chunks: int = 5, most_extra_steps: int = 2
) -> SearchStrategy[Instance]:
    """A Hypothesis strategy of the instances of `random_instance`."""
    return strategies.randoms(use_true_random=False).map(
        lambda rng: random_instance(
            rng,
            least_nodes=least_nodes,
            most_nodes=most_nodes,
            most_chunks=most_chunks,
            most_extra_steps=most_extra_steps,
        )
    )
