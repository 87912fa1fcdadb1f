"""The spec language: collectives, machines and searches in ``.syncoll`` files.

Data flows one way: grammar, parser, syntax, evaluator, model objects; `SpecLibrary` is the door.
"""

from syncoll.spec.check import CheckReport, check_file
from syncoll.spec.library import DefinitionSummary, Kind, Reader, SpecLibrary
from syncoll.spec.searching import SearchSpec
from syncoll.spec.writer import topology_to_spec

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
