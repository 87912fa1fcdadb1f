"""Lowerings: rewrite a formula in the features of a backend, and take answers back.

`lower` rewrites a formula for the features that a backend offers; `plan` computes the chain of
rewritings without running it.  A lowering is a function with `registered` above it, in a module
that is imported here or by a plugin.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

# isort: off
# In this order where costs are equal.
from syncoll.lowerings import order as order, big_m as big_m, rows as rows, clauses as clauses

# isort: on
if TYPE_CHECKING:
    from syncoll.lowerings.chain import *
    from syncoll.lowerings.lowering import *
    from syncoll.lowerings.quotient import *
else:
    __getattr__ = lazily(__name__)
