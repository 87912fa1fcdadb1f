"""How statements of a written spec are laid out."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["INDENT", "WIDTH", "pair_lines"]

WIDTH = 96
INDENT = "    "


def pair_lines(pairs: Sequence[str]) -> list[str]:
    """The lines of a statement ``link`` up to its last pair, broken between pairs.

    One empty line where there is no pair.
    """
    if not pairs:
        return [""]
    lines, line = [], f"{INDENT}link "
    for i, pair in enumerate(pairs):
        piece = pair + ("," if i < len(pairs) - 1 else "")
        if len(line) + len(piece) > WIDTH and not line.endswith("link "):
            lines.append(line.rstrip())
            line = f"{INDENT}     "
        line += f"{piece} "
    return [*lines, line.rstrip()]
