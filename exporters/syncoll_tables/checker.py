"""Checks modules: replays their table, and compares it with the collective and the template."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.model.associations import PartialSum, in_words
from syncoll.plugins import CheckedExport, Options
from syncoll_tables.module import ModuleFormat, Table
from syncoll_tables.replay import Rows, replay
from syncoll_threadblocks import STANDARD, OwnSpecification, Specification

_HEADER = re.compile(r"syncoll-([\w-]+) 1: (\w+) (\w+)((?: -?\d{1,9}){6})$", re.MULTILINE)
_TABLE = re.compile(
    r"\b(PLACES|MESSAGES|SUMS)\b[^=\n]*= [\[{](.*?)[\]}];?$", re.DOTALL | re.MULTILINE
)
_ROW = re.compile(r"[({](-?\d{1,9}(?:, -?\d{1,9})*)[)}]")
_WIDTHS = {"PLACES": 4, "MESSAGES": 7, "SUMS": 6}
_CUSTOM = "custom"
_END = -2
"""The first number of the last row of a table in C."""

_UNSAFE = re.compile(r'"""|\*/|\\|\?\?/')
"""Text that may end a comment, also after a line is continued."""

_MOST_NODES = 1 << 16
_MOST_SLOTS = 5_000_000
"""Of all rows and steps together."""


@dataclass(frozen=True)
class TableChecker:
    """Reads modules of one format."""

    format: ModuleFormat

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`."""
        (content,) = files.values()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VerificationError(f"byte {error.start} is not UTF-8") from None
        table, function = _read(text, self.format.name)
        try:
            tables = table.places, table.messages, table.sums
            results = replay(table.nodes, table.combining, *tables, PartialSum(1))
        except ValueError as error:
            raise VerificationError(str(error)) from None
        before, after = self.format.text(table, function, "@HEAD@").split("@HEAD@")
        head = text.removeprefix(before).removesuffix(after)
        if len(head) + len(before) + len(after) != len(text) or _UNSAFE.search(head):
            raise VerificationError(
                "its code or its table differs from the exported one; export it again"
            )
        spec = _specification(table)
        if instance is not None:
            spec.require_same(instance)
        messages = {row[:4] for row in table.messages}
        return CheckedExport(
            self.format.name,
            table.kind,
            table.nodes,
            None,
            {"messages": len(messages), "sums": sum(row[4] >= 0 for row in table.sums)},
            links=frozenset((row[1], row[2]) for row in table.messages),
            num_chunks=table.chunks,
            added=in_words((chunk, rank, value) for chunk, rank, value in results),
        )


def _read(text: str, name: str) -> tuple[Table, str]:
    """The table, and the name of the function."""
    head = _HEADER.search(text)
    if head is None or head[1] != name:
        raise VerificationError(f"its first line has no syncoll-{name} 1")
    nodes, chunks, blocks, share, root, combining = map(int, head[4].split())
    if head[3] not in (*STANDARD, _CUSTOM):
        raise VerificationError(f"there is no collective {head[3]}")
    numbers = 0 < nodes <= _MOST_NODES and chunks > 0 and blocks > 0 and share > 0
    if not (numbers and -1 <= root < nodes and combining in (0, 1)):
        raise VerificationError("the numbers of its first line are out of range")
    found: dict[str, Rows] = {}
    for match in _TABLE.finditer(text):
        rows = (tuple(map(int, row.split(", "))) for row in _ROW.findall(match[2]))
        found.setdefault(match[1], tuple(row for row in rows if row[0] != _END))
    for table, width in _WIDTHS.items():
        if table not in found or any(len(row) != width for row in found[table]):
            raise VerificationError(f"{table} is missing, or a row has not {width} numbers")
    for rank, holds, chunk, count in found["PLACES"]:
        if not (
            0 <= rank < nodes and 0 <= holds < 4 and chunk >= 0 and 0 < count <= chunks - chunk
        ):
            raise VerificationError(f"a row of PLACES is out of range, for rank {rank}")
    for table, least in (("MESSAGES", 0), ("SUMS", -1)):
        order = [least, *(row[0] for row in found[table])]
        if order != sorted(order):
            raise VerificationError(f"the steps of {table} are not in order from {least} on")
    moved = sum(abs(row[-1]) for rows in found.values() for row in rows)
    steps = 1 + max((row[0] for row in (*found["MESSAGES"], *found["SUMS"])), default=0)
    if moved + steps > _MOST_SLOTS:
        raise UncheckedError(f"it has {steps} steps and {moved} slots, too many to follow")
    what = head[3], None if root < 0 else root, nodes, chunks, blocks, share, bool(combining)
    return Table(*what, *(found[table] for table in _WIDTHS)), head[2]


def _specification(table: Table) -> OwnSpecification:
    """The collective whose buffers the table has; VerificationError if it is another one."""
    sides: list[list[list[int]]] = [[[] for _ in range(table.nodes)] for _ in range(2)]
    for rank, holds, first, count in table.places:
        for side, kinds in zip(sides, ((0, 2), (1, 2)), strict=True):
            if holds in kinds:
                side[rank].extend(range(first, first + count))
    inputs, outputs = (tuple(map(tuple, side)) for side in sides)
    most = max(map(len, (*inputs, *outputs))) // table.share
    cut = (table.chunks, 1) if table.kind == _CUSTOM else (most, table.share)
    if (table.blocks, table.share) != cut:
        raise VerificationError(f"{table.kind} has no {table.blocks} blocks of {table.share}")
    if table.kind == _CUSTOM:
        return OwnSpecification(table.kind, table.combining, inputs, outputs)
    groups = table.chunks // table.share if table.kind == "allreduce" else 1
    if groups > 1:
        for rank in range(table.nodes):
            first = min(inputs[rank], default=0)
            block = tuple(range(first, first + table.share)) if inputs[rank] else ()
            if inputs[rank] != block or outputs[rank] != block or first % table.share:
                raise VerificationError(f"rank {rank} has other chunks than its group")
        return _Groups(table.kind, table.combining, inputs, outputs)
    spec = Specification(table.kind, table.nodes, table.share, table.root)
    own = OwnSpecification(table.kind, spec.combining, spec.inputs, spec.outputs)
    own = own.in_pieces(table.share)
    if (own.inputs, own.outputs, own.combining) != (inputs, outputs, table.combining):
        raise VerificationError(f"its chunks do not make it {table.kind}")
    return spec


class _Groups(OwnSpecification):
    """Allreduces of several groups, whose chunks have other numbers than in an instance."""

    def require_same(self, instance: Instance, *, any_cut: bool = False) -> None:
        self._require_alike(instance, "the file")
        if OwnSpecification.of_instance(instance).demands() != self.demands():
            raise VerificationError(f"its groups are other ones than in {instance.collective}")
