"""Checks the rules of docs/style.md that a program can check, for every text of the project.

A sentence has no word of the list `_BANNED` and at most 30 words.  Text between backticks, examples
and blocks of code do not count.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KINDS", "Flaw", "Text", "files_with_prose", "flaws", "texts_of"]

KINDS = ("help", "messages", "docs", "docstrings", "comments", "test names")
"""Help: of the command line.  Messages: other strings of a product that read like a sentence.
Docs: Markdown files.
"""

_MOST_WORDS = 30
_LONGEST_NAME = 60
_SENTENCE_BEGINS = 4
"""A string of fewer words is a name, a key or a piece of a table."""

_BANNED: tuple[tuple[str, str], ...] = (
    ("what", r"what(?:ever)?\b(?![^.?!]*\?)"),
    ("those", r"those (?:of|that|which|with|who|in)\b"),
    ("of which", r"of which\b"),
    ("so many", r"so (?:many|much|few|small|large)\b(?! (?:that|as))"),
    ("is none", r"(?:is|are|was|were) none\b"),
    ("beside", r"beside\b"),
    ("told", r"(?:told|tells)\b"),
    ("nobody", r"(?:nobody|whoever|somebody|someone|everybody|anybody)\b"),
    ("of use", r"of (?:no |more |any )?use\b"),
)
_WORD = re.compile(rf"\b(?:{'|'.join(pattern for _, pattern in _BANNED)})", re.IGNORECASE)
_CODE = re.compile(
    r"``[^`]+``|`[^`]+`|\"[^\"\n]*\"|<[^>\n]+>|https?://\S+|whatever its chunks and rounds"
)
"""Code, quotations, addresses, and a phrase that stands in files."""

_SQL = ("CREATE ", "SELECT ", "INSERT ", "DELETE ")
_NAME_WORD = re.compile(r"so_many|(?:is|are)_none|beside|told|tells|nobody|whoever|what|those_")


@dataclass(frozen=True)
class Text:
    """A piece of prose; `line`: its first line in the file."""

    file: str
    line: int
    kind: str
    words: str


@dataclass(frozen=True)
class Flaw:
    """A violation of a rule by a text."""

    text: Text
    rule: str
    words: str

    def __str__(self) -> str:
        return f"{self.text.file}:{self.text.line}: {self.text.kind}: {self.rule}: {self.words}"


def flaws(text: Text) -> Iterator[Flaw]:
    """The rules that a text violates."""
    if text.kind == "test names":
        if len(text.words) > _LONGEST_NAME:
            rule = f"{len(text.words)} characters, at most {_LONGEST_NAME}"
            yield Flaw(text, rule, text.words)
        if match := _NAME_WORD.search(text.words):
            yield Flaw(text, match[0], text.words)
        return
    for block in _blocks(text.words):
        plain = _CODE.sub("X", re.sub(r"^\s*\w+: ", "", block))  # without the name of a parameter
        for match in _WORD.finditer(plain):
            around = plain[max(0, match.start() - 30) : match.end() + 30]
            yield Flaw(text, match[0].lower(), " ".join(around.split()))
        for sentence in re.split(r"(?<=[.!?:;])\s+|\s\|\s", plain):
            if (count := len(re.findall(r"[^\W\d_][\w'-]*", sentence))) > _MOST_WORDS:
                rule = f"{count} words, at most {_MOST_WORDS}"
                yield Flaw(text, rule, " ".join(sentence.split()[:8]) + " ...")


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, without examples and literal blocks after ``::``."""
    literal: int | None = None
    after_colons = False
    for block in re.split(r"\n\s*?\n|\n(?=\s*(?:[-*] |>>> |\d+\. |\w+: |\|))", text):
        begins = block.lstrip()
        indent = len(block) - len(begins)
        if after_colons and literal is None:
            literal = indent
        elif literal is not None and indent < literal:
            literal = None
        after_colons = block.rstrip().endswith("::")
        if literal is None and not begins.startswith(
            (">>>", "syncoll ", "$ ", "import ", "python benchmarks/")
        ):
            yield block


def files_with_prose(path: Path, root: Path) -> Iterator[Path]:
    """The Python and Markdown files at a path, without results of benchmarks and the style guide
    itself.
    """
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        name = file.relative_to(root).as_posix()
        skipped = name.startswith("benchmarks/results/") or name == "docs/style.md"
        if file.suffix in (".py", ".md") and not skipped:
            yield file


def texts_of(file: Path, root: Path) -> Iterator[Text]:
    """The texts of a Python or Markdown file."""
    name = file.relative_to(root).as_posix()
    content = file.read_text("utf-8")
    if file.suffix == ".md":
        yield from _pieces_of_markdown(name, content)
    else:
        yield from _pieces_of_python(name, content)


def _pieces_of_markdown(name: str, content: str) -> Iterator[Text]:
    """Paragraphs outside of blocks of code."""
    inside, begin, lines = False, 1, list[str]()
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        fence = line.lstrip().startswith(("```", "~~~"))
        if fence or not line.strip():
            if lines:
                yield Text(name, begin, "docs", "\n".join(lines))
            lines = []
            inside ^= fence
        elif not inside and not line.startswith(("    ", "<!--")):
            begin = begin if lines else number
            lines.append(line)


def _pieces_of_python(name: str, content: str) -> Iterator[Text]:
    tree = ast.parse(content)
    is_test = name.startswith("tests/")
    is_help = name.startswith(("syncoll/cli/", "syncoll/verbs/"))
    docstrings = set[ast.AST]()
    joined = set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            alone = (one.value for one in node.body if isinstance(one, ast.Expr))
            docstrings.update(one for one in alone if isinstance(one, ast.Constant))
        if isinstance(node, ast.FunctionDef) and is_test and node.name.startswith("test_"):
            yield Text(name, node.lineno, "test names", node.name)
        if isinstance(node, ast.JoinedStr):
            joined.update(part for part in node.values if isinstance(part, ast.Constant))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "X" for p in node.values)
            words = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in joined:
            words = node.value
        else:
            continue
        if node in docstrings:
            first = tree.body and node is getattr(tree.body[0], "value", None)
            kind = "help" if is_help and first else "docstrings"
            yield Text(name, node.lineno, kind, words)
        elif not is_test and len(words.split()) >= _SENTENCE_BEGINS and not words.startswith(_SQL):
            yield Text(name, node.lineno, "help" if is_help else "messages", words)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(name, token.start[0], "comments", token.string.lstrip("# "))
