"""The pages as data: fenced blocks, inline code, and the commands among them.

A block may carry a mark ``<!-- file: NAME -->`` on the line above it: it is (a part of) that file.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_GUIDES = (
    *(
        "algorithms",
        "chakra",
        "design",
        "goal",
        "mscclpp",
        "pipelines",
        "python",
        "recommend",
        "repair",
        "reproducible",
    ),
    *("torch", "jax", "mpi-c", "simgrid"),
    *("report", "searches", "seeds", "simulation", "solvers", "symmetry", "tables", "topologies"),
    *("topology-files", "theorems"),
)
WALKED = [*(DOCS / f"{name}.md" for name in _GUIDES), *sorted((DOCS / "tutorials").glob("*.md"))]
"""Pages that test_walked_pages.py follows from top to bottom, from an empty folder on."""
NEEDS = {"torch": "torch", "jax": "jax"}
"""Pages whose commands need an extra that `dev` does not include, and its package."""
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


SHELL = ("", "bash", "console")
"""Languages of blocks that hold commands."""

FIRST = (
    "syncoll pareto dgx1 allgather -o frontier.json",
    'syncoll pareto "hub(4)" reduce --max-steps 2 --max-chunks 2 --proofs proofs -o hub4.json',
)
"""Commands of the README whose files others there need: `folder` has run them."""


def name_of(page: Path) -> str:
    """As it is called in test reports, and in links from the site's start page."""
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


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
    shown: str = ""
    """Its output on the page, if there is one."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.text}"


def blocks(page: Path) -> list[Block]:
    """Everything between fences."""
    text = page.read_text("utf-8")
    return [
        Block(
            name_of(page),
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


def lines(block: Block) -> list[Command]:
    """The command lines of a block."""
    if block.language not in SHELL:
        return []
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if block.language != "console" or line.startswith("$ "):
            found += [Command(block.page, number, line.removeprefix("$ "))] if line else []
        else:
            found[-1] = found[-1]._replace(shown=f"{found[-1].shown}{line}\n")
    return found


def commands(page: Path) -> list[Command]:
    """Every command of syncoll that a page shows; of a page that is walked, in its prose alone."""
    inside = [] if page in WALKED else [line for block in blocks(page) for line in lines(block)]
    return [line for line in inside if line.text.startswith("syncoll ")] + [
        Command(name_of(page), number, span)
        for number, span in spans(page)
        if span.startswith("syncoll ")
    ]


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
        "MACHINE": "mi300x",
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


def plain(output: str) -> list[str]:
    """The output of a command without its variable parts: times, the steps with the rounds of
    equally good algorithms, their messages and sends, and the first of several engines."""
    found = []
    for line in output.rstrip().splitlines():
        text = re.sub(r"\b\d+(\.\d+)? s\b", "some s", line.strip())
        if re.search(r"(seed|step|partial|path)/\w+ +\d", text):
            cells = re.split(r"  +", text)[-11:]  # without microseconds
            del cells[3]  # messages
            cells[-4] = str(sum(Fraction(rounds) for rounds in cells[-4].split()))
            text = "  ".join(cells[:-3])
        text = re.sub(r"(?<=[0-9] %) +\w+$", " engine", text)  # of a repair
        text = re.sub(r"(?<=[0-9], by )\w+$", "engine", text)
        if run := re.fullmatch(r"(points\[\d+\] +\d+ +\d+ +)\d+( +\S+ +\w+)", text):
            text = f"{run[1]}some bytes{run[2]}"
        found.append(re.sub(r"─+", "─", re.sub(r" +", " ", text)))
    return found


def compare(shown: list[str], printed: list[str]) -> None:
    """Compares the printed and the shown lines; a line of dots stands for any lines."""
    shown, printed = [line for line in shown if line], [line for line in printed if line]
    at = 0
    for number, line in enumerate(shown):
        if line == "...":
            rest = shown[number + 1 :]
            at = printed.index(rest[0], at) if rest else len(printed)
            continue
        assert printed[at : at + 1] == [line], "\n".join(printed)
        at += 1
    assert printed[at:] == []


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    from syncoll.cli.main import main

    result = tmp_path_factory.mktemp("reader")
    names = ("topology-files", "language", "ceiling")
    pages = (ROOT / "README.md", *(DOCS / f"{name}.md" for name in names))
    for page in pages:
        for name, text in written_files(page).items():
            (result / name).write_text(text, encoding="utf-8")
    language = [b.text for b in blocks(ROOT / "docs" / "language.md") if b.language == "syncoll"]
    (result / "language.syncoll").write_text("\n".join(language), encoding="utf-8")
    (result / "other.syncoll").write_text("relation Elsewhere = { (0, 0) }\n", encoding="utf-8")
    with contextlib.chdir(result), contextlib.redirect_stdout(io.StringIO()):
        for command in FIRST:
            assert main(words(command)) == 0
    return result
