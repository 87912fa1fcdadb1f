"""A pause of Python's garbage collector while millions of lists are made that live on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collected_later"]


@contextmanager
def collected_later() -> Iterator[None]:
    """While it lasts nothing that refers to itself is looked for.

    Whenever many lists were made the collector looks at all there are: two thirds of the time in
    which a large file is written went there.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
