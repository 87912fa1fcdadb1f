"""Cheap tours by OR-Tools' local search."""

import numpy as np

from syncoll.arrays import Floats
from syncoll.clock import is_counted, now, took

Cycle = tuple[int, ...]
"""The nodes of a directed cycle in order, from node 0 on."""

_PRICE_UNITS = 1 << 20
"""The greatest price as an integer."""
_LONGEST_SECONDS, _UNITS_PER_PRICE = 10.0, 1e-5
"""For a tour: the most time, and the units of work for each price."""
_NOISE = 0.1
"""The largest random increase of a price."""


def cheap_tour(prices: Floats, random: np.random.Generator, deadline: float) -> Cycle | None:
    """A cheap Hamiltonian cycle from node 0 on, or None, which proves nothing.

    Args:
        prices: ``[source, destination]``, of at least 0; infinite for missing links.
        random: changes prices a little, so that each search finds another tour.
        deadline: a time of `syncoll.clock.now`.
    """
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2 as kinds
    from ortools.util import optional_boolean_pb2

    known = np.isfinite(prices)
    if not known.any():
        return None
    unit = _PRICE_UNITS / max(float(prices[known].max()), 1e-9)
    noise = random.uniform(1, 1 + _NOISE, prices.shape)
    costs = np.zeros(prices.shape, dtype=np.int64)
    costs[known] = np.rint(prices[known] * noise[known] * unit)
    missing = 2 * _PRICE_UNITS * (len(prices) + 1)  # more than any tour without such a link
    costs[~known] = missing
    routing = pywrapcp.RoutingModel(pywrapcp.RoutingIndexManager(len(prices), 1, 0))
    routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(costs.tolist()))
    asked = pywrapcp.DefaultRoutingSearchParameters()
    asked.first_solution_strategy = kinds.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    asked.local_search_operators.use_tsp_opt = optional_boolean_pb2.BOOL_TRUE
    if not is_counted():
        left = min(max(0.001, deadline - now()), _LONGEST_SECONDS)
        asked.time_limit.FromMilliseconds(int(1000 * left))
    found = routing.SolveWithParameters(asked)
    took(_UNITS_PER_PRICE * prices.size)
    if found is None or found.ObjectiveValue() >= missing:
        return None
    cycle, at = [0], found.Value(routing.NextVar(routing.Start(0)))
    while not routing.IsEnd(at):
        cycle.append(at)
        at = found.Value(routing.NextVar(at))
    return tuple(cycle)
