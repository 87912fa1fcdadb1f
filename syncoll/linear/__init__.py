"""Linear programs: flat arrays in, flat arrays out, with HiGHS in between."""

from syncoll.linear.exact_solution import solve_exactly
from syncoll.linear.program import GrowingProgram, LinearProgram, Optimum
from syncoll.linear.rows import ProgramRows

__all__ = ["GrowingProgram", "LinearProgram", "Optimum", "ProgramRows", "solve_exactly"]
