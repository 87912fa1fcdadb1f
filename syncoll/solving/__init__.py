"""Running backends: in worker processes that can be limited, interrupted and may crash.

`Solver` decides one instance at a time, with one backend or several side by side; `SolverPool` many
at once, with threads, processes or a cluster.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily
from syncoll.solving.members import SolverSettings, default_threads
from syncoll.solving.process import SolverProcess
from syncoll.solving.solver import Preparation, Solver

if TYPE_CHECKING:
    from syncoll.solving.pool import SolverPool, open_pool
    from syncoll.solving.task import SolveTask, decide
else:  # a single question needs no pool
    __getattr__ = lazily(__name__, {"pool": "SolverPool open_pool", "task": "SolveTask decide"})

__all__ = [
    "Preparation",
    "SolveTask",
    "Solver",
    "SolverPool",
    "SolverProcess",
    "SolverSettings",
    "decide",
    "default_threads",
    "open_pool",
]
