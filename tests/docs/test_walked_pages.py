"""The pages for newcomers, followed from top to bottom as a reader would, from an empty folder on.

Blocks marked ``<!-- file: NAME -->`` are written, and commands and Python are run. Their output is
compared with the page: below ``$ `` lines of console blocks (where ``...`` stands for any lines),
and in a block marked ``<!-- output -->`` below Python. A mark ``<!-- exit: CODE -->`` has the exit
code of the last command of a block, if it is not 0.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main

from .conftest import NEEDS, PAGES, SHELL, WALKED, Block, blocks, compare, lines, name_of, plain

NOT_RUN = ("c", "json", "text", "toml")
"""Languages of blocks that are data or output."""

LESS = {
    "pipelines.md": ("pareto", "--work", "0.5"),
    "repair.md": ("--survey", "--search-limit", "200ms"),
    "report.md": ("pareto", "--work", "0.2"),
    "simulation.md": ("pareto", "--work", "0.2"),
}
"""A word of commands on a page, and more limits for them: the page shows no later results."""

SCRIPTS = {
    "README.md": "test_python.py",
    "plugins.md": "test_plugins_page.py",
    "proofs.md": "test_proof_pages.py",
}
"""Pages that are not walked, whose Python is run by these; all their files are used by tests."""


class Reader:
    """A folder, a shell and an interpreter."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
        self.monkeypatch, self.site = monkeypatch, site
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed: str | None = None
        """The output of the last block of Python, until it is compared."""

    def read(self, block: Block) -> None:
        if block.file:
            path = Path(block.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(block.text)
        elif block.mark == "output":
            assert self.printed is not None, "output of nothing"
            assert plain(block.text) == plain(self.printed)
            self.printed = None
        elif block.language == "python":
            self.printed = self.python(block)
        elif block.language in SHELL:
            self.shell(block)
        else:
            assert block.language in NOT_RUN, f"a block in {block.language!r}: is it run?"

    def python(self, block: Block) -> str:
        out = io.StringIO()
        code = compile("\n" * block.line + block.text, block.page, "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self.names)
        return out.getvalue()

    def shell(self, block: Block) -> None:
        assert block.language, "say bash, or console where it shows what is printed"
        commands = list(_commands(block))
        assert commands, "no command"
        word, *limits = LESS.get(block.page, [""])
        for number, (line, shown) in enumerate(commands):
            words = shlex.split(line)
            code, output = self.run([*words, *limits] if word in words else words)
            last = number == len(commands) - 1 and block.mark.startswith("exit: ")
            assert code == (int(block.mark.removeprefix("exit: ")) if last else 0), (line, output)
            if shown is not None:
                compare(plain(shown), plain(output))

    def run(self, words: list[str]) -> tuple[int, str]:
        """A command's exit code and output."""
        out = io.StringIO()
        if words[:2] == ["pip", "install"]:
            return self.install(words[2:]), ""
        assert words[0] == "syncoll", words
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                code = main(words[1:])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 99
        return code, out.getvalue()

    def install(self, folders: list[str]) -> int:
        """Installs packages of the page for this process and its children."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        how = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(self.site)]
        done = subprocess.run([*pip, *how, *folders], check=False, timeout=120)
        self.monkeypatch.syspath_prepend(self.site)
        path = filter(None, [str(self.site), os.environ.get("PYTHONPATH")])
        self.monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
        return done.returncode


def _commands(block: Block) -> Iterator[tuple[str, str | None]]:
    """Each command with its output on the page, None without one."""
    text = block.text.replace("\\\n", "")
    if block.language != "console":
        yield from ((line, None) for line in text.splitlines() if line)
        return
    before, *parts = ("\n" + text).split("\n$ ")
    assert not before, "output before the first command"
    for part in parts:
        line, _, shown = part.partition("\n")
        yield line, shown


@pytest.mark.parametrize("page", WALKED, ids=name_of)
def test_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem in NEEDS and find_spec(NEEDS[page.stem]) is None:
        pytest.skip(f"the extra [{NEEDS[page.stem]}] is missing")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    reader = Reader(monkeypatch, tmp_path / "site")
    for block in blocks(page):
        reader.read(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run(page: Path) -> None:
    """Commands of syncoll by test_commands.py and test_plugins_page.py, specs by test_specs.py, the
    command of the checker by test_certificates_page.py."""
    found = blocks(page)
    fences = re.findall(r"^\s*(```|~~~)", page.read_text("utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(found), "a fence that the tests do not see"
    for block in found if page not in WALKED else ():
        where = f"{block.page}:{block.line}"
        assert block.language in (*SHELL, *NOT_RUN, "python", "syncoll"), where
        if block.language == "python" and not block.file:
            assert block.page in SCRIPTS, where
        if block.mark not in ("quickstart", "tests", "checker"):
            assert all(line.text.startswith("syncoll ") for line in lines(block)), where
