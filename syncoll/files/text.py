"""JSON text that people can read: objects indented, lists of numbers on one line each."""

from __future__ import annotations

import json

__all__ = ["to_text"]


def to_text(value: object, indent: str = "") -> str:
    """The value as JSON text without a final line break."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{json.dumps(str(k))}: {to_text(v, deeper)}" for k, v in value.items()]
        return "{\n" + ",\n".join(deeper + row for row in rows) + "\n" + indent + "}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = [to_text(item, deeper) for item in value]
        return "[\n" + ",\n".join(deeper + row for row in rows) + "\n" + indent + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
