"""Linear programs: flat arrays in, flat arrays out, with HiGHS in between."""

from syncoll.linear.exact_solution import solve_exactly as solve_exactly
from syncoll.linear.program import *
