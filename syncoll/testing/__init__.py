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
    from syncoll.testing.backends import BACKEND_CHECKS, BackendConformance, check_backend
    from syncoll.testing.candidate import BackendUnderTest
    from syncoll.testing.encodings import ENCODING_CHECKS, EncodingConformance, check_encoding
    from syncoll.testing.exporters import EXPORTER_CHECKS, ExporterConformance, check_exporter
    from syncoll.testing.formulas import (
        Models,
        brute_force_models,
        pigeonhole,
        planted,
        random_formula,
    )
    from syncoll.testing.importers import IMPORTER_CHECKS, ImporterConformance, check_importer
    from syncoll.testing.kit import ConformanceError, Failure
    from syncoll.testing.libraries import (
        SPEC_LIBRARY_CHECKS,
        SpecLibraryConformance,
        check_spec_library,
    )
    from syncoll.testing.seeds import SEED_CHECKS, SeedConformance, check_seed
else:
    __getattr__ = lazily(
        __name__,
        {
            "backends": "BACKEND_CHECKS BackendConformance check_backend",
            "candidate": "BackendUnderTest",
            "encodings": "ENCODING_CHECKS EncodingConformance check_encoding",
            "exporters": "EXPORTER_CHECKS ExporterConformance check_exporter",
            "formulas": "Models brute_force_models pigeonhole planted random_formula",
            "importers": "IMPORTER_CHECKS ImporterConformance check_importer",
            "kit": "ConformanceError Failure",
            "libraries": "SPEC_LIBRARY_CHECKS SpecLibraryConformance check_spec_library",
            "seeds": "SEED_CHECKS SeedConformance check_seed",
        },
    )

__all__ = [
    "BACKEND_CHECKS",
    "ENCODING_CHECKS",
    "EXPORTER_CHECKS",
    "IMPORTER_CHECKS",
    "SEED_CHECKS",
    "SPEC_LIBRARY_CHECKS",
    "BackendConformance",
    "BackendUnderTest",
    "ConformanceError",
    "EncodingConformance",
    "ExporterConformance",
    "Failure",
    "ImporterConformance",
    "Models",
    "SeedConformance",
    "SpecLibraryConformance",
    "brute_force_models",
    "check_backend",
    "check_encoding",
    "check_exporter",
    "check_importer",
    "check_seed",
    "check_spec_library",
    "pigeonhole",
    "planted",
    "random_formula",
]
