"""Live progress of a search on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.formula import Verdict
from syncoll.results import Point
from syncoll.searching import Candidate, Observer
from syncoll.wording import counted, nearness

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["counting", "progress"]


def progress(style: str) -> _Silent:
    """The observer of a style: ``auto``, ``live``, ``plain`` or ``none``."""
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    if style == "live":
        return _Live()
    return _Plain() if style == "plain" else _Silent()


@contextmanager
def counting(style: str) -> Iterator[Callable[[int, int, str], None]]:
    """Shows how many of how many things are done, and which was the last."""
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    if style == "live":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True, highlight=False, markup=False)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task("", total=None)
            yield lambda done, total, what: shown.update(
                task, completed=done, total=total, description=what
            )
        return
    began = time.perf_counter()

    def line(done: int, total: int, what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:7.1f} s] {done}/{total} {what}\n")
        sys.stderr.flush()

    yield line if style == "plain" else lambda *_: None


class _Gaps:
    """How far what was found for each S is from what is proved for it."""

    def __init__(self) -> None:
        self._bounds: dict[int | None, Fraction] = {}

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """Takes note of a bound."""
        self._bounds[steps] = bandwidth

    def of(self, point: Point) -> str:
        """A point with its gap, in a few characters: ``(3, 7/6, within 1.3 %)``."""
        known = [self._bounds[s] for s in (None, point.steps) if s in self._bounds]
        text = f"{point.steps}, {point.bandwidth}"
        if not known:
            return f"({text})"
        return f"({text}, {nearness(point.bandwidth, max(known))})"


class _Silent(Observer):
    """Shows nothing."""

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _name(candidate: Candidate) -> str:
    return f"S={candidate.steps} R={candidate.rounds} C={candidate.chunks}"


_WORDS = {
    Verdict.SAT: "found",
    Verdict.UNSAT: "refuted",
    Verdict.UNKNOWN: "not decided in time",
}


class _Plain(_Silent):
    """A line for each event; for logs."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._among, self._gaps = "", _Gaps()

    def _line(self, text: str) -> None:
        elapsed = time.perf_counter() - self._began
        sys.stderr.write(f"[{elapsed:7.1f} s] {text}\n")
        sys.stderr.flush()

    def began(self, collective: str) -> None:
        self._among, self._gaps = "", _Gaps()
        self._line(f"searching {collective}")

    def seeding(self, seeds: tuple[str, ...]) -> None:
        self._line(f"seeds at work: {', '.join(seeds)}")

    def limited(self, max_chunks: int) -> None:
        self._among = f" and C <= {max_chunks}"

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        self._gaps.bounded(steps, bandwidth)
        where = "with any number of steps" if steps is None else f"with {counted(steps, 'step')}"
        self._line(f"no algorithm {where}{self._among} has a bandwidth cost below {bandwidth}")

    def found(self, points: tuple[Point, ...]) -> None:
        self._line(f"frontier of (S, R/C): {', '.join(map(self._gaps.of, points))}")

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        self._line(
            f"{_name(candidate)} (bandwidth cost {candidate.bandwidth}): {_WORDS[verdict]} "
            f"after {seconds:.2f} s"
        )


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


class _Live(_Silent):
    """A few lines that change in place: the point being tried, what was found and refuted."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("line", text="bounds")
        self._began = time.perf_counter()
        self._current = "computing bounds"
        self._bound = ""
        self._among, self._gaps = "", _Gaps()
        self._counts = dict.fromkeys(Verdict, 0)
        self._points: tuple[Point, ...] = ()
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._live = Live(  # which may render at once
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=8,
            transient=True,
        )

    def __enter__(self) -> Observer:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        columns = self._console.width
        elapsed = f"{time.perf_counter() - self._began:6.1f} s  "
        counts = (
            f"found {self._counts[Verdict.SAT]}, refuted {self._counts[Verdict.UNSAT]}, "
            f"undecided {self._counts[Verdict.UNKNOWN]}"
        )
        points = "  ".join(map(self._gaps.of, self._points))
        first, *rest = _fitted(
            (f"{elapsed}{self._current}", self._bound),
            (counts, f"frontier: {points or 'empty so far'}"),
            columns=columns - 2,  # before it turns the spinner
            indent=" " * len(elapsed),
        )
        self._spinner.update(text=Text(first))
        return Group(self._spinner, *(Text(f"  {line}", no_wrap=True) for line in rest))

    def began(self, collective: str) -> None:
        self._current, self._bound, self._among = f"searching {collective}", "", ""
        self._gaps = _Gaps()

    def seeding(self, seeds: tuple[str, ...]) -> None:
        self._current = f"seeds: {', '.join(seeds)}"

    def limited(self, max_chunks: int) -> None:
        self._among = f" with C <= {max_chunks}"

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        self._gaps.bounded(steps, bandwidth)
        self._bound = f"(bandwidth cost{self._among} at least {bandwidth})"

    def trying(self, candidate: Candidate) -> None:
        self._current = f"trying {_name(candidate)}, bandwidth cost {candidate.bandwidth}"

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        self._counts[verdict] += 1

    def found(self, points: tuple[Point, ...]) -> None:
        self._points = points
