"""Values that show themselves: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from syncoll.pages import Page

__all__ = ["Shown", "dressed"]

_T = TypeVar("_T")

_AT_HOME = {"session", "source"}


class Shown:
    """Has a page, which is its representation."""

    def page(self) -> Page:
        """What it looks like."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self.page())

    def __str__(self) -> str:
        return str(self.page())

    def _repr_html_(self) -> str:
        return self.page().to_html()

    def __getstate__(self) -> dict[str, Any]:
        """Without what stays where it is: the session, and a definition with its library."""
        own = {field.name for field in fields(self)}  # type: ignore[arg-type]
        inherited = super().__getstate__()
        state = inherited if isinstance(inherited, dict) else vars(self)
        return {k: None if k in _AT_HOME else v for k, v in state.items() if k in own}


def dressed(kind: type[_T], value: Any, **more: Any) -> _T:
    """A frozen value as a subclass of its own type, with more fields.

    Args:
        kind: a dataclass that inherits from the value's.
        value: a dataclass.
        more: the fields that the subclass adds.
    """
    own = {field.name: getattr(value, field.name) for field in fields(value)}
    return kind(**own, **more)
