"""Swapped and mistyped names, narrow terminals, numbers with their nouns."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from syncoll.cli.output import print_page, print_text
from syncoll.ledger.events import Entry, Kind
from syncoll.live.searches import _fitted, _Known
from syncoll.pages import Page
from syncoll.wording import counted
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("pareto allgather dgx1 --max-chunks 2", "pareto dgx1 allgather --max-chunks 2"),
        ("bounds broadcast(3) ring(4)", "bounds 'ring(4)' 'broadcast(3)'"),
        ("solve allgather dgx1 -C 1 -S 2 -R 3", "solve dgx1 allgather -C 1 -S 2 -R 3"),
        ("explain allgather dgx1 -C 1 -S 2 -R 3", "explain dgx1 allgather -C 1 -S 2 -R 3"),
    ],
)
def test_swapped_arguments_are_recognised(given: str, right: str, run: Run) -> None:
    result = run(*given.split())
    assert result.code == 2
    assert result.err.endswith(f"\n  syncoll {right}\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("pareto allgather dgx9", "no topology `allgather`; `allgather` is a collective"),
        ("pareto dgx1 dgx2", "no collective `dgx2`; `dgx2` is a topology"),
        ("forest allgather", "`allgather` is a collective"),
        ("pareto dgx1 allgathr", "did you mean `allgather`?"),
        ("search dgx1_allgathr", "did you mean `dgx1_allgather`?"),
        ("show dgx11", "did you mean dgx1?"),
    ],
)
def test_mistyped_names_are_found_before_heavy_imports(command: str, message: str) -> None:
    code = (
        "import sys\n"
        "from syncoll.cli.main import main\n"
        f"assert main({command.split()}) == 2\n"
        "heavy = {'numpy', 'scipy', 'networkx', 'lark', 'ortools', 'pysat', 'z3', 'highspy'}\n"
        "print(*sorted(heavy & sys.modules.keys()))\n"
        "print(*(n for n in sys.modules if n.endswith(('.backend', '.seed', '.importer'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert message in done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("columns", [40, 60, 80, None])
def test_tables_fit(
    columns: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    names = (">steps S", ">rounds R", ">chunks C", ">R/C", ">proved >=", "optimal for")
    more = ("R by step", ">sends", "found by", ">seconds")
    row = (3, 7, 6, "7/6", "7/6", "every C", "2 2 3", 336, "step/cpsat", "0.13")
    print_page(Page().table((*names, *more), [row, row]))
    print_page(Page().table(("kind", "what it is"), [("topology", "word " * 40), ("x", "y" * 90)]))
    print_text("  No algorithm has fewer than 2 steps or a bandwidth cost below 7/6, not one.")
    lines = capsys.readouterr().out.splitlines()
    widest = max(map(len, lines))
    if columns is None:
        assert widest > 200, "a file or pipe gets every row in one line"
        assert len(lines) == 5 + 5 + 1
    else:
        assert widest < columns
    for cell in row:
        assert any(str(cell).split()[0] in line for line in lines)


@pytest.mark.parametrize("columns", [38, 58, 78, 200])
def test_progress_fits(columns: int) -> None:
    lines = _fitted(
        ("   1.5 s  trying S=3 R=7 C=6, bandwidth cost 7/6", "(bandwidth cost at least 7/6)"),
        ("found 12, refuted 3, undecided 0", "frontier: (2, 3/2)  (3, 7/6)  (4, 9/8)  (5, 10/9)"),
        columns=columns,
        indent=" " * 10,
    )
    assert max(map(len, lines)) <= columns
    assert len(lines) == (2 if columns == 200 else len(lines))


def test_progress_shows_points_and_bounds_by_steps() -> None:
    known = _Known()
    for steps, bound in ((None, 1), (2, 3), (4, 2)):
        known.add(Entry(0.0, "bounds", "allreduce", Kind.PROVED, steps, Fraction(bound)))
    assert known.rows(9) == [("2", "-", "3", ""), ("4", "-", "2", "")]
    for cost in (3, 4):
        known.add(Entry(0.0, "z3", "allreduce", Kind.FOUND, 3, Fraction(cost)))
    assert known.rows(9)[1:] == [("3", "3", "2", "within 50 %"), ("4", "3", "2", "within 50 %")]
    assert [row[0] for row in known.rows(2)] == ["2", "4"]


def test_numbers_and_nouns_agree() -> None:
    shown = [counted(1, "step"), counted(0, "step"), counted(2, "switch"), counted(3, "topology")]
    assert shown == ["1 step", "0 steps", "2 switches", "3 topologies"]
