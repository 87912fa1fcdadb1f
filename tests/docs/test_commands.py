"""Every command that the pages show works, and every command and option there is real."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.exits import Exit
from syncoll.cli.main import build_parser, main

from .conftest import (
    DOCS,
    FIRST,
    PAGES,
    ROOT,
    WALKED,
    Command,
    blocks,
    commands,
    compare,
    lines,
    name_of,
    plain,
    spans,
    words,
)

README = ROOT / "README.md"
SHOWN = [command for page in PAGES for command in commands(page)]
HERE = [command for command in SHOWN if command.page != "plugins.md"]  # see test_plugins_page
SCREEN = next(block for block in blocks(README) if block.language == "console")
(SCREEN_COMMAND,) = lines(SCREEN)
RUN = {tuple(words(text)) for text in (*FIRST, SCREEN_COMMAND.text)}
"""Commands that other tests run."""
ONCE = {tuple(words(command.text)): command for command in HERE}
"""One place of each command."""


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def every_command(
    parser: argparse.ArgumentParser, names: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, as it is written, with its parser."""
    inner = subcommands(parser)
    if not inner:
        yield " ".join(names), parser
    for name, one in inner.items():
        yield from every_command(one, (*names, name))


def is_mention(arguments: list[str]) -> bool:
    """Whether it is only a command's name, without required arguments."""
    parser: Any = build_parser()
    for word in arguments:
        if word not in subcommands(parser):
            return False
        parser = subcommands(parser)[word]
    return bool(subcommands(parser)) or any(action.required for action in parser._actions)


def test_there_are_commands_to_test() -> None:
    assert len(HERE) > 20
    assert set(ONCE) >= RUN
    assert {command.page for command in SHOWN} >= {name_of(p) for p in PAGES if p not in WALKED}


@pytest.mark.parametrize("command", [c for w, c in ONCE.items() if w not in RUN], ids=str)
def test_a_command_runs(
    command: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    arguments = words(command.text)
    if is_mention(arguments):
        arguments.append("--help")
    elif "--work" in arguments and not command.shown:
        arguments += ["--work", "0.5"]  # the page shows no result
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 99
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert captured.out
    if command.shown:
        compare(plain(command.shown), plain(captured.out))


def test_the_first_screen_is_the_start_page_s() -> None:
    assert all(len(line) <= 100 for line in SCREEN.text.splitlines()), "as wide as the page"
    assert [b.text for b in blocks(DOCS / "index.md") if b.language == "console"] == [SCREEN.text]


def times(output: str) -> dict[str, float]:
    """The microseconds for each message of a recommendation."""
    rows = re.findall(r"^ +([0-9]+ [KMG]iB) +\S+ +([0-9.]+) ", output, re.MULTILINE)
    return {message: float(time) for message, time in rows}


@pytest.mark.slow
def test_the_first_screen_shows_the_true_times(capsys: pytest.CaptureFixture[str]) -> None:
    """A search by little counted work finds nearly as much as the one on the page."""
    assert main([*words(SCREEN_COMMAND.text), "--work", "2"]) == 0
    found = times(capsys.readouterr().out)
    assert len(found) == 3
    assert times(SCREEN.text) == pytest.approx(found, rel=0.1)


def marked(name: str) -> str:
    """The text between two marks of the README, without its fence."""
    text = README.read_text("utf-8")
    match = re.search(rf"<!-- {name} -->\n```\n(.*)\n```\n<!-- /{name} -->", text)
    assert match is not None, "exactly one line in a fence"
    return match[1]


def test_the_line_that_sets_up_and_runs() -> None:
    venv, install, run = marked("quickstart").split(" && ")
    assert venv == "python3 -m venv .venv"
    assert install == ".venv/bin/pip install -q -e ."
    assert run == f".venv/bin/{SCREEN_COMMAND.text}"


def test_the_line_that_sets_up_and_tests() -> None:
    venv, install, run = marked("tests").split(" && ")
    assert venv == "python3 -m venv .venv"
    assert run == ".venv/bin/python -m tasks"
    match = re.fullmatch(r"\.venv/bin/pip install -q -e '\.\[(.+)\]'", install)
    assert match is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    # Large libraries that tests do without.
    extras = set(project["optional-dependencies"]) - {"jax", "torch"}
    assert set(match[1].split(",")) == extras
    assert "<!-- tests -->" in (ROOT / ".ci" / "run").read_text("utf-8"), "taken from the README"


def test_every_command_is_in_the_readme_s_table() -> None:
    rows = [
        line for line in README.read_text("utf-8").splitlines() if line.startswith("| `syncoll")
    ]
    listed = {name for name, _ in every_command(build_parser())}
    named = {
        name
        for row in rows
        for span in re.findall(r"`syncoll ([^`]+)`", row)
        for name in listed
        if span == name or span.startswith(f"{name} ")
    }
    assert named == listed


def test_every_option_mentioned_exists() -> None:
    known = {
        option
        for _, parser in every_command(build_parser())
        for action in parser._actions
        for option in action.option_strings
    }
    seen = 0
    for page in PAGES:
        for line, span in spans(page):
            for word in span.split() if span.startswith("-") else []:
                if word.startswith("-"):
                    assert word in known, f"{page.name}:{line}"
                    seen += 1
    assert seen > 8


def test_choices_of_options_mentioned_exist() -> None:
    """As in `--strategy paper`."""
    allowed = {
        option: {str(choice) for choice in action.choices}
        for _, parser in every_command(build_parser())
        for action in parser._actions
        for option in action.option_strings
        if action.choices
    }
    seen = 0
    for page in PAGES:
        for line, span in spans(page):
            match = re.fullmatch(r"(--[a-z-]+) (\w+)", span)
            if match is not None and match[1] in allowed:
                assert match[2] in allowed[match[1]], f"{page.name}:{line}"
                seen += 1
    assert seen >= 3


def test_exit_codes() -> None:
    text = (DOCS / "searches.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \|", text[text.index("## Exit codes") :], re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(map(int, Exit))
