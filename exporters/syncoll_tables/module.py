"""The text of a module: a template with the head, the table and the names filled in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from syncoll_tables.replay import Rows, digest

_WIDTH = 96


@dataclass(frozen=True)
class Table:
    """The table of a file, with the fields of `syncoll.runtime.MessageTable`."""

    kind: str
    root: int | None
    nodes: int
    chunks: int
    blocks: int
    share: int
    combining: bool
    places: Rows
    messages: Rows
    sums: Rows


@dataclass(frozen=True)
class ModuleFormat:
    """A runtime for which modules are written.

    Args:
        name: of the exporter.
        template: its file; words between ``@`` are filled in.
        parts: the words and texts of a module, from its table and the name of its function.
        comment: the beginning of a line of the head.
    """

    name: str
    template: Path
    parts: Callable[[Table, str], Mapping[str, str]]
    comment: str = ""

    def text(self, table: Table, function: str, head: str) -> str:
        """The module with a head."""
        root = -1 if table.root is None else table.root
        numbers = table.nodes, table.chunks, table.blocks, table.share, root, int(table.combining)
        values = {
            "HEADER": f"syncoll-{self.name} 1: {function} {table.kind} "
            + " ".join(map(str, numbers)),
            "FUNCTION": function,
            "NODES": str(table.nodes),
            **self.parts(table, function),
        }
        text = self.template.read_text("utf-8")
        for word, value in values.items():
            text = text.replace(f"@{word}@", value)
        lines = ((self.comment + line).rstrip() for line in head.splitlines())
        return text.replace("@HEAD@", "\n".join(lines).removeprefix(self.comment))


def sizes_of(table: Table) -> tuple[int, int, int]:
    """S, the slots of the largest message, and the digest of the table."""
    steps = 1 + max((row[0] for row in (*table.messages, *table.sums)), default=0)
    sizes = [sum(r[-1] for r in rows) for _, rows in groupby(table.messages, lambda r: r[:4])]
    return steps, max(sizes, default=1), digest(table.places, table.messages, table.sums)


def rows_text(rows: Iterable[Sequence[int]], brackets: str = "()") -> str:
    """Rows of a table, several a line."""
    words = (brackets[0] + ", ".join(map(str, row)) + brackets[1] + "," for row in rows)
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else f"    {word}"
    return "\n".join(lines)


_COLUMNS = {
    "PLACES": "rank, 0 input 1 output 2 both 3 scratch, first chunk, chunks",
    "MESSAGES": "step, source, destination, tag, slots sent, slots stored, slots",
    "SUMS": "step, rank, slots of the sum, of a part, of the other (-1: a copy), slots",
}


def parts_of(table: Table) -> dict[str, tuple[str, int, Rows]]:
    """The columns, their number and the rows of each part."""
    return {
        name: (columns, columns.count(", ") + 1, rows)
        for (name, columns), rows in zip(
            _COLUMNS.items(), (table.places, table.messages, table.sums), strict=True
        )
    }


def python_table(table: Table) -> str:
    """The constants and tables of a Python module."""
    steps, largest, number = sizes_of(table)
    in_place = table.kind in ("allreduce", "reduce")
    lines = [
        f"NODES, CHUNKS, BLOCKS, SHARE = "
        f"{table.nodes}, {table.chunks}, {table.blocks}, {table.share}",
        f"STEPS, LARGEST, DIGEST = {steps}, {largest}, {number:#x}",
        f"COMBINING, IN_PLACE = {table.combining}, {in_place}",
    ]
    for name, (comment, _, rows) in parts_of(table).items():
        lines.append(f"# {comment}\n{name} = [\n{rows_text(rows)}\n]" if rows else f"{name} = []")
    return "\n".join(lines)


def replay_source() -> str:
    """The replay of a table, as modules contain it."""
    text = Path(__file__).with_name("replay.py").read_text("utf-8")
    return text[text.index("Rows = ") :].rstrip()
