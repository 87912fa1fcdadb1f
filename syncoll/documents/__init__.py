"""Algorithms, outcomes and frontiers as versioned JSON, verified when they are read."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.documents.atomic import (
        remove_empty,
        require_writable,
        write_atomically,
        write_document,
        write_folder,
    )
    from syncoll.documents.document import KINDS, VERSION, WITH_ALGORITHMS, schema
    from syncoll.documents.indented import to_text
    from syncoll.documents.outcome import algorithm_document, outcome_document
    from syncoll.documents.stored import StoredAlgorithm, StoredFile, load_text, read_file
    from syncoll.documents.written_frontier import frontier_document
else:
    __getattr__ = lazily(
        __name__,
        {
            "atomic": "remove_empty require_writable write_atomically write_document write_folder",
            "document": "KINDS VERSION WITH_ALGORITHMS schema",
            "indented": "to_text",
            "outcome": "algorithm_document outcome_document",
            "stored": "StoredAlgorithm StoredFile load_text read_file",
            "written_frontier": "frontier_document",
        },
    )

__all__ = [
    "KINDS",
    "VERSION",
    "WITH_ALGORITHMS",
    "StoredAlgorithm",
    "StoredFile",
    "algorithm_document",
    "frontier_document",
    "load_text",
    "outcome_document",
    "read_file",
    "remove_empty",
    "require_writable",
    "schema",
    "to_text",
    "write_atomically",
    "write_document",
    "write_folder",
]
