"""Live progress of a search on standard error."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.formula import Verdict
from syncoll.ledger import Candidate, Observer
from syncoll.ledger.events import EngineRecord, Entry, Kind
from syncoll.wording import nearness

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_ROWS, _OTHER_LINES = 16, 8
"""S that the live display shows at most, and the lines of the terminal that it leaves to others."""


def progress(style: str) -> AbstractContextManager[Observer | None]:
    """The observer of a style: ``auto``, ``live``, ``plain``, ``log`` or ``none``."""
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    if style == "live":
        return _Live()
    known = {"plain": _Plain, "log": _Log}
    return nullcontext(known[style]() if style in known else None)


class _Known:
    """The points and bounds of one collective: by S the least R/C found, and the largest bound."""

    def __init__(self) -> None:
        self._found: dict[int | None, Fraction] = {}
        self._proved: dict[int | None, Fraction] = {}

    def add(self, entry: Entry) -> None:
        if entry.kind is Kind.FOUND:
            known = self._found.get(entry.steps, entry.bandwidth)
            self._found[entry.steps] = min(entry.bandwidth, known)
        elif entry.kind is Kind.PROVED:
            self._proved[entry.steps] = entry.bandwidth

    def rows(self, most: int) -> list[tuple[str, str, str, str]]:
        """For each known S the least R/C found with at most S steps, the bound, and the gap;
        without room for all the middle is left out."""
        every = sorted(s for s in {*self._found, *self._proved} if s is not None)
        if len(every) > most:
            every = every[: most - most // 2] + every[len(every) - most // 2 :]
        return [self._row(s) for s in every]

    def _row(self, steps: int) -> tuple[str, str, str, str]:
        """Points of fewer steps count, and bounds for more."""
        found = min((b for s, b in self._found.items() if s and s <= steps), default=None)
        holding = (b for s, b in self._proved.items() if s is None or s >= steps)
        proved = max(holding, default=None)
        gap = "" if found is None or proved is None else nearness(found, proved)
        cost, bound = ("-" if one is None else str(one) for one in (found, proved))
        return str(steps), cost, bound, gap


def _name(candidate: Candidate) -> str:
    return f"S={candidate.steps} R={candidate.rounds} C={candidate.chunks}"


_WORDS = {Verdict.SAT: "found", Verdict.UNSAT: "refuted", Verdict.UNKNOWN: "not decided in time"}


class _Lines(Observer):
    """A line for each event, with the engine and the gap."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def _line(self, text: str) -> None:
        elapsed = time.perf_counter() - self._began
        sys.stderr.write(f"[{elapsed:8.2f} s] {text}\n")
        sys.stderr.flush()

    def logged(self, entry: Entry) -> None:
        self._line(str(entry))


class _Plain(_Lines):
    """Lines for all events."""

    def began(self, collective: str) -> None:
        self._line(f"searching {collective}")

    def seeding(self, seeds: tuple[str, ...]) -> None:
        self._line(f"seeds at work: {', '.join(seeds)}")

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        self._line(
            f"{_name(candidate)} (bandwidth cost {candidate.bandwidth}): {_WORDS[verdict]} "
            f"after {seconds:.2f} s"
        )


class _Log(_Lines):
    """Lines for events alone, and a table of the engines in the end."""

    def ended(self, engines: Sequence[EngineRecord]) -> None:
        from syncoll.pages.page import Page

        heads = ("turns", "seconds", "found", "kept", "proved", "refuted", "undecided")
        rows = [
            (one.engine, one.turns, f"{one.seconds:.2f}", *(getattr(one, x) for x in heads[2:]))
            for one in engines
        ]
        page = Page().text().table(("engine", *(f">{head}" for head in heads)), rows)
        sys.stderr.writelines(f"{line}\n" for line in page.lines(None))


def _fitted(*pairs: tuple[str, str], columns: int, indent: str) -> list[str]:
    """The lines of a display: two texts on each, or below each other where they do not fit."""
    lines: list[str] = []
    for number, (one, other) in enumerate(pairs):
        start = f"{indent}{one}" if number else one
        if other and len(start) + len(other) + 3 <= columns:
            lines.append(f"{start}   {other}")
        else:
            lines += [start, *([f"{indent}{other}"] if other else [])]
    if any(len(line) > columns for line in lines):
        narrow = [line if i == 0 else f"  {line.lstrip()}" for i, line in enumerate(lines)]
        lines = [line if len(line) <= columns else line[: columns - 1] + "…" for line in narrow]
    return lines


class _Live(Observer, AbstractContextManager[Observer]):
    """Lines that change in place: the current candidate, numbers of found and refuted ones, and a
    table of R/C by S."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("line", text="bounds")
        self._began = time.perf_counter()
        self._current = "computing bounds"
        self._bound = ""
        self._known: defaultdict[str, _Known] = defaultdict(_Known)
        self._name = ""
        self._counts: Counter[Kind] = Counter()
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._live = Live(  # which may render at once
            get_renderable=self._render, console=self._console, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Observer:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _render(self) -> "RenderableType":
        from rich.console import Group
        from rich.text import Text

        columns = self._console.width
        elapsed = f"{time.perf_counter() - self._began:6.1f} s  "
        found = self._counts[Kind.FOUND] + self._counts[Kind.FAMILY]
        rest = ", ".join(f"{kind} {self._counts[kind]}" for kind in (Kind.REFUTED, Kind.UNDECIDED))
        first, *more = _fitted(
            (f"{elapsed}{self._current}", self._bound),
            (f"{Kind.FOUND} {found}, {rest}", f"frontier of {self._name}:" if self._name else ""),
            columns=columns - 2,  # before it turns the spinner
            indent=" " * len(elapsed),
        )
        self._spinner.update(text=Text(first))
        lines = [Text(f"  {line}", no_wrap=True) for line in more]
        return Group(self._spinner, *lines, self._table(" " * len(elapsed)))

    def _table(self, indent: str) -> "RenderableType":
        """The rows of R/C by S, as far as there is room."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        most = max(2, min(_MOST_ROWS, self._console.height - _OTHER_LINES))
        rows = self._known[self._name].rows(most)
        if not rows:
            return Padding(Text("nothing so far"), (0, 0, 0, len(indent) + 2))
        table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 3, 0, 0))
        for head in ("steps S", "found R/C", "proved >=", ""):
            table.add_column(head, justify="left" if not head else "right", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row))
        return Padding(table, (0, 0, 0, len(indent) + 2))

    def began(self, collective: str) -> None:
        self._current, self._bound = f"searching {collective}", ""
        self._name = collective.removesuffix(", directly")

    def seeding(self, seeds: tuple[str, ...]) -> None:
        self._current = f"seeds: {', '.join(seeds)}"

    def trying(self, candidate: Candidate) -> None:
        self._current = f"trying {_name(candidate)}, bandwidth cost {candidate.bandwidth}"

    def logged(self, entry: Entry) -> None:
        self._known[entry.collective].add(entry)
        self._counts[entry.kind] += 1
        if entry.kind is Kind.PROVED:
            self._bound = f"(bandwidth cost at least {entry.bandwidth})"
