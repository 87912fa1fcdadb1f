"""Packages whose names are imported at their first use have all of them."""

from __future__ import annotations

import importlib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import syncoll

ROOT = Path(syncoll.__file__).parent
LAZY = [
    ".".join(("syncoll", *file.relative_to(ROOT).parts[:-1]))
    for file in sorted(ROOT.rglob("__init__.py"))
    if "lazily(__name__)" in file.read_text("utf-8")
]


@pytest.mark.parametrize("name", LAZY)
def test_every_name_is_there(name: str) -> None:
    package: ModuleType = importlib.import_module(name)
    assert package.__all__
    for one in package.__all__:
        assert getattr(package, one) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = package.nothing


def test_names_over_several_lines_and_in_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = (
        "from typing import TYPE_CHECKING\n"
        "from syncoll.lazy import lazily\n"
        "if TYPE_CHECKING:\n"
        "    from far.one import (\n"
        "        first as first,  # of two\n"
        "        second as second,\n"
        "    )\n"
        "    from far.two import third as third\n"
        "else:\n    __getattr__ = lazily(__name__)\n"
    )
    with zipfile.ZipFile(tmp_path / "far.zip", "w") as archive:
        archive.writestr("far/__init__.py", face)
        archive.writestr("far/one.py", "first, second = 1, 2\n")
        archive.writestr("far/two.py", "raise ImportError('not to be had')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "far.zip"))
    far = importlib.import_module("far")
    assert far.__all__ == ["first", "second", "third"]
    assert (far.first, far.second) == (1, 2)
    with pytest.raises(ImportError, match="not to be had"):
        _ = far.third
