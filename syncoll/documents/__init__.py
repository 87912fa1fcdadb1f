"""Algorithms, outcomes and frontiers as versioned JSON, verified when they are read."""

from syncoll.documents.atomic import (
    remove_empty,
    require_writable,
    write_atomically,
    write_folder,
)
from syncoll.documents.document import (
    KINDS,
    VERSION,
    schema,
)
from syncoll.documents.results import (
    StoredAlgorithm,
    StoredFile,
    algorithm_document,
    frontier_document,
    load_text,
    outcome_document,
    read_file,
    write_document,
)
from syncoll.documents.text import to_text

__all__ = [
    "KINDS",
    "VERSION",
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
