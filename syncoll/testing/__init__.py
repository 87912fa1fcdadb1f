"""The conformance kits: the requirements of plugins, as checks that every author can run.

Each plug point has one.  For a backend, in a test file of its own package::

    from syncoll.testing import BackendConformance
    from my_backend import RECORD

    class TestMyBackend(BackendConformance):
        record = RECORD

or, without pytest, ``check_backend(RECORD)`` returns its failures.

For code that handles instances, `syncoll.testing.instances` makes random ones with many corner
cases, and `syncoll.testing.brute_force` computes their true answers.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.testing.backends import *
    from syncoll.testing.bounds import *
    from syncoll.testing.candidate import BackendUnderTest as BackendUnderTest
    from syncoll.testing.encodings import *
    from syncoll.testing.exporters import *
    from syncoll.testing.formulas import *
    from syncoll.testing.importers import *
    from syncoll.testing.kit import ConformanceError as ConformanceError, Failure as Failure
    from syncoll.testing.libraries import *
    from syncoll.testing.seeds import (
        SEED_CHECKS as SEED_CHECKS,
        SeedConformance as SeedConformance,
        check_seed as check_seed,
    )
else:
    __getattr__ = lazily(__name__)
