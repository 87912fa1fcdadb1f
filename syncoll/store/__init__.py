"""What searches found out, in one file: answers and bounds, looked up under any numbering."""

from syncoll.store.answers import StoredAnswer, StoredCertificate, StoreDescription
from syncoll.store.cache import CachedBounds, CachedSolutions
from syncoll.store.schema import delete_damaged
from syncoll.store.store import Store, default_path

__all__ = [
    "CachedBounds",
    "CachedSolutions",
    "Store",
    "StoreDescription",
    "StoredAnswer",
    "StoredCertificate",
    "default_path",
    "delete_damaged",
]
