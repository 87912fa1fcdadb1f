"""Linear programs: flat arrays in, flat arrays out, with HiGHS in between."""

from syncoll.linear.growing import GrowingProgram
from syncoll.linear.program import LinearProgram, Optimum

__all__ = ["GrowingProgram", "LinearProgram", "Optimum"]
