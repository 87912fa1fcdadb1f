"""What searches found out, in one file: answers and bounds, looked up under any numbering."""

from syncoll.store.answers import StoredAnswer, StoredCertificate, StoreDescription
from syncoll.store.remembering import (
    AnswersInstances,
    RememberingBounds,
    RememberingSolver,
    SolutionMemory,
    asked_text,
)
from syncoll.store.store import Store, default_path

__all__ = [
    "AnswersInstances",
    "RememberingBounds",
    "RememberingSolver",
    "SolutionMemory",
    "Store",
    "StoreDescription",
    "StoredAnswer",
    "StoredCertificate",
    "asked_text",
    "default_path",
]
