"""The schedule tables of stored algorithms, for people and as JSON."""

from __future__ import annotations

from typing import Any

from syncoll.cli.output import note, picked, print_json, print_page, print_text
from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.documents.ni_tables import HEAD, ScheduleTable, ni_tables
from syncoll.errors import ExportError, UsageError
from syncoll.pages import Page
from syncoll.wording import counted

__all__ = ["show_ni_tables"]


def show_ni_tables(stored: StoredFile, style: str) -> None:
    """One table a node for every algorithm of a file; those that have none are named in a note.

    Raises:
        UsageError: when the file holds no algorithm.
        ExportError: when none of its algorithms has schedule tables.
    """
    if not stored.algorithms:
        raise UsageError(f"there is no algorithm in it; a {stored.kind} that holds one is needed")
    made: list[tuple[StoredAlgorithm, tuple[ScheduleTable, ...]]] = []
    refusals: list[tuple[StoredAlgorithm, ExportError]] = []
    for one in stored.algorithms:
        try:
            made.append((one, ni_tables(one.instance, one.algorithm)))
        except ExportError as error:
            refusals.append((one, error))
    if not made:
        raise refusals[0][1]
    for one, refusal in refusals:
        note(f"no tables for {_point(one)}: {refusal}")
    if style == "json":
        print_json(
            {
                "schema": "syncoll/ni-table/1",
                "collective": stored.collective,
                "topology": stored.topology.name,
                "algorithms": [_to_json(one, tables) for one, tables in made],
            }
        )
        return
    for number, (one, tables) in enumerate(made):
        if number:
            print_text()
        _print(one, tables)


def _point(one: StoredAlgorithm) -> str:
    return f"C = {one.chunks}, S = {one.steps}, R = {one.rounds}"


def _print(one: StoredAlgorithm, tables: tuple[ScheduleTable, ...]) -> None:
    instance = one.instance
    print_text(
        f"{instance.collective} on {instance.topology.name}: schedule tables for {_point(one)}; "
        f"a flow is one of {counted(instance.num_chunks, 'chunk')}, steps count from 1\n"
    )
    width = max(1, *(table.num_children for table in tables))
    op, flow, parent, children, step = HEAD
    columns = (op, f">{flow}", f">{parent}", f">{children}", *[">"] * (width - 1), f">{step}")
    for table in tables:
        print_text(f"node {table.node}")
        print_page(Page().table(columns, [entry.cells(width) for entry in table.entries]))


def _to_json(one: StoredAlgorithm, tables: tuple[ScheduleTable, ...]) -> dict[str, Any]:
    return {
        **picked(one, "chunks steps rounds"),
        "tables": [
            {
                "node": table.node,
                "entries": [
                    {
                        **picked(entry, "flow parent step"),
                        "op": str(entry.op),
                        "children": list(entry.children),
                    }
                    for entry in table.entries
                ],
            }
            for table in tables
        ],
    }
