"""Packages whose names are imported when they are asked for (PEP 562).

Who only resolves a name, or registers a record, must not pay for numpy and all that is built on it.
Each name is written once, in the imports that type checkers read::

    if TYPE_CHECKING:
        from syncoll.model.algorithm import Algorithm as Algorithm
    else:
        __getattr__ = lazily(__name__)
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from functools import cache

__all__ = ["lazily"]

_BLOCK = re.compile(r"^if TYPE_CHECKING:\n((?: .*\n|\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^    from (\S+) import ([^(\n]+|\([^)]+\))", re.MULTILINE)


def lazily(package: str) -> Callable[[str], object]:
    """The ``__getattr__`` of a package, which has the names that it imports for type checkers."""

    @cache
    def homes() -> dict[str, str]:
        # Not of the module's loader: that decodes the source by way of `tokenize`.
        spec = sys.modules[package].__spec__
        source = spec.loader.get_data(spec.origin).decode("utf-8")  # type: ignore[union-attr]
        imports = _IMPORT.findall("".join(_BLOCK.findall(source)))
        return {
            name: module for module, names in imports for name in re.findall(r"(\w+) as \1", names)
        }

    def find(name: str) -> object:
        if name == "__all__":
            return sorted(homes())
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)  # found without us from now on
        return value

    return find
