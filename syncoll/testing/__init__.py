"""The conformance kit: what a plugin must do, as checks that anyone can run on theirs.

For a backend, in a test file of its own package::

    from syncoll.testing import BackendConformance
    from my_backend import RECORD

    class TestMyBackend(BackendConformance):
        record = RECORD

or, without pytest, ``check_backend(RECORD)`` returns what is wrong with it.

For whatever handles instances: `syncoll.testing.instances` makes random ones full of corners,
`syncoll.testing.brute_force` knows the truth about them, and `syncoll.testing.classics` builds
well-known machines and collectives.
"""

from syncoll.testing.backends import (
    BACKEND_CHECKS,
    BackendConformance,
    Failure,
    check_backend,
)
from syncoll.testing.candidate import Candidate, ConformanceError
from syncoll.testing.formulas import (
    Models,
    brute_force_models,
    pigeonhole,
    planted,
    random_formula,
)

__all__ = [
    "BACKEND_CHECKS",
    "BackendConformance",
    "Candidate",
    "ConformanceError",
    "Failure",
    "Models",
    "brute_force_models",
    "check_backend",
    "pigeonhole",
    "planted",
    "random_formula",
]
