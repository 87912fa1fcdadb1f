"""The schedule tables of stored algorithms."""

from typing import Any

from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.documents.ni_tables import HEAD, ScheduleTable, ni_tables
from syncoll.errors import ExportError, UsageError
from syncoll.pages import Page
from syncoll.session.names import Tell
from syncoll.verbs.result import Shown, picked
from syncoll.wording import counted

_Made = list[tuple[StoredAlgorithm, tuple[ScheduleTable, ...]]]


def ni_tables_of(stored: StoredFile, tell: Tell) -> Shown:
    """A table for each node of every algorithm of a file.

    Args:
        tell: receives a note about each algorithm without tables.

    Raises:
        UsageError: if the file has no algorithm.
        ExportError: if none of its algorithms has schedule tables.
    """
    if not stored.algorithms:
        raise UsageError(f"there is no algorithm in it; a {stored.kind} that holds one is needed")
    made: _Made = []
    refusals: list[tuple[StoredAlgorithm, ExportError]] = []
    for one in stored.algorithms:
        try:
            made.append((one, ni_tables(one.instance, one.algorithm)))
        except ExportError as error:
            refusals.append((one, error))
    if not made:
        raise refusals[0][1]
    for one, refusal in refusals:
        tell(f"no tables for {_point(one)}: {refusal}")
    page = Page()
    for number, (one, tables) in enumerate(made):
        if number:
            page.text()
        _add(page, one, tables)
    return Shown(page, lambda: _document(stored, made))


def _point(one: StoredAlgorithm) -> str:
    return f"C = {one.chunks}, S = {one.steps}, R = {one.rounds}"


def _add(page: Page, one: StoredAlgorithm, tables: tuple[ScheduleTable, ...]) -> None:
    instance = one.instance
    page.text(
        f"{instance.collective} on {instance.topology.name}: schedule tables for {_point(one)}; "
        f"a flow is one of {counted(instance.num_chunks, 'chunk')}, steps count from 1\n"
    )
    width = max(1, *(table.num_children for table in tables))
    op, flow, parent, children, step = HEAD
    columns = (op, f">{flow}", f">{parent}", f">{children}", *[">"] * (width - 1), f">{step}")
    for table in tables:
        page.text(f"node {table.node}")
        page.table(columns, [entry.cells(width) for entry in table.entries])


def _document(stored: StoredFile, made: _Made) -> dict[str, Any]:
    def entries(table: ScheduleTable) -> list[dict[str, Any]]:
        return [
            {**picked(e, "flow parent step"), "op": str(e.op), "children": list(e.children)}
            for e in table.entries
        ]

    return {
        "schema": "syncoll/ni-table/1",
        "collective": stored.collective,
        "topology": stored.topology.name,
        "algorithms": [
            {
                **picked(one, "chunks steps rounds"),
                "tables": [{"node": table.node, "entries": entries(table)} for table in tables],
            }
            for one, tables in made
        ],
    }
