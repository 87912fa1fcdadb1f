"""Finds a Hamiltonian cycle quickly, or the reason why none exists.

Tries constant strides through the node numbers, cycles of grids and necessary conditions.  Last
comes CP-SAT's circuit constraint, which also proves infeasibility, or on very many links a tour.
"""

from itertools import pairwise
from math import gcd

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import now, remembering, took
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import Topology
from syncoll_classics.grid import Grid, recognise_grid
from syncoll_classics.tours import Cycle, cheap_tour

_MOST_STRIDES = 64
_MOST_LINKS = 20_000
"""Most links of a topology that is given to CP-SAT."""


@remembering
def a_cycle(topology: Topology, seconds: float = 1.0) -> Cycle | str:
    """A Hamiltonian cycle found in about `seconds`, or the reason why there is no cycle."""
    began = now()
    known = known_cycles(topology)
    if known:
        return known[0]
    if reason := _obstacle(topology):
        return reason
    if len(topology.links) > _MOST_LINKS:
        prices = np.full((topology.num_nodes,) * 2, np.inf)
        prices[topology.ends[:, 0], topology.ends[:, 1]] = 1.0
        found = cheap_tour(prices, np.random.default_rng(0), began + seconds)
        return found or f"no Hamiltonian cycle was found in {seconds:g} s"
    left = max(0.1, began + seconds - now())
    cycles, proved = find_circuits(topology, 1, None, left)
    if cycles:
        return cycles[0]
    if proved:
        return "there is no Hamiltonian cycle (proved by CP-SAT)"
    return f"no Hamiltonian cycle was found in {seconds:g} s"


def known_cycles(topology: Topology) -> list[Cycle]:
    """Distinct cycles that need no search: constant strides and cycles of grids."""
    nodes, links = topology.num_nodes, topology.link_index
    found: dict[Cycle, None] = {}
    strides = [s for s in range(1, nodes) if gcd(s, nodes) == 1]
    for stride in strides[:_MOST_STRIDES]:
        if all((i, (i + stride) % nodes) in links for i in range(nodes)):
            found[tuple(i * stride % nodes for i in range(nodes))] = None
    if len(links) <= 6 * nodes and (grid := recognise_grid(topology)) is not None:
        for cycle in _grid_cycles(grid):
            for order in (cycle, cycle[::-1]):
                at = order.index(0)
                found[tuple(order[at:] + order[:at])] = None
    return list(found)


def _grid_cycles(grid: Grid) -> list[list[int]]:
    """Two cycles of a torus without a common link if a construction is known; otherwise at most
    one."""
    rows, columns = grid.nodes.shape
    if grid.closed and (pair := _diagonal_pair(grid.nodes)):
        return pair
    nodes = grid.nodes
    if rows % 2 and columns % 2 == 0:
        nodes = nodes.T
    if len(nodes) % 2 == 0:
        # Down the first column at the end; up and down the others, row by row.
        inner = [row[1:] if i % 2 == 0 else row[:0:-1] for i, row in enumerate(nodes.tolist())]
        return [[node for row in inner for node in row] + nodes[::-1, 0].tolist()]
    return [_odd_torus(nodes)] if grid.closed else []


def _diagonal_pair(nodes: Ints) -> list[list[int]] | None:
    """Two cycles without a common link: each diagonal goes right in one and down in the other.

    An r x c torus has d = gcd(r, c) classes of diagonals (i + j mod d).  Going right on d1 and down
    on d2 of them is one cycle exactly if d1 + d2 = d and gcd(d1, c) = gcd(d2, r) = 1 (Trotter and
    Erdős, 1978).
    """
    rows, columns = nodes.shape
    classes = gcd(rows, columns)
    for right in range(1, classes):
        pair = []
        for swapped in (False, True):
            i = j = 0
            cycle = []
            for _ in range(nodes.size):
                cycle.append(int(nodes[i, j]))
                if ((i + j) % classes < right) != swapped:
                    j = (j + 1) % columns
                else:
                    i = (i + 1) % rows
            if (i, j) == (0, 0) and len(set(cycle)) == nodes.size:
                pair.append(cycle)
        if len(pair) == 2:
            return pair
    return None


def _odd_torus(nodes: Ints) -> list[int]:
    """A cycle of a torus with odd sides: all links of a row but one, then a step down.

    A row passed to the right shifts the column by one to the left, and vice versa.  The cycle
    closes if the rows passed to the left exceed the others by the number of columns.
    """
    if len(nodes) < nodes.shape[1]:
        nodes = nodes.T
    rows, columns = nodes.shape
    leftward = (rows + columns) // 2
    cycle: list[int] = []
    start = 0
    for i in range(rows):
        turn = -1 if i < leftward else 1
        cycle += [int(nodes[i, (start + turn * k) % columns]) for k in range(columns)]
        start = (start - turn) % columns
    return cycle


def _obstacle(topology: Topology) -> str:
    """A reason why no cycle can pass all nodes; empty if no obstacle is found."""
    import networkx as nx  # slow to import, and only needed without an evident cycle

    graph = nx.Graph(list(topology.links))
    graph.add_nodes_from(range(topology.num_nodes))
    for node in graph:
        if not topology.out_links[node] or not topology.in_links[node]:
            return f"there is no Hamiltonian cycle: node {node} is a dead end"
    if topology.num_nodes > 2 and (cut := next(nx.articulation_points(graph), None)) is not None:
        return f"there is no Hamiltonian cycle: without node {cut} the network falls apart"
    if nx.is_connected(graph) and nx.is_bipartite(graph):
        sides = [len(side) for side in nx.bipartite.sets(graph)]
        if sides[0] != sides[1]:
            return (
                "there is no Hamiltonian cycle: links join two sides of "
                f"{min(sides)} and {max(sides)} nodes"
            )
    return ""


def find_circuits(
    topology: Topology, count: int, rounds: int | None, seconds: float, *, paired: bool = False
) -> tuple[list[Cycle], bool]:
    """`count` Hamiltonian cycles within the bounds B, or none, and whether that is proved.

    Args:
        rounds: of a step in which each cycle carries a chunk; None for no bound.
        paired: whether each cycle comes with its reverse; `count` is then the number of pairs.
    """
    from ortools.sat.python import cp_model  # which takes half a second to load

    model = cp_model.CpModel()
    literals = [{link: model.new_bool_var("") for link in topology.links} for _ in range(count)]
    for arcs in literals:
        model.add_circuit([(a, b, literal) for (a, b), literal in arcs.items()])
    if rounds is not None:
        for bound in topology.bounds:
            used = [arcs[link] for arcs in literals for link in bound.links]
            if paired:
                used += [arcs[b, a] for arcs in literals for a, b in bound.links]
            model.add(sum(used) <= bound.capacity(rounds))
    # Symmetry breaking: cycles are ordered by their links from node 0.
    first = [topology.links[i] for i in topology.out_links[0]]
    for one, two in pairwise(literals):
        ranks = [sum(b * arcs[a, b] for a, b in first) for arcs in (one, two)]
        model.add(ranks[0] <= ranks[1])
    solver = cp_model.CpSolver()
    limit_cp_sat(solver.parameters, seconds)
    status = solver.solve(model)
    took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        cycles = []
        for arcs in literals:
            after = dict(link for link, literal in arcs.items() if solver.boolean_value(literal))
            cycle = [0]
            while (node := after[cycle[-1]]) != 0:
                cycle.append(node)
            cycles.append(tuple(cycle))
            if paired:
                cycles.append((0, *cycle[:0:-1]))
        return cycles, True
    return [], status == cp_model.INFEASIBLE
