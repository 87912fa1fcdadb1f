"""The linear program of the least load of the fullest set of links."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.linear import ProgramRows
from syncoll.scheduling.link_sets import LinkSets

__all__ = ["least_load"]


def least_load(
    sets: LinkSets,
    link: IntArray,
    amounts: FloatArray,
    entries: tuple[IntArray, IntArray, npt.ArrayLike],
    until: Deadline,
    costs: npt.ArrayLike = 0.0,
) -> tuple[FloatArray, FloatArray] | None:
    """The least load; None if time was over or the solver failed.

    Args:
        link: ``[columns]``, the link that each column loads.
        amounts: ``[rows]``, the right-hand sides of equations on columns.
        entries: their coefficients: rows, columns and values, ``[E]`` each.
        costs: of each column, added to the load.

    Returns:
        ``[columns]``, not negative, and ``[sets + 1]``, the fall of the load with the room of each
        set.
    """
    program = ProgramRows()
    program.columns(len(link), costs)
    load = program.columns(1, 1.0)
    needed = program.rows(len(amounts), amounts, amounts)
    within = program.rows(sets.size, -np.inf, 0.0)
    program.add(*entries)
    of_link = sets.of_link[link]
    column, place = np.nonzero(of_link < sets.size)
    used = of_link[column, place]
    program.add(within[used], column, sets.rounds_per_send[used])
    program.add(within, load, -1.0)
    try:
        optimum = program.program().minimise(until.seconds)
    except OutOfTimeError:
        return None
    if optimum is None:
        return None
    prices = np.append(np.maximum(-optimum.row_duals[len(needed) :], 0), 0.0)
    return np.maximum(optimum.columns[:-1], 0), prices
