"""Linear programs as flat arrays, solved by HiGHS."""

from syncoll.linear.exact_solution import solve_exactly as solve_exactly
from syncoll.linear.program import *
