"""Work limits of solvers: iterations and deterministic time instead of seconds.

HiGHS limits the iterations of its methods for linear programs, which are the same in every run.
For a mixed-integer program the limit is on the number of HiGHS's interrupt callbacks.
"""

from math import inf
from typing import TYPE_CHECKING, Any

from syncoll.clock import is_counted

if TYPE_CHECKING:
    import highspy

TICKS_PER_UNIT = 0.6
"""CP-SAT's deterministic time per unit of work."""

_UNITS, _UNITS_PER_ENTRY = 1e-5, 4e-9
"""Work units of a simplex iteration, fixed and per entry of the matrix."""

_INTERIOR_POINT, _INTEGER = 50.0, 25.0
"""An interior-point iteration, and the interval between two callbacks of a mixed-integer program,
in simplex iterations."""

_NO_LIMIT = (1 << 31) - 1


def run_counted(
    highs: "highspy.Highs", units: float | None, *, integer: bool
) -> tuple[float, bool]:
    """Runs HiGHS for about `units` of work at most.

    Args:
        units: None for no limit.
        integer: whether it is a mixed-integer program.

    Returns:
        The units spent, and whether the limit ended the run.
    """
    each = _UNITS + _UNITS_PER_ENTRY * (highs.getNumNz() + highs.getNumCol() + highs.getNumRow())
    most = min(_NO_LIMIT, inf if units is None else max(1.0, units / each))
    asked = 0

    def ask(event: "highspy.HighsCallbackEvent") -> None:
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


def limit_cp_sat(parameters: Any, seconds: float, slowest: float | None = None) -> None:
    """Limits CP-SAT to one thread and to `seconds`, or units of work.

    Args:
        slowest: with it `seconds` are of work on any machine, and at most this many times as long
            on the clock: a busy machine finds as much in a short program.
    """
    parameters.num_workers = 1
    parameters.catch_sigint_signal = False  # Ctrl-C ends the search, not this call
    if is_counted() or slowest is not None:
        parameters.max_deterministic_time = seconds * TICKS_PER_UNIT
    if not is_counted():
        parameters.max_time_in_seconds = seconds * (slowest or 1.0)
