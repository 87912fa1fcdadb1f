"""Live progress of a search on standard error."""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING

from syncoll.formula import Verdict
from syncoll.search import Candidate, Observer, Point

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["LiveProgress", "PlainProgress", "progress"]


def progress(style: str) -> PlainProgress | LiveProgress | SilentProgress:
    """The observer of a style: ``auto``, ``live``, ``plain`` or ``none``."""
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    if style == "live":
        return LiveProgress()
    return PlainProgress() if style == "plain" else SilentProgress()


class SilentProgress(Observer):
    """Shows nothing."""

    def __enter__(self) -> Observer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


def _name(candidate: Candidate) -> str:
    return f"S={candidate.steps} R={candidate.rounds} C={candidate.chunks}"


_WORDS = {
    Verdict.SAT: "found",
    Verdict.UNSAT: "refuted",
    Verdict.UNKNOWN: "not decided in time",
}


class PlainProgress(SilentProgress):
    """A line for each event; for logs."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def _line(self, text: str) -> None:
        elapsed = time.perf_counter() - self._began
        sys.stderr.write(f"[{elapsed:7.1f} s] {text}\n")
        sys.stderr.flush()

    def began(self, collective: str) -> None:
        """A search."""
        self._line(f"searching {collective}")

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """A proved bound."""
        where = "with any number of steps" if steps is None else f"with {steps} steps"
        self._line(f"no algorithm {where} has a bandwidth cost below {bandwidth}")

    def found(self, points: tuple[Point, ...]) -> None:
        """The frontier has grown."""
        told = ", ".join(f"({p.steps}, {p.bandwidth})" for p in points)
        self._line(f"frontier of (S, R/C): {told}")

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        """An answer."""
        self._line(
            f"{_name(candidate)} (bandwidth cost {candidate.bandwidth}): {_WORDS[verdict]} "
            f"after {seconds:.2f} s"
        )


class LiveProgress(SilentProgress):
    """A few lines that change in place: the point being tried, what was found and refuted."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("line", text="bounds")
        self._began = time.perf_counter()
        self._current = "computing bounds"
        self._bound = ""
        self._counts = dict.fromkeys(Verdict, 0)
        self._points: tuple[Point, ...] = ()
        self._live = Live(
            get_renderable=self._render,
            console=Console(stderr=True, highlight=False, markup=False),
            refresh_per_second=8,
            transient=True,
        )

    def __enter__(self) -> Observer:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        elapsed = time.perf_counter() - self._began
        self._spinner.update(text=Text(f"{elapsed:6.1f} s  {self._current}{self._bound}"))
        counts = (
            f"          found {self._counts[Verdict.SAT]}, refuted {self._counts[Verdict.UNSAT]}, "
            f"undecided {self._counts[Verdict.UNKNOWN]}"
        )
        points = "  ".join(f"({p.steps}, {p.bandwidth})" for p in self._points)
        return Group(self._spinner, Text(f"{counts}   frontier: {points or 'empty so far'}"))

    def began(self, collective: str) -> None:
        """A search."""
        self._current, self._bound = f"searching {collective}", ""

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """A proved bound."""
        self._bound = f"   (bandwidth cost at least {bandwidth})"

    def trying(self, candidate: Candidate) -> None:
        """A question."""
        self._current = f"trying {_name(candidate)}, bandwidth cost {candidate.bandwidth}"

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        """An answer."""
        self._counts[verdict] += 1

    def found(self, points: tuple[Point, ...]) -> None:
        """A new frontier."""
        self._points = points
