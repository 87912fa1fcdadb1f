"""Random 4-regular graphs of 64 nodes, written as specs: networks without symmetry.

    python benchmarks/topologies/random_regular.py

writes `random_regular_64_SEED.syncoll` next to this file, with networkx's generator (Steger and
Wormald), for seeds 1, 2 and 3.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx

NODES, DEGREE, SEEDS = 64, 4, (1, 2, 3)


def spec(seed: int) -> str:
    """The text of a spec with one topology, with every edge written out."""
    graph = nx.random_regular_graph(DEGREE, NODES, seed=seed)
    edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
    rows = [
        "        " + ", ".join(f"({a}, {b})" for a, b in edges[i : i + 8])
        for i in range(0, len(edges), 8)
    ]
    name = f"random_regular_{NODES}_{seed}"
    return (
        f"# A random {DEGREE}-regular graph of {NODES} nodes and diameter {nx.diameter(graph)}:\n"
        f"# networkx.random_regular_graph({DEGREE}, {NODES}, seed={seed}), by random_regular.py.\n"
        f"topology {name} {{\n    nodes {NODES}\n    link\n" + ",\n".join(rows) + "\n"
        "        both ways bandwidth 1\n}\n"
    )


if __name__ == "__main__":
    for seed in SEEDS:
        file = Path(__file__).with_name(f"random_regular_{NODES}_{seed}.syncoll")
        file.write_text(spec(seed), "utf-8")
