# ruff: noqa: D102 - each method is named after the grammar's rule that it serves
"""The parser's callbacks for definitions and statements, on top of the callbacks for expressions.

They also raise errors for statements that are repeated or missing, parameters of one name, and
labels with broken braces.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lark import Token

from syncoll.spec import syntax
from syncoll.spec.expressions import Children, ExpressionBuilder
from syncoll.spec.limits import MAX_PARTS
from syncoll.spec.source import Span
from syncoll.spec.syntax import Node

_LABEL_PART = re.compile(r"\\(.)|\{([^{}]*)\}|([{}])|([^\\{}]+)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "{": "{", "}": "}", "n": "\n", "t": "\t"}
_RATES = {
    f"{prefix}{letter}{per}": Fraction(1000) ** power / bits
    for per in ("/s", "ps")
    for letter, bits in (("B", 1), ("b", 8))
    for prefix, power in (("T", 1), ("G", 0), ("M", -1), ("k", -2), ("", -3))
}
_SECONDS = {unit: Fraction(1, 1000**power) for power, unit in enumerate(("s", "ms", "us", "ns"))}


class Builder(ExpressionBuilder):
    """Makes syntax records; used by the parser while it reads."""

    # Damaged machines ----------------------------------------------------------------------------

    def end(self, children: Children) -> syntax.End:
        word, expr = children
        is_switch = word is not None and word.type == "SWITCH"
        return syntax.End(is_switch, expr, span=self.whole(children))

    def broken_vertex(self, children: Children) -> Node:
        return syntax.DamageTerm((self.end(children),), span=self.whole(children))

    def broken_link(self, children: Children) -> Node:
        _, one, arrow, other = children
        return syntax.DamageTerm((one, other), str(arrow) == "<->", span=self.whole(children))

    def broken_text(self, children: Children) -> Node:
        return syntax.DamageTerm((), text=self._text(children[0]), span=self.whole(children))

    def slow(self, children: Children) -> Node:
        broken, _, factor = children
        slower: Node = replace(broken, factor=factor, span=broken.span.to(factor.span))
        return slower

    def failure(self, children: Children) -> Node:
        things = tuple(child for child in children if isinstance(child, syntax.DamageTerm))
        return syntax.DamageClause(things, span=self.whole(children))

    def failures(self, children: Children) -> tuple[Node, ...]:
        return tuple(children)

    def damaged(self, children: Children) -> Node:
        reference, failures = children
        return syntax.DamagedReference(*children, span=self.whole([reference, *failures]))

    # Definitions -------------------------------------------------------------------------------

    def param(self, children: Children) -> Node:
        default = children[2] if len(children) == 3 else None
        name, variadic = self.bound(children[0]), len(children) == 2
        return syntax.Parameter(name, default, variadic, span=self.whole(children))

    def params(self, children: Children) -> tuple[Node, ...]:
        found = tuple(child for child in children if isinstance(child, syntax.Parameter))
        seen: dict[str, syntax.Parameter] = {}
        gathering: syntax.Parameter | None = None
        for parameter in found:
            if parameter.name in seen:
                raise parameter.span.error(f"parameter `{parameter.name}` occurs twice")
            if parameter.default is None and gathering is not None:
                raise parameter.span.error(
                    f"`{gathering.name}...` takes all further values", "a default, `name = value`"
                )
            if parameter.default is None and any(p.default for p in seen.values()):
                raise parameter.span.error(
                    "a parameter without default after one that has a default",
                    "parameters with defaults last",
                )
            gathering = parameter if parameter.variadic else gathering
            seen[parameter.name] = parameter
        return found

    def _value(self, children: Children) -> syntax.ValueDefinition:
        word, name, parameters, _, body = children
        return syntax.ValueDefinition(
            name=self.bound(name),
            name_span=self.token_span(name),
            parameters=parameters or (),
            doc=self._doc(word),
            is_relation=word == "relation",
            body=body,
            span=self.token_span(word).to(body.span),
        )

    relation = constant = let = _value

    def collective(self, children: Children) -> Node:
        body = tuple(child for child in children if isinstance(child, Node))
        chunks, pre, post = (self._only(children, body, w) for w in ("chunks", "pre", "post"))
        sizes, irregular = (_at_most_one(body, word) for word in ("size", "irregular"))
        if sizes is not None and irregular is not None:
            raise irregular.span.error(
                "a collective with `size` is not irregular: C cuts every unit of its sizes",
                "one of the two statements",
            )
        assert sizes is None or isinstance(sizes, syntax.Statement)
        return syntax.CollectiveDefinition(
            **self._head(children),
            chunks=chunks,
            pre=pre,
            post=post,
            sizes=sizes,
            irregular=irregular is not None,
            body=body,
        )

    def combined(self, children: Children) -> Node:
        return syntax.CombinedDefinition(**self._head(children[:3]), combination=children[4])

    def inverse(self, children: Children) -> Node:
        return self._combination("inverse", children, children[1:])

    def _several(self, children: Children) -> Node:
        return self._combination(str(children[1]), children, children[::2])

    choice = sequence = demand = _several

    def weighted(self, children: Children) -> Node:
        token, _, operand = children
        weight = (self.number if token.type == "INTEGER" else self.name)([token])
        return self._combination("*", children, [operand], weight)

    def _changed(self, children: Children) -> Node:
        operand, op, *rest = children
        arguments = (child for child in rest if isinstance(child, syntax.Expr))
        return self._combination(str(op), children, [operand], *arguments)

    within = reproducible = without = _changed

    def _combination(
        self, op: str, children: Children, operands: Children, *arguments: syntax.Expr
    ) -> Node:
        span, parts = self.whole(children), list[syntax.Combination]()
        for one in operands:
            same = isinstance(one, syntax.Combined) and one.op == op and op in ("then", "or")
            parts += one.parts if same else [one]
        size = 1 + sum(part.size if isinstance(part, syntax.Combined) else 1 for part in parts)
        if size > MAX_PARTS:
            raise span.error(
                f"a collective combined from more than {MAX_PARTS} parts", "fewer parts"
            )
        return syntax.Combined(op, tuple(parts), arguments, size, span=span)

    part_group = ExpressionBuilder.group

    def topology(self, children: Children) -> Node:
        body = tuple(child for child in children if isinstance(child, Node))
        self._only(children, body, "nodes")
        for keyword in ("switches", "unit", "rounds"):
            _at_most_one(body, keyword)
        return syntax.TopologyDefinition(**self._head(children), body=body)

    def search(self, children: Children) -> Node:
        settings = tuple(child for child in children if isinstance(child, syntax.Setting))
        head = self._head(children)
        for setting in settings:
            _at_most_one(settings, setting.keyword)
        for keyword in ("topology", "collective"):
            if _at_most_one(settings, keyword) is None:
                raise head["name_span"].error(
                    f"this search names no {keyword}", f"a statement `{keyword} …` in its braces"
                )
        return syntax.SearchDefinition(**head, settings=settings)

    def _head(self, children: Children) -> dict[str, Any]:
        word, name, parameters = children[:3]
        where = self.token_span(name if name is not None else word)
        end = self.token_span(children[-1]) if isinstance(children[-1], Token) else where
        return {
            "name": "" if name is None else str(name),
            "name_span": where,
            "parameters": parameters or (),
            "doc": self._doc(word),
            "span": self.token_span(word).to(end),
        }

    def _only(self, children: Children, body: Sequence[Node], keyword: str) -> syntax.Statement:
        found = _at_most_one(body, keyword)
        if found is None:
            kind, name = str(children[0]), str(children[1])
            raise self.token_span(children[1]).error(
                f"{kind} {name} has no `{keyword}`", f"a statement `{keyword} …` in its braces"
            )
        assert isinstance(found, syntax.Statement)
        return found

    def _doc(self, word: Token) -> str:
        """The comment lines directly above the line of a definition's first word."""
        number = self.token_span(word).line - 1
        lines: list[str] = []
        while number >= 1 and self.source.line(number).lstrip().startswith("#"):
            lines.append(self.source.line(number).strip().lstrip("#").strip())
            number -= 1
        return "\n".join(reversed(lines))

    # Statements --------------------------------------------------------------------------------

    def _statement(self, children: Children) -> Node:
        return syntax.Statement(str(children[0]), children[-1], span=self.whole(children))

    nodes = switches = chunks = size = pre = post = round_grain = _statement

    def round_unit(self, children: Children) -> Node:
        _, value, rate = children
        return syntax.RoundUnit(value, self._rate(rate), span=self.whole(children))

    def _rate(self, token: Token) -> syntax.Rate:
        factor = _RATES.get(str(token))
        if factor is None:
            raise self.token_span(token).error(
                f"`{token}` is not a unit of bandwidth",
                f"one of {', '.join(one for one in _RATES if '/' in one)}",
            )
        return syntax.Rate(factor, span=self.token_span(token))

    def irregular(self, children: Children) -> Node:
        return syntax.Irregular(span=self.whole(children))

    def require(self, children: Children) -> Node:
        _, condition, message = children
        text = self._text(message) if message is not None else condition.span.text
        return syntax.Require(condition, " ".join(text.split()), span=self.whole(children))

    def both_ways(self, children: Children) -> tuple[str, Span, object]:
        return "both_ways", self.whole(children), True

    def bandwidth(self, children: Children) -> tuple[str, Span, object]:
        rate = None if children[2] is None else self._rate(children[2])
        return "bandwidth", self.whole(children), (children[1], rate)

    def latency(self, children: Children) -> tuple[str, Span, object]:
        _, value, unit, _, protocol = children
        factor, name = _SECONDS[str(unit)], str(protocol or "")
        span = self.whole([child for child in children if child is not None])
        clause = f"latency protocol {name}" if name else "latency"
        return clause, span, syntax.Latency(value, factor, name, span=span)

    def counting(self, children: Children) -> tuple[str, Span, object]:
        return "counting", self.whole(children), str(children[1])

    def switch_does(self, children: Children) -> Node:
        loops = self.loops_in(children)
        switches = tuple(child for child in children if isinstance(child, syntax.Expr))
        whole = self.whole([children[0], *switches])
        return syntax.SwitchStatement(str(children[0]), switches, loops, span=whole)

    def label(self, children: Children) -> tuple[str, Span, object]:
        return "label", self.whole(children), self._template(children[1])

    def link(self, children: Children) -> Node:
        pairs = tuple(child for child in children if isinstance(child, syntax.PairOf))
        clauses, given = self._clauses(children)
        if "counting" in given:
            span = next(x[1] for x in children if isinstance(x, tuple) and x[0] == "counting")
            raise span.error(
                "`counting` after a link, where every send counts",
                "`counting` after the bandwidth of a `shared` bound",
            )
        bandwidth, rate = given.get("bandwidth", (None, None))
        protocols = tuple(x for name, x in given.items() if name.startswith("latency p"))
        if protocols and "latency" not in given:
            raise protocols[0].span.error(
                "a latency of a protocol, but the link has none",
                "the latency of the link before it, such as `latency 470 ns`",
            )
        return syntax.LinkStatement(
            pairs,
            given.get("both_ways", False),
            clauses,
            bandwidth,
            rate,
            given.get("latency"),
            given.get("label"),
            protocols,
            span=self.whole([*children[:1], *pairs]),
        )

    def links(self, children: Children) -> Node:
        _, _, start, _, end = children
        return syntax.LinkSelection(start, end, span=self.whole(children))

    def shared(self, children: Children) -> Node:
        close = next(i for i, child in enumerate(children) if child == "}")
        kinds = (syntax.PairOf, syntax.LinkSelection)
        inside = children[2:close]
        selections = tuple(child for child in inside if isinstance(child, kinds))
        inner = self.loops_in(inside)
        outer, given = self._clauses(children[close:])
        span = self.whole(children[: close + 1])
        if not selections:
            raise span.error("a shared bound over no links", "`(a, b)` or `links from …`")
        if "both_ways" in given:
            raise span.error("`both ways` does not belong to `shared`", "both pairs, written out")
        if latency := next((x for x in given.values() if isinstance(x, syntax.Latency)), None):
            raise latency.span.error(
                "a latency of a shared bound", "`latency` after the links themselves"
            )
        if "bandwidth" not in given:
            raise span.error("this shared bound has no `bandwidth`", "`bandwidth` after the `}`")
        bandwidth, rate = given["bandwidth"]
        if rate is not None:
            raise rate.span.error(
                "a unit after the bandwidth of a shared bound",
                "a plain number of chunks per round, or a switch on the path of the links",
            )
        return syntax.SharedStatement(
            selections,
            inner,
            outer,
            bandwidth,
            given.get("label"),
            given.get("counting", ""),
            span=span,
        )

    def _clauses(self, children: Children) -> tuple[tuple[Any, ...], dict[str, Any]]:
        loops = self.loops_in(children)
        given: dict[str, Any] = {}
        for child in children:
            if isinstance(child, tuple):
                name, span, value = child
                if name in given:
                    raise span.error(f"`{name.replace('_', ' ')}` occurs twice in one statement")
                given[name] = value
        return loops, given

    def unit(self, children: Children) -> str:
        return str(children[0])

    def search_subject(self, children: Children) -> Node:
        return syntax.Setting(str(children[0]), children[-1], span=self.whole(children))

    search_k = search_bound = search_subject

    def search_time(self, children: Children) -> Node:
        word, _, value, unit = children
        return syntax.Setting("time", value, unit, span=self.whole([word, value]))

    def search_plugin(self, children: Children) -> Node:
        word, value = children
        text = self._text(value) if value.startswith('"') else str(value)
        return syntax.Setting(str(word), text, span=self.whole(children))

    # Files and texts ---------------------------------------------------------------------------

    def import_(self, children: Children) -> Node:
        return syntax.Import(self._text(children[1]), span=self.whole(children))

    def file(self, children: Children) -> Node:
        span = Span(self.source, self.start, self.start)
        imports = tuple(child for child in children if isinstance(child, syntax.Import))
        rest = tuple(child for child in children if isinstance(child, syntax.Definition))
        return syntax.File(imports, rest, span=span)

    def text(self, children: Children) -> Node:
        return syntax.MatrixFile(self._text(children[-1]), span=self.whole(children))

    matrix = text

    def _text(self, token: Token) -> str:
        inside = str(token)[1:-1]
        return re.sub(r"\\(.)", lambda match: self._escape(match, token), inside)

    def _escape(self, match: re.Match[str], token: Token) -> str:
        if match[1] not in _ESCAPES:
            start = self.token_span(token).start + 1 + match.start()
            raise self.source.span(start, start + 2).error(
                f"unknown escape `\\{match[1]}`", r"`\"`, `\\`, `\{`, `\}`, `\n` or `\t`"
            )
        return _ESCAPES[match[1]]

    def _template(self, token: Token) -> syntax.Label:
        """Splits a label into plain text and ``{name}``."""
        parts: list[str | syntax.Name] = []
        begin = self.token_span(token).start + 1
        for match in _LABEL_PART.finditer(str(token)[1:-1]):
            if match[1] is not None:
                parts.append(self._escape(match, token))
            elif match[4] is not None:
                parts.append(match[4])
            else:
                span = self.source.span(begin + match.start(), begin + match.end())
                name = (match[2] or "").strip()
                if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                    raise span.error("the braces of a label must have a name", r"`{name}`, or `\{`")
                parts.append(syntax.Name(name, span=span))
        return syntax.Label(tuple(parts), span=self.token_span(token))


def _at_most_one(body: Sequence[Node], keyword: str) -> Node | None:
    """The statement of a kind, if there is one."""
    found = [node for node in body if getattr(node, "keyword", "") == keyword]
    if len(found) > 1:
        raise found[1].span.error(
            f"`{keyword}` occurs a second time; the first is in line {found[0].span.line}",
            f"one `{keyword}` statement",
        )
    return found[0] if found else None
