"""The parts of a C file for MPI."""

from __future__ import annotations

from pathlib import Path

from syncoll.runtime import TableExporter
from syncoll_tables import ModuleFormat, Table, parts_of, rows_text, sizes_of

__all__ = ["EXPORTER", "FORMAT"]


def _call(table: Table) -> list[str]:
    """The parts of a collective in calls.c.txt."""
    kind = "custom, combining" if table.kind == "custom" and table.combining else table.kind
    text = Path(__file__).with_name("calls.c.txt").read_text("utf-8")
    section = text.partition(f"\n== {kind}\n")[2].partition("\n== ")[0]
    return [part.strip() for part in section.split("\n--")]


def _parts(table: Table, name: str) -> dict[str, str]:
    parameters, body, arguments, library, prepare = _call(table)
    if table.kind == "allreduce" and table.chunks > table.share:  # of groups
        library = ""
    steps, _, number = sizes_of(table)
    constants = {
        "NODES": table.nodes,
        "CHUNKS": table.chunks,
        "BLOCKS": table.blocks,
        "SHARE": table.share,
        "STEPS": steps,
        "ROOT": -1 if table.root is None else table.root,
        "COMBINING": int(table.combining),
        "END": -2,
    }
    lines = ["enum {", *(f"    {word} = {value}," for word, value in constants.items()), "};"]
    lines.append(f"#define DIGEST {number:#x}u")
    for word, (comment, width, rows) in parts_of(table).items():
        listed = rows_text((*rows, (-2, *[0] * (width - 1))), "{}")
        lines.append(f"/* {comment} */\nstatic const int {word}[][{width}] = {{\n{listed}\n}};")
    prototype = f"int {name}(\n    {parameters})"
    return {
        "TABLE": "\n".join(lines),
        "PROTOTYPE": prototype,
        "PUBLIC": f"{prototype}\n{{\n    {body}\n}}",
        "CALL": f"{name}({arguments})",
        "PREPARE": prepare,
        "LIBRARY": library,
        "LIBRARIES": str(int(bool(library))),
    }


FORMAT = ModuleFormat("mpi-c", Path(__file__).with_name("module.c.txt"), _parts, " * ")
EXPORTER = TableExporter(FORMAT.text, ".c")
