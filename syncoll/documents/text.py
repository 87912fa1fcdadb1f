"""JSON text that people can read: objects indented, lists of numbers on one line each."""

from __future__ import annotations

import json

__all__ = ["to_text"]


def to_text(value: object, indent: str = "", *, ascii_only: bool = False) -> str:
    """The value as JSON text without a final line break; it can always be encoded in UTF-8.

    Args:
        value: what `json` takes; objects and lists may not be nested deeper than some hundreds.
        indent: of the lines behind the first.
        ascii_only: escape everything else, for streams that cannot say it.
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [
            f"{_scalar(str(k), ascii_only)}: {to_text(v, deeper, ascii_only=ascii_only)}"
            for k, v in value.items()
        ]
        return "{\n" + ",\n".join(deeper + row for row in rows) + "\n" + indent + "}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = [to_text(item, deeper, ascii_only=ascii_only) for item in value]
        return "[\n" + ",\n".join(deeper + row for row in rows) + "\n" + indent + "]"
    return _scalar(value, ascii_only)


def _scalar(value: object, ascii_only: bool) -> str:
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # half of a surrogate pair, as in a file name that is no UTF-8
            return json.dumps(value, allow_nan=False)
    return text
