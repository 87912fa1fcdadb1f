"""Packages whose names are imported at their first use (PEP 562).

Code that only resolves a name, or registers a record, must not pay for numpy and everything built
on it.  Each name is written once: in the imports that type checkers read, or where it is defined,
in a module whose public names are all exported (with an ``__all__``, only its names)::

    if TYPE_CHECKING:
        from syncoll.model.algorithm import Algorithm as Algorithm
        from syncoll.model.rows import *
    else:
        __getattr__ = lazily(__name__)

A module whose functions need such names calls `import_names` before the first of them runs.
"""

import importlib
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_DISPLAYS: list[str] = []


def displayed_by(module: str) -> None:
    """Names the module that has the HTML and the drawings of values of the lower floors."""
    _DISPLAYS.append(module)


def displays() -> Any:
    """The module of `displayed_by`: its `html_of` and `drawing_of` take a value."""
    return importlib.import_module(_DISPLAYS[-1])


_BLOCK = re.compile(r"^if TYPE_CHECKING:\n((?: .*\n|\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^    from (\S+) import ([^(\n]+|\([^)]+\))", re.MULTILINE)
_ALL = re.compile(r"^__all__ = [\[(]([^\])]*)[\])]", re.MULTILINE)
_DEFINED = re.compile(r"^(?:class|def) ([A-Za-z]\w*)|^([A-Za-z]\w*)(?:: .+)? = ", re.MULTILINE)


def lazily(package: str) -> Callable[[str], object]:
    """The ``__getattr__`` of a package with the names that it imports for type checkers."""

    @cache
    def homes() -> dict[str, str]:
        found: dict[str, str] = {}
        for module, names in _IMPORT.findall("".join(_BLOCK.findall(source_of(package)))):
            listed = re.findall(r"(\w+) as \1", names)
            if names == "*":
                source = source_of(module)
                listed = re.findall(r"\w+", "".join(_ALL.findall(source)))
                listed = listed or ["".join(one) for one in _DEFINED.findall(source)]
            found |= dict.fromkeys(listed, module)
        return found

    def source_of(module: str) -> str:
        # Not by the module's loader: that decodes the source by way of `tokenize`.
        spec: Any = sys.modules[package].__spec__
        below = module[len(package) + 1 :].replace(".", "/") or "__init__"
        file = spec.origin.replace("__init__.py", f"{below}.py")
        content: bytes = spec.loader.get_data(file)
        return content.decode("utf-8")

    def find(name: str) -> object:
        if name == "__all__":
            return sorted(homes())
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)  # found without us from now on
        return value

    return find


def import_names(module: str) -> None:
    """Imports the names that a module imports for type checkers alone."""
    spec: Any = sys.modules[module].__spec__
    source: bytes = spec.loader.get_data(spec.origin)
    for home, names in _IMPORT.findall("".join(_BLOCK.findall(source.decode("utf-8")))):
        for name, alias in re.findall(r"(\w+)(?: as (\w+))?", names):
            owner = importlib.import_module(home)
            found = getattr(owner, name, None) or importlib.import_module(f"{home}.{name}")
            vars(sys.modules[module]).setdefault(alias or name, found)
