"""The linear program of the least load: what columns carry so that the fullest set of links has the
least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.linear import LinearProgram
from syncoll.scheduling.link_sets import LinkSets

__all__ = ["Balance", "LeastLoad", "least_load"]


@dataclass(frozen=True, eq=False)
class Balance:
    """What columns have to bring, row by row.

    Args:
        rows, columns, values: ``[E]`` each, what one of a column is worth in a row.
        amounts: ``[rows]``, exactly what is to come together.
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
        prices: ``[sets + 1]``, by how much the load falls with the room of each set; 0 for none.
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
    """The least load; None where the time was over, or the solver found nothing.

    Args:
        link: ``[columns]``, the link that each of them loads.
        costs: of one of each column, beside the load.
    """
    count, needed = len(link), len(balance.amounts)
    of_link = sets.of_link[link]
    column, place = np.nonzero(of_link < sets.size)
    every = np.arange(sets.size)
    used = of_link[column, place]
    program = LinearProgram(
        np.append(np.broadcast_to(np.asarray(costs, dtype=np.float64), count), 1.0),
        np.concatenate([balance.rows, needed + used, needed + every]),
        np.concatenate([balance.columns, column, np.full(sets.size, count)]),
        np.concatenate([balance.values, sets.rounds_per_send[used], np.full(sets.size, -1.0)]),
        np.concatenate([balance.amounts, np.full(sets.size, -np.inf)]),
        np.concatenate([balance.amounts, np.zeros(sets.size)]),
    )
    try:
        optimum = program.minimise(until.seconds)
    except OutOfTimeError:
        return None
    if optimum is None:
        return None
    prices = np.append(np.maximum(-optimum.row_duals[needed:], 0), 0.0)
    return LeastLoad(np.maximum(optimum.columns[:-1], 0), prices)
