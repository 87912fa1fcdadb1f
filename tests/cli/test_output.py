"""Output with narrow encodings, closed pipes, full disks and hostile names."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli import output
from syncoll.cli.output import note, print_json, print_page, print_text
from syncoll.errors import UsageError
from syncoll.pages import Page
from syncoll.wording import counted

Run = Callable[..., Any]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")


class Narrow(io.StringIO):
    """A stream of ASCII only."""

    encoding = "ascii"

    def write(self, text: str) -> int:
        text.encode("ascii")
        return super().write(text)


def shown(capsys: pytest.CaptureFixture[str], *table: Any) -> list[str]:
    print_page(Page().table(*table))
    return capsys.readouterr().out.splitlines()


def test_a_table_is_aligned_and_has_no_trailing_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, ("name", ">number", "text"), [("a", 1, "x"), ("long name", 1000, "")])
    assert lines == [
        "  name       number  text",
        "  ─────────  ──────  ────",
        "  a               1  x",
        "  long name    1000",
        "",
    ]
    assert shown(capsys, ("a", ">b"), []) == ["  a  b", "  ─  ─", ""]


def test_a_wide_table_is_wrapped_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "111")
    lines = shown(capsys, ("name", "text"), [("x", "word " * 40), ("y", "w" * 150)])
    assert "".join(lines).count("word") == 40
    assert max(len(line) for line in lines if "www" not in line) <= 110
    lines = shown(capsys, ("name", "text", ">n"), [("x", "word " * 40, 7)])
    assert max(map(len, lines)) <= 110
    assert lines[2].startswith("  x     word word")
    assert lines[2].endswith("  7")
    assert lines[3].startswith("        word")


def test_numbers_with_nouns() -> None:
    assert [counted(n, "step") for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]


def test_characters_outside_the_encoding_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Narrow()
    monkeypatch.setattr(sys, "stdout", stream)
    print_text("… ─ ü 日")
    assert stream.getvalue() == "... - \\xfc \\u65e5\n"
    stream.truncate(0)
    stream.seek(0)
    print_json({"name": "ü 😀 \ud800"})
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue()) == {"name": "ü 😀 \ud800"}


def test_control_characters_of_a_name_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_text("a\x1b[31mred\x07\tb\r")
    note("\x9b2J")
    captured = capsys.readouterr()
    assert captured.out == "a\\x1b[31mred\\x07\tb\\x0d\n"
    assert captured.err == "\\x9b2J\n"


def test_closed_streams_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    print_text("x")
    note("x")
    print_json({"a": 1})
    print_page(Page().table(("a",), [(1,)]))
    output.flush()


def test_a_stream_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(sys, "stderr", Full())
    with pytest.raises(UsageError, match="cannot write the output: No space left"):
        print_text("x")
    note("nobody can be told")


# As processes -------------------------------------------------------------------------------------

QUICK = ("pareto", "ring(3)", "allgather", "--backend", "ring")
"""A search that starts no process of a solver."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "dgx2"],
        ["spec", "list"],
        [*QUICK, "--progress", "live"],
        [*QUICK, "--progress", "plain", "--format", "json"],
    ],
)
def test_ascii_locale(arguments: list[str], process: Run) -> None:
    result = process(*arguments, LC_ALL="C", PYTHONIOENCODING="ascii")
    assert result.code == 0, result.err
    assert result.out.isascii()
    assert "Traceback" not in result.err


def test_plain_old_c_locale(process: Run) -> None:
    result = process("show", "dgx2", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert result.code == 0
    assert "... (15 links)" in result.out


def test_an_error_in_an_ascii_locale(process: Run) -> None:
    result = process("pareto", "nöpe", "allgather", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.code == 2
    assert "Traceback" not in result.err


def test_no_colours_when_it_is_no_terminal(process: Run) -> None:
    command = [*QUICK, "--progress"]
    result = process(*command, "auto", TERM="xterm-256color", COLORTERM="truecolor")
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    assert "\x1b" not in process(*command, "live", TERM="xterm-256color").out


@posix
@pytest.mark.parametrize(
    ("arguments", "code", "lines"),
    [
        (["show", "torus(30,30)"], 0, 1),
        (["show", "torus(30,30)", "--format", "json"], 0, 0),
        (["--help"], 0, 1),
        (["solve", "dgx1", "allgather", "-C", "1", "-S", "1", "-R", "1"], 1, 0),
    ],
)
def test_a_closed_pipe_is_no_error(
    arguments: list[str], code: int, lines: int, tmp_path: Path
) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "syncoll", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    for _ in range(lines):
        running.stdout.readline()
    running.stdout.close()
    err = running.stderr.read()
    running.stderr.close()
    assert running.wait(timeout=60) == code
    assert err == b""


@posix
def test_files_are_saved_if_the_reader_closes_the_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "syncoll", *QUICK, "-o", "f.json"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    assert running.stdout is not None
    running.stdout.close()
    assert running.wait(timeout=60) == 0
    assert (tmp_path / "f.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["show", "dgx1"]])
def test_a_full_disk_behind_standard_output(arguments: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "syncoll", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == "syncoll: cannot write the output: No space left on device\n"


@posix
def test_closed_by_the_shell(tmp_path: Path) -> None:
    for redirection in (">&-", ">&- 2>&-"):
        command = f'"$0" -m syncoll show dgx1 {redirection}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable], cwd=tmp_path, check=False, timeout=60
        )
        assert done.returncode == 0


@posix
def test_saving_to_standard_output_does_not_replace_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "syncoll", *QUICK, "-o", "/dev/stdout"],
            stdout=stream,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0
    text = log.read_text("utf-8")
    assert "1 verified point" in text
    assert '"schema": "syncoll/frontier/1"' in text
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_dash_is_standard_output(run: Run, tmp_path: Path) -> None:
    """Exactly one document on standard output; several are refused."""
    point = ("ring(4)", "allgather", "-C1", "-S2", "-R2")
    assert run("solve", *point, "-o", "-").json["schema"] == "syncoll/outcome/1"
    frontier = run("pareto", "ring(4)", "allgather", "-o", "-")
    assert frontier.json["schema"] == "syncoll/frontier/1"
    assert run("forest", "ring(4)", "-o", "-").json["schema"] == "syncoll/forest/2"
    (tmp_path / "frontier.json").write_text(frontier.out)
    exported = run("export", "frontier.json", "--to", "msccl-xml", "-o", "-")
    assert (exported.code, exported.err) == (0, "")
    assert exported.out.startswith("<algo")
    assert exported.out.rstrip().endswith("</algo>")
    for command, words in (
        (("export", "frontier.json", "--to", "msccl-xml", "-o", "-", "--format", "json"), "both"),
        (("export", "frontier.json", "--to", "chakra", "-o", "-"), "several files"),
        (("plan", "frontier.json", "--to", "msccl-xml", "-o", "-"), "standard output"),
        (("solve", *point, "--proof", "-"), "standard output"),
    ):
        refused = run(*command)
        assert (refused.code, refused.out) == (2, "")
        assert words in refused.err
    assert not (tmp_path / "-").exists()
