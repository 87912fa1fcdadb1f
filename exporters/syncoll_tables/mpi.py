"""A file in C for MPI: the signature of each collective, and tables of numbers."""

from pathlib import Path

from syncoll_tables.module import ModuleFormat, Table, parts_of, rows_text, sizes_of


def _call(table: Table) -> list[str]:
    """The parts of a collective in mpi_calls.c.txt."""
    kind = "custom, combining" if table.kind == "custom" and table.combining else table.kind
    text = Path(__file__).with_name("mpi_calls.c.txt").read_text("utf-8")
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


def mpi_format(name: str) -> ModuleFormat:
    """The format of an exporter of C files for MPI."""
    return ModuleFormat(name, Path(__file__).with_name("mpi.c.txt"), _parts, " * ")
