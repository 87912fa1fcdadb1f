from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import syncoll_specs
from syncoll.spec import SpecLibrary

SpecFile = Callable[..., Path]


@pytest.fixture(scope="session")
def library() -> SpecLibrary:
    return SpecLibrary([Path(syncoll_specs.__file__).parent])


@pytest.fixture
def spec_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpecFile:
    """Writes a file into the working directory, so that its label is only its name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes, name: str = "my.syncoll") -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
