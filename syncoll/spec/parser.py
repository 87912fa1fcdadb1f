"""Text to syntax: lark's LALR parser with callbacks that build the records as it reads.

The callbacks run while the parser reduces, so there is no tree to walk and nothing recurses,
however deeply a text nests.  The grammar is compiled on first use, and kept for the next process.
"""

import re
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from syncoll.spec.kept import cache_folder
from syncoll.spec.keywords import RESERVED
from syncoll.spec.source import Source
from syncoll.spec.syntax import Combination, DamageClause, DamageTerm, Expr, File, Reference

if TYPE_CHECKING:
    from lark import Lark, Token

    from syncoll.spec.builder import Builder

_LOCK = threading.Lock()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_file(source: Source, start: int = 0, end: int | None = None) -> File:
    """Reads a file, or the definitions between two positions of it."""
    return cast(File, _parse("file", source, start, end))


def parse_reference(source: Source, start: int = 0) -> Reference:
    """Reads ``name`` or ``name(arguments)`` from a position to the end of the text."""
    name = source.text[start:]
    if _NAME.fullmatch(name) and name not in RESERVED:  # most need no parser
        span = source.span(start, len(source.text))
        return Reference(name, span, (), span=span)
    return cast(Reference, _parse("reference", source, start))


def parse_combination(source: Source, start: int = 0, text: str | None = None) -> Combination:
    """Reads one or several combined collectives; `text` replaces the source's, place by place."""
    return cast(Combination, _parse("choice", source, start, text=text))


def parse_failures(source: Source, start: int) -> tuple[DamageClause, ...]:
    """Reads the damage of a topology, from a position to the end of the text."""
    return cast(tuple[DamageClause, ...], _parse("failures", source, start))


def parse_broken(source: Source) -> DamageTerm:
    """Reads one broken part, such as ``link 3->6``, from the whole text."""
    return cast(DamageTerm, _parse("broken", source))


def parse_expression(source: Source) -> Expr:
    """Reads an expression from the whole text."""
    return cast(Expr, _parse("expr", source))


def _parse(
    rule: str, source: Source, start: int = 0, end: int | None = None, text: str | None = None
) -> Any:
    from lark.exceptions import UnexpectedInput  # lark is only loaded if there is a text to read

    end = len(source.text) if end is None else end
    with _LOCK:  # the builder knows one source at a time
        lark, builder = _compiled()
        builder.begin(source, start)
        try:
            return lark.parse((source.text if text is None else text)[start:end], start=rule)
        except UnexpectedInput as error:
            from syncoll.spec.errors import syntax_error

            raise syntax_error(error, source, start, end, lark) from None
        finally:
            builder.begin(Source("", ""), 0)


@cache
def _compiled() -> "tuple[Lark, Builder]":
    from lark import Lark

    from syncoll.spec.builder import Builder

    builder = Builder()

    def refuse_reserved(token: "Token") -> "Token":
        if str(token) in RESERVED:
            raise builder.token_span(token).error(
                f"`{token}` is a word of the language and cannot be a name here",
                "an expression or another name",
            )
        return token

    callbacks: Any = {"NAME": refuse_reserved}
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    lark = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["file", "reference", "choice", "expr", "failures", "broken"],
        keep_all_tokens=True,
        maybe_placeholders=True,
        transformer=builder,
        lexer_callbacks=callbacks,
        cache=_cache(grammar),
    )
    return lark, builder


def _cache(grammar: str) -> str | bool:
    """A file for the compiled grammar, which takes ten times as long to compile as to read.

    Lark stores it with a digest of the grammar and of its own version, and rebuilds it if it does
    not fit.  Versions of syncoll with other grammars have files of their own.  Without a writable
    folder there is no cache.
    """
    import lark

    folder = cache_folder()
    if folder is None:
        return False
    digest = f"{crc32(grammar.encode()):08x}"
    version = "-".join((lark.__version__, *map(str, sys.version_info[:2]), digest))
    return str(folder / f"grammar-{version}.lark")
