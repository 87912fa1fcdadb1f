"""Limits: every bound of the language, each with its reason, in one place.

A spec is checked against these before anything of that size is built: a slip such as ``ring(10 **
9)`` is an error and does not fill the memory.
"""

MAX_NODES = 8192
"""P.  Distances between all pairs of this many nodes take half a gigabyte."""

MAX_LINKS = 1 << 20
"""Directed links of a topology: all pairs of 1024 nodes."""

MAX_SHARED_PAIRS = 1 << 22
"""Links in all shared bounds of a topology together."""

MAX_ROWS = 1 << 22
"""Combinations of the `for` clauses of one statement, before their `if`."""

MAX_CHUNKS = 1 << 22
"""G: an alltoall among 2048 nodes.  Several numbers for each."""

MAX_CELLS = 200_000_000
"""Kinds of chunks, equal in a pre or post, times P: a bit each.  Algorithms are limited by
`syncoll.model.node_sets.MOST_DENSE_CELLS`."""

FEW_CELLS = 4096
"""Chunks times P: below this number all are evaluated, whether or not they are alike."""

MAX_LIST = 1 << 16
"""Elements of a list."""

MAX_NUMBER = 1 << 62
"""Limit of numbers, and of a fraction's numerator and denominator: sums of two fit 64 bits."""

MAX_DEPTH = 100
"""Levels of an expression with its relations and functions, far from Python's recursion limit."""

MAX_PARTS = 32
"""Parts of a combined collective, repeated ones and operators included: a search visits all."""

MAX_BINDERS = 12
"""Variables of one comprehension."""

MAX_FILE_BYTES = 2 << 20
"""Size of one file: some 200,000 written-out links; more are better generated with `for`."""

MAX_DATA_BYTES = 64 << 20
"""Size of a file of numbers: some eight digits for each of 2048 x 2048."""

MAX_DATA_ROWS = 1 << 20
"""Rows of such a file: 4096 tokens of each of 256 ranks."""

MAX_IMPORTS = 64
"""Files that one file may import, directly and indirectly."""

WORK = 400_000_000
"""Cost of evaluating one definition, in cells of array operations: a few seconds."""

WORK_PER_SCALAR = 300
"""The cost of one operation on single numbers, in the same unit."""

WORK_PER_OBJECT = 400
"""The cost of one cell of an operation on fractions, in the same unit."""
