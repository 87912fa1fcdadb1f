"""Every frontier, bound and forest that a test reads is checked by both checkers, which agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from syncoll.documents import stored_forest
from syncoll.documents.sniff import kind_in
from syncoll.documents.stored import StoredFile
from syncoll.errors import SyncollError
from syncoll.trust.claims import check_claims
from syncoll_check import FileError, WrongError, check

_LARGEST = 200_000
"""Bytes of a file that is checked twice."""


@contextmanager
def compared() -> Iterator[None]:
    """Both checkers check each file that is read in this context; an AssertionError if they
    differ."""
    claims, read_forests = StoredFile.claims, stored_forest.read_forests

    def claims_of(self: StoredFile) -> Any:
        _compare(json.dumps(dict(self.document)).encode(), lambda: check_claims(claims(self)))
        return claims(self)

    def forests_of(path: Path, network: Any = None) -> Any:
        if network is None and kind_in(path) == "forest":
            _compare(path.read_bytes(), lambda: read_forests(path))
        return read_forests(path, network)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoredFile, "claims", claims_of)
        patch.setattr(stored_forest, "read_forests", forests_of)
        yield


def _compare(content: bytes, ours: Callable[[], object]) -> None:
    if len(content) > _LARGEST:
        return
    refused = independent = ""
    try:
        ours()
    except SyncollError as error:
        refused = str(error)
    try:
        check(content)
    except (FileError, WrongError) as error:
        independent = str(error)
    assert bool(refused) is bool(independent), f"check: {refused}; syncoll_check: {independent}"
