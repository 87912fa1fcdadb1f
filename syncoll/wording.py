"""Words that messages share: the one place where a number gets its noun."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from fractions import Fraction
from itertools import groupby
from typing import SupportsInt

_MANY, _LEAST_RUN, _AT_ENDS = 12, 3, 5
"""Up to `_MANY` numbers are shown in full, `_LEAST_RUN` equal ones as a run; else both ends."""

_EXACT_PERCENT = 0.001
"""Gaps up to this are optimal in tables; files have exact costs."""

_AS_OPTIONS: ContextVar[bool] = ContextVar("arguments as options", default=False)


def counted(number: SupportsInt, noun: str, plural: str = "") -> str:
    """A number with its noun: ``1 step``, ``2 steps``.

    Args:
        number: how many; fractions other than 1 are plural.
        noun: word for one of them.
        plural: word for several, if it is not the noun with an s.

    >>> counted(1, "step"), counted(0, "step"), counted(2, "NVLink"), counted(3, "topology")
    ('1 step', '0 steps', '2 NVLinks', '3 topologies')
    """
    return f"{number} {noun if number == 1 else plural or _plural(noun)}"


def few(things: Sequence[object], most: int = 8, between: str = ", ") -> str:
    """The first things of many, and a sign that there are others.

    >>> few([1, 2, 3]), few([1, 2, 3], 2), few("abc", 2, " ")
    ('1, 2, 3', '1, 2, …', 'a b …')
    """
    shown = between.join(map(str, things[:most]))
    return shown if len(things) <= most else f"{shown}{between}…"


def nearness(cost: Fraction, bound: Fraction, *, in_table: bool = False) -> str:
    """How near a cost is to its proved lower bound.  Only in tables tiny gaps are optimal, too.

    >>> nearness(Fraction(7, 6), Fraction(15, 13)), nearness(Fraction(11), Fraction(5))
    ('within 1.1 %', 'within 2.2x')
    >>> nearness(Fraction(2), Fraction(2)), nearness(Fraction(10**9 + 1), Fraction(10**9))
    ('optimal', 'within 0.001 %')
    """
    if cost <= bound:
        return "optimal"
    text = gap(float(cost), float(bound)) if bound else "no bound"
    if text == "optimal" and not in_table:
        text = f"{_EXACT_PERCENT} %"
    return f"within {text}" if text[0].isdigit() else text


def gap(cost: float, bound: float) -> str:
    """The gap from a positive bound to a cost: in percent, from 100 % on as a factor.

    >>> gap(1.07, 1), gap(2.2, 1), gap(120, 0.1), gap(1 + 1e-9, 1)
    ('7 %', '2.2x', '1200x', 'optimal')
    """
    ratio = cost / bound
    if (percent := 100 * (ratio - 1)) <= _EXACT_PERCENT:
        return "optimal"
    if percent < 99.5:
        return f"{percent:.2g} %"
    return f"{ratio:.2g}x" if ratio < 100 else f"{ratio:.0f}x"


def in_short(numbers: Sequence[int]) -> str:
    """Numbers with spaces between; of many, runs as ``61×1``, and the middle left out.

    >>> in_short([1, 2, 2, 1])
    '1 2 2 1'
    >>> in_short([3, *[1] * 61, 2, 2])
    '3 61×1 2 2'
    >>> in_short(range(1, 100))
    '1 2 3 4 5 … 95 96 97 98 99'
    """
    if len(numbers) <= _MANY:
        return " ".join(map(str, numbers))
    parts: list[str] = []
    for number, run in groupby(numbers):
        count = len(list(run))
        parts += (
            [f"{count}\N{MULTIPLICATION SIGN}{number}"]
            if count >= _LEAST_RUN
            else [str(number)] * count
        )
    if len(parts) > _MANY:
        parts = [*parts[:_AT_ENDS], "…", *parts[-_AT_ENDS:]]
    return " ".join(parts)


def runs_in_words(numbers: Iterable[int], to: str = " to ", between: str = ", ") -> str:
    """Ascending numbers, with runs in short.

    >>> runs_in_words([0, 1, 2, 5]), runs_in_words([0, 1, 3, 4, 5], "-", " ")
    ('0 to 2, 5', '0-1 3-5')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return between.join(to.join(map(str, run)) for run in runs)


def meant(name: str, known: Iterable[str]) -> str:
    """A hint on the known name that is the most like another one; empty without one.

    >>> meant("bta", ["alpha", "beta"]), meant("x", ["alpha"])
    ('; did you mean beta?', '')
    """
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _plural(noun: str) -> str:
    if noun.endswith(("ch", "sh", "ss", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


@contextmanager
def arguments_as_options() -> Iterator[None]:
    """In this context messages name the options of the command line instead of arguments."""
    token = _AS_OPTIONS.set(True)
    try:
        yield
    finally:
        _AS_OPTIONS.reset(token)


def where_typed() -> str:
    """Stands for a file's name if the user typed the text.

    >>> where_typed()
    '<argument>'
    """
    return "<command line>" if _AS_OPTIONS.get() else "<argument>"


def argument(name: str, value: object = None) -> str:
    """An argument in the user's notation.

    >>> argument("root", 3)
    'root=3'
    >>> with arguments_as_options():
    ...     argument("root", 3), argument("skip_refused")
    ('--root 3', '--skip-refused')
    """
    if not _AS_OPTIONS.get():
        return name if value is None else f"{name}={value!r}"
    option = f"--{name.replace('_', '-')}"
    if name.endswith("_options"):  # each option is given by itself
        option = option.removesuffix("s")
    return option if value is None else f"{option} {value}"
