"""The pages as data: fenced blocks, inline code, and the commands among them.

A block may carry a mark ``<!-- file: NAME -->`` on the line above it: it is (a part of) that file.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


FIRST = (
    "syncoll pareto dgx1 allgather",
    'syncoll pareto "ring(5)" allreduce --max-chunks 5 --proofs proofs -o ring5.json',
)
"""Commands of the README whose files others there need: `folder` has run them."""


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    mark: str

    @property
    def file(self) -> str:
        """The file that it is a part of; empty for none."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""


class Command(NamedTuple):
    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.text}"


def blocks(page: Path) -> list[Block]:
    """Everything between fences."""
    text = page.read_text("utf-8")
    return [
        Block(
            page.name,
            text.count("\n", 0, match.start("text")),
            match["language"],
            match["text"],
            match["mark"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]


def spans(page: Path) -> list[tuple[int, str]]:
    """Inline code with its line."""
    text = page.read_text("utf-8")
    prose = _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [
        (text.count("\n", 0, match.start()) + 1, " ".join(match[1].split()).replace(r"\|", "|"))
        for match in re.finditer(r"`([^`]+)`", prose)
    ]


def commands(page: Path) -> list[Command]:
    """Every command line of syncoll that a page shows."""
    found = []
    for block in blocks(page):
        if block.language in ("", "console", "sh"):
            for i, line in enumerate(block.text.splitlines(), start=1):
                if re.match(r"(\$ )?syncoll ", line):
                    found.append(Command(page.name, block.line + i, line.removeprefix("$ ")))
    for line_number, span in spans(page):
        if span.startswith("syncoll "):
            found.append(Command(page.name, line_number, span))
    return found


def written_files(page: Path) -> dict[str, str]:
    """The files that the marked blocks of a page make up."""
    parts: dict[str, list[str]] = defaultdict(list)
    for block in blocks(page):
        if block.file:
            parts[block.file].append(block.text)
    return {name: "\n".join(texts) for name, texts in parts.items()}


def words(command: str) -> list[str]:
    """A command line after ``syncoll``, placeholders filled in."""
    result = shlex.split(command)[1:]
    check = result[:2] == ["spec", "check"]
    fill = {
        "TOPOLOGY": "dgx1",
        "COLLECTIVE": "allgather",
        "FILE": "my-machine.syncoll" if check else "frontier.json",
        "NAME|FILE": "dgx1",
        "FILE:NAME": "language.syncoll:overnight",
        "FILE:overnight": "language.syncoll:overnight",
        "FRONTIER": "frontier.json",
        "OUT": "out",
        "KIND": "frontier",
        "…": "2",
    }
    fill["NAME"] = {"export": "msccl-xml", "import": "nvidia-smi"}.get(result[0], "NAME")
    if result[0] == "import":
        fill["FILE"] = "topo.txt"
    return [fill.get(word, word) for word in result]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of."""
    from syncoll.cli.main import main

    result = tmp_path_factory.mktemp("reader")
    for page in (ROOT / "README.md", ROOT / "docs" / "topology-files.md"):
        for name, text in written_files(page).items():
            (result / name).write_text(text, encoding="utf-8")
    language = [b.text for b in blocks(ROOT / "docs" / "language.md") if b.language == "syncoll"]
    (result / "language.syncoll").write_text("\n".join(language), encoding="utf-8")
    (result / "other.syncoll").write_text("relation Elsewhere = { (0, 0) }\n", encoding="utf-8")
    first, proved = FIRST
    out = io.StringIO()
    with contextlib.chdir(result), contextlib.redirect_stdout(out):
        assert main([*words(first), "-o", "frontier.json"]) == 0
        (result / "first-screen").write_text(out.getvalue(), encoding="utf-8")
        assert main(words(proved)) == 0
    return result
