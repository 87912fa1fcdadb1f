"""The order of sends in exports, one send at a time, as in docs/chakra.md."""

from __future__ import annotations

from collections import Counter

from syncoll.model import Algorithm

__all__ = ["export_order"]


def export_order(algorithm: Algorithm, num_nodes: int) -> list[int]:
    """Positions of the algorithm's sends, in the order in which exporters write them."""
    seen = Counter[tuple[int, int, int]]()
    keys = []
    for place, (_, source, destination, step) in enumerate(algorithm.sends.tolist()):
        turn = seen[step, source, destination]
        seen[step, source, destination] += 1
        keys.append((step, turn, (destination - source) % num_nodes, source, place))
    return [place for *_, place in sorted(keys)]
