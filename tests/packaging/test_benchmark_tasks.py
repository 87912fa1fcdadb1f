"""The tasks that list old pages of the benchmarks and make rows again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tasks.benchmarks import Age, ages, rows_of, wider

TABLE = """\
| machine | nodes | collective | points | least S | first | worst | end |
|---|--:|---|---|--:|--:|--:|--:|
| ring(4) | 4 | allgather | (2, 3/2) | 2 | 0.00% | {worst}% | {end} |

| machine | nodes | collective | points | least S | first | worst | end |
|---|--:|---|---|--:|--:|--:|--:|
| ring(4) | 4 | allgather | (9, 9) | 2 | 9.00% | 9.00% | 9.00% |
"""


@pytest.mark.parametrize(
    ("worst", "end", "words"),
    [
        ("1.25", "1.00%", []),
        ("0.50", "1.00%", []),
        ("1.50", "1.00%", ["worst 1.00 % -> 1.50 %"]),
        ("1.00", "?", ["end 1.00 % -> nan %"]),
    ],
)
def test_a_wider_gap_is_named(worst: str, end: str, words: list[str]) -> None:
    key = "ring(4)", "allgather"
    before = rows_of(TABLE.format(worst="1.00", end="1.00%"))
    now = rows_of(TABLE.format(worst=worst, end=end))
    assert wider(before[key], now[key]) == words


def test_the_age_of_a_page_counts_commits_to_its_folders(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(name: str) -> str:
        (tmp_path / name).mkdir(exist_ok=True)
        file = tmp_path / name / "file.py"
        file.write_text(file.read_text() + "1\n" if file.exists() else "1\n")
        git("add", "-A")
        git("commit", "-q", "-m", name)
        return git("rev-parse", "--short=8", "HEAD")

    git("init", "-q")
    first = commit("core")
    results = tmp_path / "results"
    results.mkdir()
    day = "2026-01-02"
    (results / "a.md").write_text(f"# A\n\nMade at commit {first}, {day}.\n")
    (results / "b.md").write_text(f"Made at commit {first}, {day}; measures faces other.\n")
    (results / "c.md").write_text("# C\n")
    for name in ("core", "core", "faces"):
        commit(name)
    assert list(ages(results, ("core", "faces"))) == [
        Age("a.md", first, day, 3),
        Age("b.md", first, day, 1),
        Age("c.md", "", "", 0),
    ]
    (results / "d.md").write_text("Made at commit 0000000, 2026-01-02.\n")
    with pytest.raises(SystemExit, match="0000000"):
        list(ages(results, ("core",)))
