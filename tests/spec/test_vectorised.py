"""Relations are evaluated on whole columns; here against one cell at a time, written in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from syncoll.errors import SpecError
from syncoll.model import Collective
from syncoll.spec import SpecLibrary

LIMIT = 2**62
NODES, CHUNKS = 3, 5


class UndefinedError(Exception):
    """The naive evaluator's division by zero, overflow and so on."""


@dataclass(frozen=True)
class Term:
    """An expression as text, and as a function of c and n."""

    text: str
    value: Callable[[int, int], Any]


def checked(value: Any) -> Any:
    value = Fraction(value)
    if value.denominator == 1:
        if abs(value) >= LIMIT:
            raise UndefinedError
        return int(value)
    if max(abs(value.numerator), value.denominator) >= LIMIT:
        raise UndefinedError
    return value


def apply(op: str, a: Any, b: Any) -> Any:
    if op in ("div", "mod", "/") and b == 0:
        raise UndefinedError
    if op == "**" and (b != int(b) or b < 0 or (b >= 64 and a not in (-1, 0, 1))):
        raise UndefinedError
    return checked(
        {
            "+": lambda: a + b,
            "-": lambda: a - b,
            "*": lambda: a * b,
            "/": lambda: Fraction(a) / Fraction(b),
            "div": lambda: a // b,
            "mod": lambda: a % b,
            "**": lambda: Fraction(a) ** int(b),
        }[op]()
    )


CONSTANTS = [0, 1, 2, 3, 7, 2**31, 2**61, 3**38]
LIST = [0, 2, 4, 1]
numbers = st.deferred(lambda: leaves | binaries | choices | others)
truths = st.deferred(lambda: comparisons | connectives | negations | memberships)
leaves = st.one_of(
    st.sampled_from(CONSTANTS).map(lambda k: Term(str(k), lambda c, n: k)),
    st.just(Term("c", lambda c, n: c)),
    st.just(Term("n", lambda c, n: n)),
    st.just(Term("P", lambda c, n: NODES)),
)
binaries = st.builds(
    lambda op, a, b: Term(
        f"({a.text} {op} {b.text})", lambda c, n: apply(op, a.value(c, n), b.value(c, n))
    ),
    st.sampled_from(["+", "-", "*", "/", "div", "mod", "**"]),
    numbers,
    numbers,
)
choices = st.builds(
    lambda t, a, b: Term(
        f"(if {t.text} then {a.text} else {b.text})",
        lambda c, n: a.value(c, n) if t.value(c, n) else b.value(c, n),
    ),
    truths,
    numbers,
    numbers,
)


def at(index: Any) -> int:
    if index not in range(len(LIST)):
        raise UndefinedError
    return LIST[index]


others = st.one_of(
    st.builds(lambda a: Term(f"(- {a.text})", lambda c, n: -a.value(c, n)), numbers),
    st.builds(lambda a: Term(f"abs({a.text})", lambda c, n: abs(a.value(c, n))), numbers),
    st.builds(
        lambda a, b: Term(
            f"max({a.text}, {b.text})", lambda c, n: max(a.value(c, n), b.value(c, n))
        ),
        numbers,
        numbers,
    ),
    st.builds(
        lambda a: Term(f"{LIST}[{a.text} mod 5]", lambda c, n: at(apply("mod", a.value(c, n), 5))),
        numbers,
    ),
    # A list whose length differs from cell to cell: evaluated one cell at a time.
    st.builds(
        lambda a: Term(f"sum({a.text} * i for i in range(n))", lambda c, n: ragged_sum(a, c, n)),
        leaves,
    ),
)


def ragged_sum(a: Term, c: int, n: int) -> Any:
    total: Any = 0
    for i in range(n):
        total = checked(total + checked(a.value(c, n) * i))
    return total


comparisons = st.builds(
    lambda op, a, b: Term(
        f"({a.text} {op} {b.text})",
        lambda c, n: eval(f"x {op} y", {"x": a.value(c, n), "y": b.value(c, n)}),
    ),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    numbers,
    numbers,
)
connectives = st.builds(
    lambda op, a, b: Term(
        f"({a.text} {op} {b.text})",
        lambda c, n: (
            (a.value(c, n) and b.value(c, n)) if op == "and" else (a.value(c, n) or b.value(c, n))
        ),
    ),
    st.sampled_from(["and", "or"]),
    truths,
    truths,
)
negations = st.builds(lambda a: Term(f"(not {a.text})", lambda c, n: not a.value(c, n)), truths)
memberships = st.one_of(
    st.builds(lambda a: Term(f"({a.text} in {LIST})", lambda c, n: a.value(c, n) in LIST), numbers),
    st.just(Term("((c, n) in Scattered)", lambda c, n: n == c % NODES)),
    st.just(Term("((c + n, n - 1) in All - Root(0))", lambda c, n: c + n < CHUNKS and n - 1 > 0)),
)


def collective(text: str, folder: Path, library: SpecLibrary) -> Collective:
    path = folder / "random.syncoll"
    path.write_text(
        f"collective random {{ irregular chunks C pre All post {{ (c, n) : {text} }} }}",
        encoding="utf-8",
    )
    return library.collective(str(path))


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(term=truths)
def test_random_expressions(term: Term, tmp_path: Path, library: SpecLibrary) -> None:
    try:
        naive = [[term.value(c, n) for n in range(NODES)] for c in range(CHUNKS)]
    except UndefinedError:
        naive = None
    spec = collective(term.text, tmp_path, library)
    if naive is None:
        with pytest.raises(SpecError) as caught:
            spec.tabulate(NODES, CHUNKS)
        assert caught.value.origin is not None
    else:
        assert np.array_equal(spec.tabulate(NODES, CHUNKS).post, np.array(naive, dtype=bool))


EXACT = {
    # The right side counts only where the left does not decide.
    "n != 0 and c mod n == 0": lambda c, n: n != 0 and c % n == 0,
    "n == 0 or c mod n == 0": lambda c, n: n == 0 or c % n == 0,
    "(if n == 0 then 0 else c div n) == 1": lambda c, n: n != 0 and c // n == 1,
    "n > 0 and (c > 2 or 7 mod (n * (3 - c)) == 1)": (
        lambda c, n: n > 0 and (c > 2 or 7 % (n * (3 - c)) == 1)
    ),
    "n > 5 and 1 mod 0 == 0": lambda c, n: False,
    "c < 4 and [5, 6, 7, 8][c] == 6": lambda c, n: c == 1,
    # Close to the largest numbers.
    "(c - 2) * 2 ** 60 + n < 2 ** 60 - 1 or c > 3": (
        lambda c, n: (c - 2) * 2**60 + n < 2**60 - 1 or c > 3
    ),
    "c * (2 ** 59 - 1) mod 5 == n or c > 1": lambda c, n: c * (2**59 - 1) % 5 == n or c > 1,
    "3 ** 39 - 2 - 3 ** 39 == -2 and c / 2 == n": lambda c, n: c == 2 * n,
    # Floors, fractions, chains, negative numbers.
    "(n - c) div 2 == -1": lambda c, n: (n - c) // 2 == -1,
    "(n - c) mod 3 == 2": lambda c, n: (n - c) % 3 == 2,
    "c / 3 + n / 3 == 1": lambda c, n: c + n == 3,
    "0 < c <= n": lambda c, n: 0 < c <= n,
    "1.5 * c > 2.25": lambda c, n: c >= 2,
    "c in range(1, 3)": lambda c, n: c in (1, 2),
    "n not in [c, c + 1]": lambda c, n: n not in (c, c + 1),
    # Lists as long as the cell says, and lists of lists.
    "any(i == c for i in range(n))": lambda c, n: c < n,
    "len([i for i in range(10) if i < c]) == n": lambda c, n: c == n,
    "[[0, 1], [2]][min(n, 1)][0] == 2": lambda c, n: n >= 1,
    "min(c, n, 1) == 1": lambda c, n: c >= 1 and n >= 1,
}  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
def test_exact_semantics(text: str, tmp_path: Path, library: SpecLibrary) -> None:
    table = collective(text, tmp_path, library).tabulate(NODES, CHUNKS)
    expected = [[bool(EXACT[text](c, n)) for n in range(NODES)] for c in range(CHUNKS)]
    assert table.post.tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "c mod n == 0",
        "n != 1 and c mod n == 0",
        "c * 2 ** 61 > 0",
        "(c + 1) * (c + 1) * 2 ** 59 != 0",
        "[5, 6, 7][c] == 6",
        "2 ** (n - 1) == 1",
        "c / n == 1",
        "(c / 2) in [0] and (c / 2, n) in All",
    ],
)
def test_one_bad_cell_is_enough(text: str, tmp_path: Path, library: SpecLibrary) -> None:
    with pytest.raises(SpecError) as caught:
        collective(text, tmp_path, library).tabulate(NODES, CHUNKS)
    assert caught.value.origin is not None


def test_blocks_join_without_a_seam(tmp_path: Path, library: SpecLibrary) -> None:
    """A table of many blocks, against numpy."""
    table = collective("(c * 7 + n) mod 11 < 3", tmp_path, library).tabulate(300, 5000)
    c, n = np.arange(5000)[:, None], np.arange(300)[None, :]
    assert np.array_equal(table.post, (c * 7 + n) % 11 < 3)
