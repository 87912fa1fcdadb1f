"""The spec language: collectives, machines and searches in ``.syncoll`` files.

Data flows one way: grammar, parser, syntax, evaluator, model objects; `SpecLibrary` is the door.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.spec.check import CheckReport as CheckReport, check_file as check_file
    from syncoll.spec.families import *
    from syncoll.spec.foreign import Reader as Reader
    from syncoll.spec.instantiate import SearchSpec as SearchSpec
    from syncoll.spec.layouts import layout_of as layout_of
    from syncoll.spec.library import *
    from syncoll.spec.writer import topology_to_spec as topology_to_spec
else:
    __getattr__ = lazily(__name__)
