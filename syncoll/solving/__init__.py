"""Running backends: in worker processes that can be limited, interrupted and may crash.

`Solver` decides one instance at a time, with one backend or several side by side; `SolverPool` many
at once, with threads, processes or a cluster.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily
from syncoll.solving.preparation import Preparation
from syncoll.solving.process import SolverProcess
from syncoll.solving.question import Question, SolverSettings, decide
from syncoll.solving.solver import Solver, default_threads

if TYPE_CHECKING:
    from syncoll.solving.executors import open_pool
    from syncoll.solving.pool import SolverPool
else:  # a single question needs no pool
    __getattr__ = lazily(
        __name__,
        {
            "executors": "open_pool",
            "pool": "SolverPool",
        },
    )

__all__ = [
    "Preparation",
    "Question",
    "Solver",
    "SolverPool",
    "SolverProcess",
    "SolverSettings",
    "decide",
    "default_threads",
    "open_pool",
]
