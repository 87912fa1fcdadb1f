"""Matrices between devices as tools print them, and as people paste them.

Lines are split at white space, so that tabs, spaces and the bars of a table are alike.  Colours are
removed first, even if their escape character was lost on the way or is written out: a terminal
shows ``ESC [4m`` as an underline, a copied text has ``[4m``, ``^[[4m`` or ``\\x1b[4m``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from networkx.utils import UnionFind

from syncoll.errors import ImportFormatError
from syncoll.importing import TextError
from syncoll.importing.description import shortened

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")
_LOST_ESCAPE = re.compile(
    r"(?:\N{SYMBOL FOR ESCAPE}|\^\[|\\(?:x1[bB]|0?33|e|u001[bB]))?\[[0-9;]{0,16}m"
)
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060]")
_MOST_DEVICES = 1024


@dataclass(frozen=True)
class Line:
    """A line, its number from 1, and its text without colours, outer white space and bars."""

    number: int
    text: str
    words: tuple[str, ...]

    def wrong(self, message: str, expected: str = "") -> ImportFormatError:
        """An error in this line of a file, to be raised; see `TextError`."""
        return TextError(message, line=self.number, text=self.text, expected=expected)


def lines_of(text: str) -> list[Line]:
    """The lines of a text, without colours and quotation marks of mails and tables."""
    lines = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = _LOST_ESCAPE.sub("", _INVISIBLE.sub("", _ESCAPE.sub("", raw))).rstrip()
        words = tuple(re.sub(r"^[ \t>|#]*", "", line).replace("|", " ").split())
        lines.append(Line(number, line, words))
    return lines


@dataclass(frozen=True)
class DeviceMatrix:
    """Cells between devices.

    Args:
        names: names of the wanted devices, in the order of the columns.
        lines: line number of each row; 0 for a row without a line of its own.
        rest: the text after the cells of each row.
        header: the line that names the columns.
        further: the other columns, with their cells in these rows.
    """

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]
    rest: tuple[tuple[str, ...], ...]
    header: Line
    further: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of different devices, the smaller number first."""
        return list(combinations(range(len(self.names)), 2))

    def wrong_cell(self, a: int, b: int, expected: str) -> ImportFormatError:
        """An error in the cell from a to b, to be raised."""
        message = f"{self.names[a]} to {self.names[b]} is {self.cells[a][b]!r}"
        return self.lines[a].wrong(message, expected)

    def difference(self, a: int, b: int) -> ImportFormatError:
        """An error: the matrix has one value from a to b, and another from b to a."""
        names, cells, lines = self.names, self.cells, self.lines
        where = f" (line {lines[a].number})" if lines[a].number else ""
        return lines[b].wrong(
            f"{names[b]} to {names[a]} is {cells[b][a]}, but {names[a]} to {names[b]} is "
            f"{cells[a][b]}{where}",
            "the same in both directions",
        )


def read_matrix(
    header: Line,
    columns: Sequence[str],
    wanted: Sequence[str],
    lines: Sequence[Line],
    *,
    device: re.Pattern[str],
    cell: Callable[[str], bool],
    tail: bool = False,
    ends: Callable[[Line], bool] = lambda line: False,
    again: str,
) -> DeviceMatrix:
    """Reads the rows of a matrix.

    A paste may lose a blank between two columns, a column, or a row.  Rows then have more or fewer
    cells than there are columns, or names that no column has: each of these is an error.

    Args:
        wanted: the columns whose rows are needed.
        lines: the lines after the header.
        device: matches the beginning of the names of devices.
        cell: whether a word is a cell, as far as its beginning shows.
        tail: whether rows continue after their cells.
        ends: whether a line is beyond the matrix.
        again: advice on a truncated text, as a command.

    Raises:
        ImportFormatError: if a row is missing, given twice, too short or too long, or has no
            column.
    """
    if len(columns) > _MOST_DEVICES:
        raise TextError(
            f"{len(columns)} columns",
            line=header.number,
            expected=f"at most {_MOST_DEVICES} devices",
        )
    twice = next((name for name, times in Counter(columns).items() if times > 1), None)
    if twice is not None:
        raise header.wrong(f"two columns are named {twice}", "each device once")
    known, needed = set(columns), set(wanted)
    found: dict[str, tuple[Line, tuple[str, ...]]] = {}
    for i, line in enumerate(lines):
        if line.words and ends(line):
            break
        name = line.words[0] if line.words else ""
        if name not in known and needed <= found.keys():
            for late in lines[i:]:  # rows of further devices after a complete matrix
                if late.words and ends(late):
                    break
                name, *further = late.words or ("",)
                if name not in known and device.match(name) and further and cell(further[0]):
                    raise late.wrong(
                        f"a row of {name}, but no column of that name",
                        f"a column for each row; run `{again}` again",
                    )
            break
        if not name:
            continue
        if name not in known:
            missing = [other for other in wanted if other not in found]
            raise line.wrong(
                f"rows of the matrix are missing here: {shortened(missing, 4)}",
                f"the whole output of `{again}`",
            )
        if name not in needed:
            continue
        if name in found:
            raise line.wrong(
                f"a second row of {name}; the first is in line {found[name][0].number}",
                "one matrix",
            )
        cells = line.words[1 : 1 + len(columns)]
        if len(cells) < len(columns):
            raise line.wrong(
                f"the row of {name} has {len(cells)} of {len(columns)} cells",
                f"a cell for each column; was the line cut off? Run `{again}` again",
            )
        extra = line.words[1 + len(columns) :]
        if extra and (not tail or cell(extra[0])):
            raise line.wrong(
                f"the row of {name} has a cell {extra[0]!r} after its {len(columns)} columns",
                f"a column for each cell; is one missing in line {header.number}, or are "
                f"two glued together? Run `{again}` again",
            )
        found[name] = line, line.words[1:]
    missing = [name for name in wanted if name not in found]
    if missing:
        raise header.wrong(
            f"the matrix is incomplete: it has columns for {len(wanted)} GPUs, but no rows of "
            f"{shortened(missing, 4)}",
            f"the whole output of `{again}`",
        )
    where = [columns.index(name) for name in wanted]
    rows = [found[name] for name in wanted]
    rest = [(i, name) for i, name in enumerate(columns) if name not in needed]
    return DeviceMatrix(
        tuple(wanted),
        tuple(tuple(words[i] for i in where) for _, words in rows),
        tuple(line for line, _ in rows),
        tuple(words[len(columns) :] for _, words in rows),
        header,
        tuple((name, tuple(words[i] for _, words in rows)) for i, name in rest),
    )


def groups(pairs: Iterable[tuple[int, int]], number: int) -> list[list[int]]:
    """The first `number` devices in groups joined by pairs, in order of their first members."""
    joined: UnionFind[int] = UnionFind(range(number))
    for pair in pairs:
        joined.union(*pair)
    return sorted(map(sorted, joined.to_sets()))
