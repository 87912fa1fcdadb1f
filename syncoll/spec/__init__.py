"""The spec language: collectives, machines and searches in ``.syncoll`` files.

Data flows one way: grammar, parser, syntax, evaluator, model objects; `SpecLibrary` is the door.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.spec.check import CheckReport, check_file
    from syncoll.spec.library import DefinitionSummary, Kind, Reader, SpecLibrary
    from syncoll.spec.searching import SearchSpec
    from syncoll.spec.writer import topology_to_spec
else:
    __getattr__ = lazily(
        __name__,
        {
            "check": "CheckReport check_file",
            "library": "DefinitionSummary Kind Reader SpecLibrary",
            "searching": "SearchSpec",
            "writer": "topology_to_spec",
        },
    )

__all__ = [
    "CheckReport",
    "DefinitionSummary",
    "Kind",
    "Reader",
    "SearchSpec",
    "SpecLibrary",
    "check_file",
    "topology_to_spec",
]
