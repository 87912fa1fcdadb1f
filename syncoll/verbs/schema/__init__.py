"""Prints the JSON Schema (draft 2020-12) of a kind of file that syncoll writes.

It is complete in itself.

  syncoll schema frontier > frontier.schema.json
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from syncoll.errors import UsageError
from syncoll.verbs.asking import verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll import documents

SHELL = Shell(formats=False)


@verb
def file_schema(
    kind: Literal[
        "frontier",
        "outcome",
        "algorithm",
        "refutation",
        "forest",
        "plan",
        "simulation",
        "recommendation",
        "floors",
    ],
) -> Mapping[str, Any]:
    """The JSON Schema of a kind of file.

    Args:
        kind: frontier (of pareto and search), outcome (of solve), algorithm, refutation, forest,
            plan, simulation, recommendation or floors (of simulate).

    Raises:
        UsageError: if there is no such kind.

    >>> file_schema("frontier")["title"] != ""
    True
    """
    try:
        return documents.schema(kind)
    except KeyError:
        known = ", ".join(documents.KINDS)
        raise UsageError(f"{kind!r} is not a kind of file; expected one of {known}") from None
