"""The name of an instantiated definition: the call that people would type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncoll.spec.syntax import Definition
from syncoll.spec.values import written

__all__ = ["call_text"]


def call_text(definition: Definition, names: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """``ring(8)``, ``broadcast(root=3)``: without the arguments that equal their default."""
    parts: list[str] = []
    for parameter in definition.parameters:
        value = names[parameter.name]
        if parameter.variadic:
            parts += [written(item) for item in value]
        elif parameter.default is None:
            parts.append(written(value))
        elif written(value) != written(defaults[parameter.name]):
            parts.append(f"{parameter.name}={written(value)}")
    return f"{definition.name}({','.join(parts)})" if parts else definition.name
