"""Limits of solvers where work is counted: iterations and deterministic time instead of seconds.

HiGHS has limits on the iterations of its methods for linear programs, which are the same in every
run.  A mixed-integer program is limited by how often HiGHS asks whether it is to go on.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from syncoll.clock import is_counted

if TYPE_CHECKING:
    import highspy

__all__ = ["TICKS_PER_UNIT", "limit_cp_sat", "run_counted"]

TICKS_PER_UNIT = 0.6
"""Of CP-SAT's deterministic time in a unit of work."""

_UNITS, _UNITS_PER_ENTRY = 1e-5, 4e-9
"""What an iteration of the simplex method takes, and more for each entry of the matrix."""

_INTERIOR_POINT, _INTEGER = 50.0, 25.0
"""So many times as long take an iteration of the interior-point method, and what HiGHS does of a
mixed-integer program between two questions."""

_NO_LIMIT = (1 << 31) - 1


def run_counted(highs: highspy.Highs, units: float | None, *, integer: bool) -> tuple[float, bool]:
    """Runs HiGHS for at most about so many units of work.

    Args:
        units: None for no limit.
        integer: whether it is a mixed-integer program.

    Returns:
        The units that it took, and whether the limit ended it.
    """
    each = _UNITS + _UNITS_PER_ENTRY * (highs.getNumNz() + highs.getNumCol() + highs.getNumRow())
    most = min(_NO_LIMIT, inf if units is None else max(1.0, units / each))
    asked = 0

    def ask(event: highspy.HighsCallbackEvent) -> None:
        nonlocal asked
        asked += 1
        if asked * _INTEGER >= most:
            event.interrupt()

    if integer:
        highs.cbMipInterrupt += ask
        try:
            highs.run()
        finally:
            highs.cbMipInterrupt -= ask
        return asked * _INTEGER * each, asked * _INTEGER >= most
    highs.setOptionValue("simplex_iteration_limit", int(most))
    highs.setOptionValue("ipm_iteration_limit", max(1, int(most / _INTERIOR_POINT)))
    highs.run()
    info = highs.getInfo()
    iterations = max(0, info.simplex_iteration_count) + max(0, info.crossover_iteration_count)
    iterations += _INTERIOR_POINT * max(0, info.ipm_iteration_count)
    return max(1.0, iterations) * each, highs.getModelStatus().name == "kIterationLimit"


def limit_cp_sat(parameters: Any, seconds: float) -> None:
    """Has CP-SAT run in one thread for so many seconds, or units of work."""
    parameters.num_workers = 1
    parameters.catch_sigint_signal = False  # Ctrl-C ends the search, not this call
    if is_counted():
        parameters.max_deterministic_time = seconds * TICKS_PER_UNIT
    else:
        parameters.max_time_in_seconds = seconds
