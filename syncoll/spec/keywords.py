"""The words of the language, and words about them."""

from collections.abc import Iterable

_RESERVED = """
and collective div else false for if import in inverse let link mod nodes not or post pre relation
require search shared then topology true
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that cannot be names.  The other words are reserved only in their places."""

AMBIENT = {"P": "the number of nodes", "C": "the chunks per node", "G": "the global chunks"}
"""Names whose value the language itself defines."""

BUILTIN_NAMES = {
    "abs": "abs(x)",
    "all": "all(condition for …)",
    "any": "any(condition for …)",
    "box_nodes": "box_nodes(sizes, most)",
    "layout_cells": "layout_cells(source, target)",
    "len": "len(list)",
    "max": "max(a, b, …)",
    "min": "min(a, b, …)",
    "product": "product(list)",
    "range": "range(end) or range(start, end)",
    "sum": "sum(list)",
    "switch": "switch(i)",
    "token_places": "token_places(routing, experts, placement)",
    "vector": "vector(list)",
}
"""The functions of the language, and their calls."""


def list_words(words: Iterable[str], last: str = "or") -> str:
    """``a, b or c``."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"
