"""Algorithms, outcomes and frontiers as versioned JSON, verified when they are read."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.documents.atomic import *
    from syncoll.documents.document import (
        KINDS as KINDS,
        VERSION as VERSION,
        WITH_ALGORITHMS as WITH_ALGORITHMS,
        schema as schema,
    )
    from syncoll.documents.json_text import to_text as to_text
    from syncoll.documents.outcome import (
        algorithm_document as algorithm_document,
        outcome_document as outcome_document,
    )
    from syncoll.documents.stored import load_text as load_text, read_file as read_file
    from syncoll.documents.stored_file import *
    from syncoll.documents.written_frontier import frontier_document as frontier_document
else:
    __getattr__ = lazily(__name__)
