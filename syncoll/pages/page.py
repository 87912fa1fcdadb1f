"""Page: text and tables for people, laid out when it is known how wide they may be."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, zip_longest

__all__ = ["Page", "visible"]

_GAP = "  "
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class _Table:
    """Cells as texts; columns whose name starts with ``>`` are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        return [column.removeprefix(">") for column in self.columns]

    def lines(self, available: int | None) -> Iterator[str]:
        right = [column.startswith(">") for column in self.columns]
        cells = [self.names, *map(list, self.rows)]
        widths = _widths(cells, available)
        if available is not None and _total(widths) > available and self.rows:
            yield from _records(cells[0], cells[1:], available)
            return
        ruler = "  " + _GAP.join("─" * w for w in widths)
        for number, row in enumerate(cells):
            if number == 1:
                yield ruler
            wrapped = [_wrap(cell, w) for cell, w in zip(row, widths, strict=True)]
            for parts in zip_longest(*wrapped, fillvalue=""):
                line = _GAP.join(
                    part.rjust(w) if to_right else part.ljust(w)
                    for part, w, to_right in zip(parts, widths, right, strict=True)
                )
                yield f"  {line}".rstrip()
        if not self.rows:
            yield ruler
        yield ""

    def to_html(self) -> str:
        style = [
            f' style="text-align:{"right" if column.startswith(">") else "left"}"'
            for column in self.columns
        ]
        lines = [
            "<tr>"
            + "".join(
                f"<{tag}{how}>{escape(cell)}</{tag}>" for cell, how in zip(row, style, strict=True)
            )
            + "</tr>"
            for tag, rows in (("th", [self.names]), ("td", self.rows))
            for row in rows
        ]
        return "<table>" + "".join(lines) + "</table>"


@dataclass(frozen=True)
class _Text:
    """A line or several; what is wrapped begins at a column, where one is given."""

    text: str
    hang: int | None = None

    def lines(self, width: int | None) -> Iterator[str]:
        for line in visible(self.text).split("\n"):
            if width is None or len(line) <= width:
                yield line
                continue
            hang = len(line) - len(line.lstrip()) + 2 if self.hang is None else self.hang
            yield from textwrap.wrap(
                line,
                width,
                subsequent_indent=" " * min(hang, width // 2),
                break_long_words=False,
                break_on_hyphens=False,
            )


@dataclass(eq=False)
class Page:
    """Paragraphs and tables, one after the other."""

    _parts: list[_Text | _Table] = field(default_factory=list)

    def text(self, text: str = "", hang: int | None = None) -> Page:
        """Adds a line, or several; too long ones are wrapped between words, on at column `hang`."""
        self._parts.append(_Text(text, hang))
        return self

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Page:
        """Adds a table; columns whose name starts with ``>`` are aligned to the right.

        Where it is too wide, the widest columns are wrapped between words; where even that is not
        enough, each row becomes a record of its own, with a line or a few for each of its cells.
        """
        cells = tuple(tuple(visible(str(cell)) for cell in row) for row in rows)
        self._parts.append(_Table(tuple(visible(c) for c in columns), cells))
        return self

    def add(self, other: Page) -> Page:
        """Adds everything of another page."""
        self._parts += other._parts
        return self

    def lines(self, width: int | None = None) -> Iterator[str]:
        """The lines, none of which has more columns than `width` where it can be helped."""
        for part in self._parts:
            yield from part.lines(width)

    def __str__(self) -> str:
        """As wide as the terminal, without blank lines at its end."""
        columns = shutil.get_terminal_size((100, 24)).columns
        return "\n".join(self.lines(max(20, columns - 1))).rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Text and tables as HTML."""
        found: list[str] = []
        for kind, parts in groupby(self._parts, key=type):
            if kind is _Table:
                found += [part.to_html() for part in parts if isinstance(part, _Table)]
                continue
            text = "\n".join(visible(part.text) for part in parts if isinstance(part, _Text))
            if text := text.strip("\n"):
                found.append(f"<pre>{escape(text)}</pre>")
        return "\n".join(found)


def visible(text: str) -> str:
    """A text whose control characters are written out, so that they cannot do anything."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _records(names: list[str], rows: list[list[str]], available: int) -> Iterator[str]:
    """The rows as blocks, one cell a line behind its column's name; empty cells are left out."""
    longest = max(map(len, names))
    for number, row in enumerate(rows):
        if number:
            yield ""
        last = ""
        for name, cell in zip(names, row, strict=True):
            label, last = name or last, name or last  # a column without a name continues the last
            if not cell:
                continue
            start = f"  {label.ljust(longest)}  "
            first, *more = _wrap(cell, max(available - len(start), 8), cut=True)
            yield start + first
            for line in more:
                yield " " * len(start) + line
    yield ""


def _total(widths: list[int]) -> int:
    """The columns that a table of these takes, with the gaps and the margin."""
    return sum(widths) + len(_GAP) * len(widths)


def _widths(cells: list[list[str]], available: int | None) -> list[int]:
    """How wide each column becomes: as wide as its cells, less where the table is too wide."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if available is None:
        return widths
    least = [max((len(w) for c in column for w in c.split()), default=1) for column in columns]
    excess = _total(widths) - available
    while excess > 0:
        able = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not able:
            break
        widest = max(able, key=lambda i: widths[i])
        widths[widest] -= 1
        excess -= 1
    return widths


def _wrap(cell: str, columns: int, *, cut: bool = False) -> list[str]:
    """The lines of a cell; with `cut`, words that are longer than a line are cut."""
    if len(cell) <= columns:
        return [cell]
    return textwrap.wrap(cell, columns, break_long_words=cut, break_on_hyphens=False)
