"""Runs backends in worker processes, which can be limited and interrupted, and may crash.

`Solver` decides one instance at a time, with one backend or several at once; `SolverPool` many at
once.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.solving.members import (
        SolverSettings as SolverSettings,
        default_threads as default_threads,
    )
    from syncoll.solving.pool import SolverPool as SolverPool
    from syncoll.solving.process import SolverProcess as SolverProcess
    from syncoll.solving.solver import Preparation as Preparation, Solver as Solver
else:
    __getattr__ = lazily(__name__)
