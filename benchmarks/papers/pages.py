"""Figures as a page of Markdown, and kept as JSON: one can be made anew without the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.papers.figure import Compared, Figure
from syncoll.documents import to_text, write_atomically

__all__ = ["page", "read_figure", "write_figure"]

_VERSION = 1
_HEAD = """# The figures of the papers, in simulation

`python benchmarks/figures.py` compares the figures of the SCCL, ForestColl and MultiTree papers
with simulations of the same algorithms on the same machines. A deviation is ours from the paper's.
The first two measured on machines with their libraries' overheads; a simulation has a latency for
each send and a bandwidth for each link. Claims of the papers are in our words.
"""


@dataclass(frozen=True)
class _Kept:
    version: int
    figure: Figure


def write_figure(path: Path, figure: Figure) -> None:
    """Keeps a figure as JSON."""
    kept = msgspec.to_builtins(_Kept(_VERSION, figure))
    write_atomically(path, to_text(kept) + "\n")


def read_figure(path: Path) -> Figure:
    """A figure that was kept.

    Raises:
        ValueError: when it is of another version.
    """
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is no figure: {error}; make it anew") from None
    if kept.version != _VERSION:
        raise ValueError(f"{path} is not of version {_VERSION}; make the figure anew")
    return kept.figure


def page(figures: Mapping[str, Figure]) -> str:
    """All figures, by name in order, with a table of the claims before them.

    Each has its plot in the folder ``figures``.
    """
    claims = [
        (name, one.says, one.where, str(one.holds), one.because)
        for name, figure in figures.items()
        for one in figure.claims
    ]
    parts = [_HEAD, "## Which claims hold in simulation\n"]
    parts += [_table(("figure", "claim", "where", "holds", "observation"), claims)]
    for name, figure in figures.items():
        parts += [f"## {name}: {figure.title}\n", f"{figure.source}.\n"]
        parts += [f"{note}\n" for note in figure.notes]
        parts += [f"![{figure.title}](figures/{name}.svg)\n"]
        if figure.rows:
            heads = ("", f"paper, {figure.unit}", f"ours, {figure.unit}", "deviation", "reason")
            parts.append(_table(heads, [_compared(row) for row in figure.rows]))
        for one in figure.tables:
            parts += [f"{one.title}\n", _table(one.columns, one.rows)]
    return "\n".join(parts)


def _compared(row: Compared) -> tuple[str, ...]:
    deviation = ""
    if row.deviation is not None:
        percent = round(100 * row.deviation, 1)
        deviation = f"{percent:+.1f} %" if percent else "none"
    return (row.what, _number(row.paper), _number(row.ours), deviation, row.reason)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
