"""Errors in words: of arithmetic, and of syntax with the alternatives.

The parser's set of possible terminals is translated to expressions, operators, statements and
brackets.
"""

import difflib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.errors import SpecError
from syncoll.spec.arithmetic import Fault
from syncoll.spec.keywords import list_words
from syncoll.spec.source import Source, Span
from syncoll.spec.values import NameScope, written

if TYPE_CHECKING:
    from lark import Lark, UnexpectedInput

_LOOP = "; it stands after the links: `link (i, i + 1) for i in range(3) if i != 1`"
_HINTS = {"for": _LOOP, "if": _LOOP, "..": "; `range(a, b)` has the numbers from a to b - 1"}
"""For loops, conditions and ranges in the syntax of other languages."""


def describe_cell(cell: tuple[tuple[int, ...], tuple[int, ...]] | None, scope: NameScope) -> str:
    """The values of the variables in a cell: `` (with c = 3, n = 0)``."""
    if cell is None:
        return ""
    position, shape = cell
    shown = []
    for name, value in scope.names.items():
        if isinstance(value, np.ndarray):
            try:
                shown.append(f"{name} = {written(np.broadcast_to(value, shape)[position])}")
            except ValueError:  # a variable that does not affect the fault
                continue
    return f" (with {', '.join(shown)})" if shown else ""


def fault_error(fault: Fault, span: Span, scope: NameScope) -> SpecError:
    """A fault of arithmetic as an error at its place, naming the cell."""
    return span.error(fault.message + describe_cell(fault.cell, scope), fault.expected)


_OPERATOR_WORDS = "+ - * / ** div mod == != < <= > >= in and or | & [ not"
_OPERATORS = frozenset(_OPERATOR_WORDS.split())
_STARTING_WORDS = "( [ { - not if nodes true false matrix"
_STARTS = frozenset(("a name", "a number", *_STARTING_WORDS.split()))
"""The beginnings of an expression."""
_DEFINITIONS = ("relation", "collective", "topology", "search", "let", "import")
_STATEMENTS = (
    *("nodes", "switches", "unit", "link", "shared", "chunks", "size", "require", "irregular"),
    *("multicast", "reduce"),
    *("pre", "post", "k", "steps", "rounds", "time", "encoding", "backend"),
)
_BRACKETS = re.compile(r'#.*|"(?:\\.|[^"\\\n])*"?|[(){}\[\]]')
"""Brackets, and the comments and texts in which they do not count."""
_SPECIAL = {
    "NAME": "a name",
    "CABLE": "link",
    "VERTEX": "node",
    "INTEGER": "a number",
    "STRING": 'a text in "quotes"',
    "RATE": "a unit such as GB/s",
    "DURATION": "ns, us, ms",
    "$END": "the end of the file",
}


def syntax_error(
    error: "UnexpectedInput", source: Source, start: int, end: int, parser: "Lark"
) -> SpecError:
    """Translates a parser's error."""
    from lark import UnexpectedCharacters, UnexpectedToken
    from lark.lexer import PatternStr

    table = {terminal.name: terminal.pattern for terminal in parser.terminals}

    def spell(terminal: str) -> str:
        pattern = table.get(terminal)
        if pattern is None or terminal in _SPECIAL:
            return _SPECIAL.get(terminal, terminal)
        if isinstance(pattern, PatternStr):
            return pattern.value
        return pattern.value.removesuffix("\\b").partition("(?=")[0]

    assert isinstance(error, UnexpectedCharacters | UnexpectedToken)
    interactive: Any = error.interactive_parser
    accepted = {spell(name) for name in interactive.accepts()}
    expected = in_words(accepted)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _ended_early(source, start, end, expected)
    position = start + (error.pos_in_stream or 0)
    if isinstance(error, UnexpectedCharacters):
        character = source.text[position : position + 1]
        span = source.span(position, position + 1)
        if character == '"':
            return span.error("this text has no closing quote on its line", '`"`')
        return span.error(f"unexpected character {character!r}", expected)
    text = str(error.token)
    span = source.span(position, position + len(text))
    close = difflib.get_close_matches(text, [word for word in accepted if word.isalpha()], 1, 0.7)
    shown = text if len(text) <= 40 else text[:40] + "…"
    hint = f"; did you mean `{close[0]}`?" if close and close[0] != text else ""
    if text == ".." or "link" in accepted:
        hint = hint or _HINTS.get(text, "")
    return span.error(f"unexpected `{shown}`{hint}", expected)


def in_words(accepted: set[str]) -> str:
    """The end of ``expected …``, with "an expression" and "an operator" for their terminals."""
    rest = set(accepted)
    parts: list[str] = []
    if {"a name", "a number", "["} <= rest:
        parts.append("an expression")
        rest = {word for word in rest - _STARTS if not word.startswith("[0-9]")}
    continues = {"+", "*"} <= rest
    if continues:
        rest -= _OPERATORS
    for word in ("a name", "a number", 'a text in "quotes"', "a unit such as GB/s"):
        if word in rest:
            parts.append(word)
            rest.discard(word)
    definitions = [word for word in _DEFINITIONS if word in rest]
    statements = [word for word in _STATEMENTS if word in rest]
    listed = ""
    if "}" in rest and statements:
        statements += [word for word in ("let", "collective", "topology") if word in rest]
        listed = f"a statement ({', '.join(statements)})"
        rest -= {*statements, *definitions}
    elif {"relation", "import"} <= set(definitions):
        listed = f"a definition ({', '.join(definitions)})"
        rest -= {*statements, *definitions}
    end = rest & {_SPECIAL["$END"]}
    order = sorted(rest - end, key=lambda word: (word.isalpha(), word))
    parts += [f"`{word}`" for word in order]
    parts += ["an operator"] * continues
    return list_words([*parts, *filter(None, [listed]), *end])


def _ended_early(source: Source, start: int, stop: int, expected: str) -> SpecError:
    """An error after the last word; it names the bracket that is still open."""
    end = len(source.text[:stop].rstrip())
    opened = _open_bracket(source, start, stop)
    message = "the text ends too early"
    if opened is not None:
        place = source.span(opened, opened + 1)
        message += f"; the `{place.text}` of line {place.line} is never closed"
    return source.span(max(start, end - 1), max(start, end)).error(message, expected)


def _open_bracket(source: Source, start: int, stop: int) -> int | None:
    open_at: list[int] = []
    for match in _BRACKETS.finditer(source.text, start, stop):
        if match[0] in "({[":
            open_at.append(match.start())
        elif match[0] in ")}]" and open_at:
            open_at.pop()
    return open_at[-1] if open_at else None
