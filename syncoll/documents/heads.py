"""What a file says of itself at its beginning, without reading all of it."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["holds_forest"]

_HEAD = 1 << 16


def holds_forest(path: Path) -> bool:
    """Whether a file says of itself, at its beginning, that it is a forest's."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return False
    return re.search(rb'"schema"\s*:\s*"syncoll/forest/', head) is not None
