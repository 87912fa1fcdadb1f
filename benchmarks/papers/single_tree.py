"""What is known of C without any packing (the paper's lemma 2.1, inequality (3)).

With c_e the time that all data takes over link e:

``max c_e  >=  C of the best single tree  >=  C  >=  (n - 1) / sum of 1 / c_e``

The best single tree is a spanning tree whose slowest link is fastest: a maximum spanning tree in
the capacities.  The last term is the partition of the nodes one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import ModelError
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import Column, SpanningTreeOracle

__all__ = ["SimpleBounds", "simple_bounds"]


@dataclass(frozen=True)
class SimpleBounds:
    """The terms of inequality (3), from the largest to the least.

    Args:
        slowest_link: the time of all data over the slowest link.
        single_tree: C of the best single tree.
        tree: that tree.
        all_links: C if a single tree's worth of data were spread over all links evenly.
    """

    slowest_link: Fraction
    single_tree: Fraction
    tree: Column
    all_links: Fraction


def simple_bounds(system: LinkSystem) -> SimpleBounds:
    """The bounds of an undirected graph.

    Raises:
        ModelError: when the network has switches, shared capacities or directed links; the
            inequality is about graphs without them.
    """
    if not system.is_plain:
        raise ModelError(
            f"{system.name} has switches, shared capacities or directed links",
            None,
            "an undirected graph whose links have bandwidths of their own",
        )
    capacity = [system.capacities[use[0][0]] for use in system.uses]
    order = {c: rank for rank, c in enumerate(sorted(set(capacity), reverse=True))}
    tree = SpanningTreeOracle(system).cheapest([order[c] for c in capacity])[0]
    return SimpleBounds(
        1 / min(capacity),
        1 / min(capacity[link] for link in tree.links),
        tree,
        Fraction(system.num_nodes - 1) / sum(capacity, Fraction(0)),
    )
