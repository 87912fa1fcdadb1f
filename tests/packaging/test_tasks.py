"""The checks that contributors run by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

import tasks
from tasks.prose import Text, flaws, texts_of

Capsys = pytest.CaptureFixture[str]


def children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.mark.parametrize("end", [0, 1, KeyboardInterrupt()])
def test_busy(end: int | KeyboardInterrupt, monkeypatch: pytest.MonkeyPatch) -> None:
    before, asked = children(), []

    def run(commands: Sequence[Sequence[str]]) -> int:
        asked.append(commands)
        assert len(children() - before) == 8
        if isinstance(end, KeyboardInterrupt):
            raise end
        return end

    monkeypatch.setattr(tasks, "run", run)
    monkeypatch.setattr(sys, "argv", ["tasks", "busy", "--times", "2", "tests/model", "-k", "x"])
    assert tasks.main() == (130 if isinstance(end, KeyboardInterrupt) else end)
    assert asked == [[["pytest", "-q", "tests/model", "-k", "x"]]] * (1 if end else 2)
    assert children() == before


@pytest.mark.parametrize("words", [["busy"], ["busy", "--times"], ["busy", "--times", "x", "y"]])
def test_busy_without_tests_is_an_error(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tasks", *words])
    with pytest.raises(SystemExit, match="for example: busy"):
        tasks.main()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A = 3", 1),
        ("A, B = 0.5, (1, 2)", 2),
        ("A: int = -(1 << 20)", 1),
        ("A = Fraction(1, 2)", 1),
        ("class C:\n    a: int = 3\n    b = 'x'", 1),
        ("def _f(a, b=1, *, c=2.0, d=None): pass", 2),
        ("def f(a, b=1, *, _c=2.0): pass", 1),
        ("A = True\nB = A\nC = 'x'\nD = ()\nE = (1, 'x')", 0),
        ("def f():\n    a = 3", 0),
    ],
)
def test_constants_are_counted(text: str, number: int) -> None:
    assert tasks.count_constants(text) == number


@pytest.mark.parametrize("name", ["lines", "constants"])
def test_counts_add_up(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["tasks", name])
    assert tasks.main() == 0
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    tops = [int(number) for number, folder in rows if folder.endswith("/")]
    folders = [int(number) for number, folder in rows if "/" in folder.rstrip("/")]
    assert sum(tops) == int(rows[-1][0]) >= sum(folders) > 0


@pytest.mark.parametrize(
    ("kind", "words", "rules"),
    [
        ("messages", "the links that are so many", ["so many"]),
        ("docs", "It shows what `what` is. What is it?", ["what"]),
        ("docstrings", "Args:\n    x: those of which there is one", ["those of"]),
        ("docstrings", "Tree::\n\n    what\n\n    beside\n\nNobody reads it.", ["nobody"]),
        ("docs", "A proof holds whatever its chunks and rounds.", []),
        ("comments", "such a link is none, so nobody is told", ["is none", "nobody", "told"]),
        ("help", "Word " * 31 + ". Short.", ["31 words, at most 30"]),
        ("help", "Word " * 30 + ". Short.", []),
        ("test names", "test_a_link_is_removed", []),
        ("test names", "test_what_is_told", ["what"]),
        ("test names", "test_" + "x" * 60, ["65 characters, at most 60"]),
    ],
)
def test_prose_flaws_are_found(kind: str, words: str, rules: list[str]) -> None:
    assert [flaw.rule for flaw in flaws(Text("f", 1, kind, words))] == rules


def test_texts_of_python_have_kinds(tmp_path: Path) -> None:
    file = tmp_path / "syncoll" / "cli" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        '"""Help."""\n# why\ndef f(n):\n    """Doc."""\n    return f"no {n} on this machine"\n'
        'SQL = "SELECT a FROM b WHERE a > 0"\n'
    )
    found = [(text.kind, text.line, text.words) for text in texts_of(file, tmp_path)]
    assert found == [
        ("help", 1, "Help."),
        ("docstrings", 4, "Doc."),
        ("help", 5, "no X on this machine"),
        ("comments", 2, "why"),
    ]
