"""Page: text and tables, laid out for the width of a terminal or as HTML."""

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from html import escape
from itertools import groupby, zip_longest
from typing import ParamSpec, TypeAlias

_Arguments = ParamSpec("_Arguments")

_GAP = "  "
_UNBROKEN = 24
"""Longest cell that is not wrapped as long as optional columns can be left out."""
_MOST_EXACT = 7
"""Longest fraction that a table shows exactly."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class _Table:
    """Cells as texts; see `Page.table`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [column.removeprefix(">") for column in self.columns]

    def fitted(self, available: int | None) -> "_Table":
        """The table without the optional columns that do not fit; all of it if none can help."""
        if available is None:
            return self
        columns = list(zip(self.names, *self.rows, strict=True))
        for count in range(len(self.optional) + 1):
            kept = [i for i, name in enumerate(self.names) if name not in self.optional[:count]]
            if _total([_need(columns[i], _UNBROKEN) for i in kept]) <= available:
                break
        if _total([_need(columns[i]) for i in kept]) > available:
            return self
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)

    def lines(self, available: int | None, elsewhere: str) -> Iterator[str]:
        table = self.fitted(available)
        cells = [table.names, *map(list, table.rows)]
        widths = _widths(cells, available)
        if available is not None and _total(widths) > available and self.rows:
            yield from _records(cells[0], cells[1:], available)
            return
        right = [column.startswith(">") for column in table.columns]
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
        if left_out := [name for name in self.names if name not in table.names]:
            text = f"  Left out (wider terminal, {elsewhere}): {', '.join(left_out)}"
            yield from _Text(text).lines(available, elsewhere)
        yield ""

    def to_html(self) -> str:
        sides = ["right" if column.startswith(">") else "left" for column in self.columns]

        def row(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(cells, sides, strict=True)
            made = (f'<{tag} style="text-align:{x}">{escape(one)}</{tag}>' for one, x in pairs)
            return f"<tr>{''.join(made)}</tr>"

        rows = [row("th", self.names), *(row("td", one) for one in self.rows)]
        return f"<table>{''.join(rows)}</table>"


@dataclass(frozen=True)
class _Text:
    """A line or several; the wrapped rest of a line is indented to a column if one is given."""

    text: str
    hang: int | None = None

    def lines(self, width: int | None, elsewhere: str) -> Iterator[str]:
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

    def text(self, text: str = "", hang: int | None = None) -> "Page":
        """Adds a line, or several; too long ones are wrapped between words, on at column `hang`."""
        self._parts.append(_Text(text, hang))
        return self

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], optional: Sequence[str] = ()
    ) -> "Page":
        """Adds a table; columns whose name starts with ``>`` are aligned to the right.

        A table that is too wide loses optional columns, and a line names them.  Then its widest
        columns are wrapped between words.  If that is not enough, each row becomes a record.

        Args:
            rows: of cells; long fractions are shown as decimals.
            optional: names of the columns that may be left out, the least important first.
        """
        cells = tuple(tuple(map(_cell, row)) for row in rows)
        self._parts.append(_Table(tuple(visible(c) for c in columns), cells, tuple(optional)))
        return self

    def add(self, other: "Page") -> "Page":
        """Adds everything of another page."""
        self._parts += other._parts
        return self

    def lines(self, width: int | None = None, elsewhere: str = "--format json") -> Iterator[str]:
        """The lines, each of at most `width` columns unless a single word is longer; `elsewhere` is
        the way to see the columns that are left out of a table."""
        for part in self._parts:
            yield from part.lines(width, elsewhere)

    def __str__(self) -> str:
        """As wide as the terminal, without blank lines at its end."""
        columns = shutil.get_terminal_size((100, 24)).columns
        return "\n".join(self.lines(max(20, columns - 1), "page().to_html()")).rstrip()

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


PageParts: TypeAlias = Iterator[str | Page]
"""Lines, tables and other pages."""


def paged(parts: Callable[_Arguments, Iterable[str | Page]]) -> Callable[_Arguments, Page]:
    """Makes a function that yields lines and tables one that returns their page."""

    @wraps(parts)
    def page(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Page:
        each = (Page([_Text(x)]) if isinstance(x, str) else x for x in parts(*args, **kwargs))
        return Page([part for one in each for part in one._parts])

    return page


def table(rows: Sequence[Mapping[str, object]], optional: Sequence[str] = ()) -> Page:
    """A table of rows that have their cells by the names of columns; see `Page.table`."""
    names = dict.fromkeys(name for row in rows for name in row)
    return Page().table([*names], [[row.get(name, "") for name in names] for row in rows], optional)


def short_fraction(value: Fraction) -> str:
    """A fraction exactly, or as a decimal if it has more than seven characters.

    >>> short_fraction(Fraction(7, 6)), short_fraction(Fraction(1561, 1024))
    ('7/6', '1.5244')
    """
    exact = str(value)
    return exact if len(exact) <= _MOST_EXACT or value.denominator == 1 else f"{float(value):.5g}"


def _cell(value: object) -> str:
    return visible(short_fraction(value) if isinstance(value, Fraction) else str(value))


def visible(text: str) -> str:
    """A text with its control characters escaped, so that a terminal does not execute them."""
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


def _need(column: Sequence[str], unbroken: int = 0) -> int:
    """The least width of a column, given its name and cells: that of its longest word, and of its
    longest cell of at most `unbroken` characters, which is not wrapped."""
    words = max((len(word) for cell in column for word in cell.split()), default=1)
    return max([words, *(len(cell) for cell in column[1:] if len(cell) <= unbroken)])


def _widths(cells: list[list[str]], available: int | None) -> list[int]:
    """The width of each column: that of its longest cell, or less if the table is too wide."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if available is None:
        return widths
    excess = _total(widths) - available
    for unbroken in (max(widths, default=0), _UNBROKEN, 0):  # names are wrapped before cells
        least = [_need(column, unbroken) for column in columns]
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
