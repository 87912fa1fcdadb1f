"""Scanner: the tags of an MSCCL XML file, by the rules of the runtimes' own scanners.

They are written by hand and accept less than XML: between tags only spaces and line breaks; in a
tag exactly one space before each attribute, no tab and no line break; values in double quotes,
without entities; no declaration.  Only the first 16 attributes of a tag count, and every extra
space counts as one.  Input that they misread silently (a value that overflows its buffer, a closing
tag of another name within another rank's part) is refused here.

An XML library accepts input that the runtimes refuse.  Nothing is expanded or looked up, so a
hostile file can only be long.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from syncoll.errors import VerificationError

MOST_BYTES = 64 << 20
_LONGEST = 254
_MOST_ATTRIBUTES = 16
_PATIENCE = 1024
_SPACE = re.compile(r"[ \n\r]*")
_NAME = re.compile(r"[^=> /\n\r]*")
_VALUE = re.compile(r'[^"]*')


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that opens or closes an element, or both; and whether attributes were dropped."""

    line: int
    name: str
    opens: bool
    closes: bool
    attributes: dict[str, str]
    dropped: bool = False


def scan(content: bytes) -> Iterator[Tag]:
    """The tags of a file; VerificationError at the first that runtimes refuse or misread."""
    if len(content) > MOST_BYTES:
        raise VerificationError(f"{len(content)} bytes are more than an algorithm ever has")
    if content.startswith(b"\xef\xbb\xbf"):
        raise VerificationError("line 1: a byte order mark; the first character must be <")
    if b"\0" in content:
        raise VerificationError("a zero byte: the file is not text")
    yield from _Scanner(content.decode("latin-1")).tags()


class _Scanner:
    """A position in the text, and its line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.counted = 0

    def fail(self, message: str) -> NoReturn:
        self.count()
        raise VerificationError(f"line {self.line}: {message}")

    def count(self) -> None:
        """Brings the number of the line up to date."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at

    def tags(self) -> Iterator[Tag]:
        text = self.text
        while True:
            self.at = _end(_SPACE, text, self.at)
            if self.at == len(text):
                return
            self.count()
            if text[self.at] != "<":
                self.fail(
                    f"expected <, found {text[self.at]!r}; between tags there may only be spaces "
                    "and line breaks"
                )
            self.at += 1
            if text.startswith("!--", self.at):
                self.comment()
            elif text.startswith("?", self.at):
                self.fail("the runtimes refuse <?xml … ?>; <algo …> must come first")
            elif text.startswith("!", self.at):
                self.fail("the runtimes know no declarations and no entities")
            elif text.startswith("/", self.at):
                self.at += 1
                name = self.name()
                if not text.startswith(">", self.at):
                    self.fail(f"expected > right after </{name}")
                self.at += 1
                yield Tag(self.line, name, False, True, {})
            else:
                yield self.opening()

    def comment(self) -> None:
        word = _end(_NAME, self.text, self.at)
        if word == len(self.text) or word - self.at > _LONGEST:
            self.fail("a comment that does not end, or begins with a word that is too long")
        if self.text[word] == "=":
            self.fail("= in the first word of a comment, which the runtimes refuse")
        end = self.text.find("-->", self.at + 3)
        if end < 0:
            self.fail("a comment that does not end")
        self.at = end + 3

    def name(self) -> str:
        end = _end(_NAME, self.text, self.at)
        if end - self.at > _LONGEST:
            self.fail(f"a name of more than {_LONGEST} characters")
        name, self.at = self.text[self.at : end], end
        if end == len(self.text):
            self.fail("the file ends within a tag")
        return name

    def opening(self) -> Tag:
        text, name = self.text, self.name()
        if not name or "\t" in name:
            self.fail(f"expected the name of an element, found {(name or text[self.at])!r}")
        attributes: dict[str, str] = {}
        used = 0
        while text[self.at] == " ":
            self.at += 1
            key = self.name()
            used += 1
            if used > _PATIENCE:
                self.fail(f"{name} has more than {_PATIENCE} attributes or spaces")
            if text[self.at] != "=":
                if key:
                    self.fail(f"attribute {key!r} of {name} has no value")
                continue  # an extra space counts as an attribute
            value = self.value(name, key)
            if used <= _MOST_ATTRIBUTES:
                if key in attributes:
                    self.fail(f"attribute {key} of {name} is given twice")
                attributes[key] = value
        closes = text[self.at] == "/"
        if closes:
            self.at += 1
            if self.name():
                self.fail(f"expected > after the / in {name}")
        if text[self.at] != ">":
            self.fail(
                f"expected > or one space within {name}, found {text[self.at]!r}; attributes must "
                "be on one line, with a single space between them"
            )
        self.at += 1
        return Tag(self.line, name, True, closes, attributes, used > _MOST_ATTRIBUTES)

    def value(self, name: str, key: str) -> str:
        text, start = self.text, self.at + 1
        if start >= len(text):
            self.fail("the file ends within a tag")
        if not text.startswith('"', start):
            self.fail(f"the value of {key} of {name} must be in double quotes")
        end = _end(_VALUE, text, start + 1)
        if end + 1 >= len(text):
            self.fail("the file ends within a tag")
        if end - start - 1 > _LONGEST:
            self.fail(f"the value of {key} of {name} has more than {_LONGEST} characters")
        self.at = end + 1
        if "\t" in key:
            self.fail(f"a tab before {key.strip()} of {name}; attributes are separated by a space")
        return text[start + 1 : end]


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    assert match is not None  # every pattern matches the empty text
    return match.end()
