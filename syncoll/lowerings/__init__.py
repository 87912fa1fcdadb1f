"""Lowerings: what a backend lacks, said in what it has, and every answer taken back.

`lower` rewrites a formula for the features that a backend offers; `plan` computes the chain of
rewritings without running it.  A lowering is a function with `registered` above it, in a module
that is imported here or, in a plugin, by whatever needs it.
"""

# isort: off
# In this order where costs are equal.
from syncoll.lowerings import order as order, big_m as big_m, rows as rows, clauses as clauses

# isort: on
from syncoll.lowerings.chain import *
from syncoll.lowerings.lowering import *
from syncoll.lowerings.quotient import *
