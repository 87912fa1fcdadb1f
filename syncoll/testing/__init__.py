"""The conformance kits: what a plugin must do, as checks that anyone can run on theirs.

There is one for each plug point.  For a backend, in a test file of its own package::

    from syncoll.testing import BackendConformance
    from my_backend import RECORD

    class TestMyBackend(BackendConformance):
        record = RECORD

or, without pytest, ``check_backend(RECORD)`` returns what is wrong with it.

For whatever handles instances: `syncoll.testing.instances` makes random ones full of corners, and
`syncoll.testing.brute_force` knows the truth about them.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.testing.backends import (
        BACKEND_CHECKS as BACKEND_CHECKS,
        BackendConformance as BackendConformance,
        check_backend as check_backend,
    )
    from syncoll.testing.bounds import (
        BOUND_CHECKS as BOUND_CHECKS,
        BoundConformance as BoundConformance,
        check_bound as check_bound,
    )
    from syncoll.testing.candidate import BackendUnderTest as BackendUnderTest
    from syncoll.testing.encodings import (
        ENCODING_CHECKS as ENCODING_CHECKS,
        EncodingConformance as EncodingConformance,
        check_encoding as check_encoding,
    )
    from syncoll.testing.exporters import (
        EXPORTER_CHECKS as EXPORTER_CHECKS,
        ExporterConformance as ExporterConformance,
        check_exporter as check_exporter,
    )
    from syncoll.testing.formulas import (
        Models as Models,
        brute_force_models as brute_force_models,
        pigeonhole as pigeonhole,
        planted as planted,
        random_formula as random_formula,
    )
    from syncoll.testing.importers import (
        IMPORTER_CHECKS as IMPORTER_CHECKS,
        ImporterConformance as ImporterConformance,
        check_importer as check_importer,
    )
    from syncoll.testing.kit import ConformanceError as ConformanceError, Failure as Failure
    from syncoll.testing.libraries import (
        SPEC_LIBRARY_CHECKS as SPEC_LIBRARY_CHECKS,
        SpecLibraryConformance as SpecLibraryConformance,
        check_spec_library as check_spec_library,
    )
    from syncoll.testing.seeds import (
        SEED_CHECKS as SEED_CHECKS,
        SeedConformance as SeedConformance,
        check_seed as check_seed,
    )
else:
    __getattr__ = lazily(__name__)
