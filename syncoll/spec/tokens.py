"""Tokens of a mixture of experts: the rank of each token, and the ranks that hold its experts."""

from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.spec.source import Span
from syncoll.spec.values import ListedRelation, is_list, written


def token_places(
    routing: Any, experts: int, placement: Any, nodes: int, span: Span
) -> tuple[ListedRelation, ListedRelation]:
    """The ranks at which tokens start, and the ranks of their experts.

    Args:
        routing: a row for each token: its rank, then its experts.
        experts: their number.
        placement: rows of an expert and its rank; if empty, rank r has the r-th block of experts.
        nodes: P.

    Raises:
        SpecError: if a row names a rank or an expert that does not exist, or an expert has no rank
            or several.
    """
    rows = _table(routing, "routing", span)
    if rows.shape[1] < 2:
        raise span.error(f"{written(routing)} has rows of 1 number", "rows `rank,expert_1,…`")
    rank_of = _ranks(placement, experts, nodes, span)
    _within(rows[:, :1], nodes, "rank", routing, span)
    _within(rows[:, 1:], experts, "expert", routing, span)
    tokens = np.arange(len(rows), dtype=np.int64)
    ends = (tokens[:, None] * nodes + rank_of[rows[:, 1:]]).ravel()
    return ListedRelation(tokens, rows[:, 0]), ListedRelation(*np.divmod(ends, nodes))


def _ranks(placement: Any, experts: int, nodes: int, span: Span) -> Ints:
    """``[experts]``: the rank of each."""
    if not len(placement):
        if experts < 1 or experts % nodes:
            raise span.error(
                f"{experts} experts cannot be dealt to {nodes} ranks in equal blocks",
                "a multiple of the number of ranks, or `placement`, rows of an expert and its rank",
            )
        return np.arange(experts, dtype=np.int64) * nodes // experts
    rows = _table(placement, "placement", span)
    if rows.shape[1] != 2:
        raise span.error(f"{written(placement)} has rows of {rows.shape[1]} numbers", "two")
    _within(rows[:, :1], experts, "expert", placement, span)
    _within(rows[:, 1:], nodes, "rank", placement, span)
    times = np.bincount(rows[:, 0], minlength=experts)
    for expert in np.flatnonzero(times != 1)[:1].tolist():
        ranks = "no rank" if not times[expert] else f"{times[expert]} ranks"
        raise span.error(f"{written(placement)} gives expert {expert} {ranks}", "one rank for each")
    found = np.empty(experts, dtype=np.int64)
    found[rows[:, 0]] = rows[:, 1]
    return found


def _table(value: Any, name: str, span: Span) -> Ints:
    """Equally long rows of whole numbers."""
    whole = is_list(value) and len(value) and all(is_list(row) for row in value)
    if whole and len({len(row) for row in value}) == 1 and len(value[0]):
        found = np.array(value)
        if found.ndim == 2 and found.dtype.kind == "i":
            return found
    raise span.error(f"`{name}` is no matrix", "a CSV file, or equally long rows of whole numbers")


def _within(cells: Ints, size: int, noun: str, rows: Any, span: Span) -> None:
    """Raises SpecError for a number that is out of range."""
    for row, column in np.argwhere((cells < 0) | (cells >= size))[:1].tolist():
        raise span.error(
            f"row {row + 1} of {written(rows)[:60]} names {noun} {cells[row, column]}",
            f"{noun}s 0 to {size - 1}",
        )
