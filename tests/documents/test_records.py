"""Records of files, all of them together."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

import syncoll.documents
from syncoll.documents.record import Record


def test_no_two_records_share_a_name() -> None:
    """A JSON Schema refers to records by these names."""
    for module in pkgutil.iter_modules(syncoll.documents.__path__, "syncoll.documents."):
        importlib.import_module(module.name)
    found, waiting = set[type[Record]](), [Record]
    while waiting:
        for one in waiting.pop().__subclasses__():
            if one not in found:
                found.add(one)
                waiting.append(one)
    names = Counter(one.__name__ for one in found if one.__module__.startswith("syncoll."))
    assert len(names) > 20
    assert [name for name, times in names.items() if times > 1] == []
