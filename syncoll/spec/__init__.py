"""The spec language: collectives, machines and searches in ``.syncoll`` files.

Data flows one way: grammar, parser, syntax, evaluator, model objects; `SpecLibrary` is the door.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.spec.check import CheckReport, check_file
    from syncoll.spec.families import Condition, Family, Machine, applying, conditions_of, members
    from syncoll.spec.foreign import Reader
    from syncoll.spec.library import DefinitionSummary, Kind, SpecLibrary
    from syncoll.spec.searching import SearchSpec
    from syncoll.spec.writer import topology_to_spec
else:
    __getattr__ = lazily(
        __name__,
        {
            "check": "CheckReport check_file",
            "families": "Condition Family Machine applying conditions_of members",
            "foreign": "Reader",
            "library": "DefinitionSummary Kind SpecLibrary",
            "searching": "SearchSpec",
            "writer": "topology_to_spec",
        },
    )

__all__ = [
    "CheckReport",
    "Condition",
    "DefinitionSummary",
    "Family",
    "Kind",
    "Machine",
    "Reader",
    "SearchSpec",
    "SpecLibrary",
    "applying",
    "check_file",
    "conditions_of",
    "members",
    "topology_to_spec",
]
