"""Running backends: in worker processes that can be limited, interrupted and may crash."""

from syncoll.solving.process import SolverProcess
from syncoll.solving.solver import Preparation, Solution, Solver, default_threads

__all__ = ["Preparation", "Solution", "Solver", "SolverProcess", "default_threads"]
