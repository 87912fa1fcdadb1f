"""The linear program of the least load of the fullest set of links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.linear import ProgramRows
from syncoll.scheduling.link_sets import LinkSets

__all__ = ["Balance", "LeastLoad", "least_load"]


@dataclass(frozen=True, eq=False)
class Balance:
    """Equations on columns.

    Args:
        rows, columns, values: ``[E]`` each, the coefficients.
        amounts: ``[rows]``, the right-hand sides.
    """

    rows: IntArray
    columns: IntArray
    values: FloatArray
    amounts: FloatArray


@dataclass(frozen=True, eq=False)
class LeastLoad:
    """An optimum.

    Args:
        carried: ``[columns]``, not negative.
        prices: ``[sets + 1]``, dual values: the fall of the load with the room of each set.
    """

    carried: FloatArray
    prices: FloatArray


def least_load(
    sets: LinkSets,
    link: IntArray,
    balance: Balance,
    until: Deadline,
    costs: npt.ArrayLike = 0.0,
) -> LeastLoad | None:
    """The least load; None if time was over or the solver failed.

    Args:
        link: ``[columns]``, the link that each column loads.
        costs: of each column, added to the load.
    """
    program = ProgramRows()
    program.columns(len(link), costs)
    load = program.columns(1, 1.0)
    needed = program.rows(len(balance.amounts), balance.amounts, balance.amounts)
    within = program.rows(sets.size, -np.inf, 0.0)
    program.add(balance.rows, balance.columns, balance.values)
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
    return LeastLoad(np.maximum(optimum.columns[:-1], 0), prices)
