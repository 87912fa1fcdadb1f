"""Code of a plugin by its name, such as ``"syncoll_bfb.seed:BreadthFirstSeed"``.

A record names its code, so that registering it imports nothing else; the code is imported at the
first call.
"""

from __future__ import annotations

import importlib
import operator
import re
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

_F = TypeVar("_F")
_NAME = re.compile(r"(\w+(?:\.\w+)*):(\w+(?:\.\w+)*)")


@dataclass(frozen=True)
class NamedCode:
    """A function or class by its name.  It can be pickled, and called like the function or class.

    Args:
        module: the full name of the module: ``syncoll_bfb.seed``.
        name: the name in the module, with dots for nested names: ``BreadthFirstSeed``.
    """

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """Calls the named function or class; returns the object itself if it cannot be called."""
        found = operator.attrgetter(self.name)(importlib.import_module(self.module))
        return found(*arguments) if callable(found) else found


class Code(Generic[_F]):
    """A field of a record that takes a function, or its name as ``package.module:name``.

    Args:
        default: the function if a record gives none; without a default the field is required.
    """

    def __init__(self, *default: _F) -> None:
        self._default = default
        self._field = ""

    def __set_name__(self, owner: type, field: str) -> None:
        self._field = field

    @overload
    def __get__(self, record: None, owner: type) -> _F: ...
    @overload
    def __get__(self, record: object, owner: type) -> _F: ...
    def __get__(self, record: object, owner: type) -> Any:
        if record is not None:
            return vars(record)[self._field]
        if not self._default:  # so that the dataclass sees no default
            raise AttributeError(self._field)
        return self._default[0]

    def __set__(self, record: object, given: _F | str) -> None:
        name = _NAME.fullmatch(given) if isinstance(given, str) else None
        vars(record)[self._field] = NamedCode(*name.groups()) if name else given
