"""Figure: the values of a paper, ours, and why they differ, with the plot as data.

Numbers of a paper have their place; its claims are in our words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

__all__ = [
    "Claim",
    "Compared",
    "Figure",
    "Holds",
    "Line",
    "Make",
    "Panel",
    "Table",
    "Tell",
    "judged",
    "table",
]

Tell = Callable[[str], None]
"""Takes the progress of a figure in words."""


class Holds(StrEnum):
    """Whether a claim holds in simulation."""

    YES = "yes"
    NO = "no"
    PARTLY = "partly"
    OPEN = "not judged"
    """The claim is about something that is not simulated."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Args:
        says: in our words.
        where: section, figure or table.
        holds: whether it holds in simulation.
        because: the observation, with its numbers.
    """

    says: str
    where: str
    holds: Holds
    because: str


@dataclass(frozen=True)
class Compared:
    """A value of the paper and ours, with its name in `what`.

    Args:
        paper: as it is printed; None where it prints none.
        ours: None where nothing here makes it.
        reason: why they differ.
    """

    what: str
    paper: float | None
    ours: float | None
    reason: str = ""

    @property
    def deviation(self) -> float | None:
        """Of ours from the paper's, as a part of it; None without one of them."""
        if not self.paper or self.ours is None:
            return None
        return self.ours / self.paper - 1


@dataclass(frozen=True)
class Table:
    """Further values, as they are to be read.

    Args:
        title: the content.
        columns: their heads.
        rows: a cell for each column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Line:
    """A line of a plot, or with categories a row of bars.

    Args:
        label: the name; a line of the paper has the label, and so the colour, of ours.
        xs: bytes or other units; numbers of categories.
        ys: as many; None where there is no value.
        paper: whether it is the paper's, which is drawn as marks.
    """

    label: str
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    paper: bool = False


@dataclass(frozen=True)
class Panel:
    """A plot, or one of several side by side.

    Args:
        title: above it.
        x: the horizontal axis, with its unit.
        y: the vertical axis, with its unit.
        lines: in the order of the legend.
        x_scale: ``bytes`` is logarithmic, with sizes in words.
        y_scale: of the other axis.
        categories: names along the axis; then lines are bars.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    x_scale: Literal["bytes", "log", "linear"] = "bytes"
    y_scale: Literal["log", "linear"] = "linear"
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper.

    Args:
        title: the subject.
        source: the paper, and the number of the figure or table.
        unit: of the values that are compared.
        rows: values of the paper and ours.
        tables: further values.
        panels: of the plot.
        claims: of the paper.
        notes: assumptions, a paragraph each.
    """

    title: str
    source: str
    unit: str
    rows: tuple[Compared, ...]
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]


Make = Callable[[Tell], Figure]
"""Makes a figure."""


def judged(says: str, where: str, holds: bool, because: str) -> Claim:
    """A claim that holds or does not."""
    return Claim(says, where, Holds.YES if holds else Holds.NO, because)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table of values, converted to text."""
    return Table(title, tuple(columns), tuple(tuple(map(str, row)) for row in rows))
