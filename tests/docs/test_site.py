"""The build of the site refuses a search that needs a server or another host."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from mkdocs.exceptions import PluginError

from .conftest import DOCS

_SPEC = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
assert _SPEC is not None
hooks: Any = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(hooks)

WORKER = '<script src="../assets/iframe-worker.js"></script>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of one page with an embedded index."""
    (tmp_path / "search").mkdir()
    index = 'var __index = {"config": {}, "docs": [{"location": "a.html", "text": "rings"}]}'
    (tmp_path / "search" / "search_index.js").write_text(index, encoding="utf-8")
    (tmp_path / "a.html").write_text(f"<html>{WORKER}</html>", encoding="utf-8")
    return tmp_path


def test_an_embedded_index_is_accepted(site: Path) -> None:
    hooks.require_offline_search(site)


@pytest.mark.parametrize("index", [None, "", "var __index = ", 'var __index = {"docs": []}'])
def test_a_missing_or_empty_index_is_refused(index: str | None, site: Path) -> None:
    script = site / "search" / "search_index.js"
    script.unlink()
    if index is not None:
        script.write_text(index, encoding="utf-8")
    with pytest.raises(PluginError, match="no search index"):
        hooks.require_offline_search(site)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html></html>", "no iframe-worker.js"),
        (f'{WORKER}<script src="https://example.com/shim"></script>', "another host"),
    ],
)
def test_a_page_whose_search_fails_offline_is_refused(page: str, words: str, site: Path) -> None:
    (site / "b.html").write_text(page, encoding="utf-8")
    with pytest.raises(PluginError, match=words):
        hooks.require_offline_search(site)
