"""HTML from values: everything but markup is escaped, and styles are classes."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape

from syncoll.pages.page import short_fraction, visible

_MANY_ROWS = 24
"""A longer table is no higher than a window."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as text; HTML stays as it is, and long fractions are decimals."""
    if isinstance(value, Markup):
        return value
    exact = str(value)
    if isinstance(value, Fraction) and (short := short_fraction(value)) != exact:
        return element("span", short, title=exact)
    return Markup(escape(visible(exact)))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """One after the other."""
    return Markup(between.join(map(text, parts)))


def element(name: str, *inside: object, **attributes: object) -> Markup:
    """An element; attributes are named as in Python (``class_``, ``aria_label``).

    Examples:
        >>> element("p", "1 < 2", class_="note")
        '<p class="note">1 &lt; 2</p>'
    """
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{named}>{joined(inside)}</{name}>")


def paragraph(*inside: object, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *inside, class_=class_)


def code(value: object) -> Markup:
    """A piece of code, or a name."""
    return element("code", value)


def facts(entries: Iterable[tuple[str, object]], headline: str) -> Markup:
    """Facts, each a noun with its value, and a sentence about them."""
    cards = (element("div", element("dt", noun), element("dd", value)) for noun, value in entries)
    return joined([element("dl", *cards, class_="facts"), paragraph(headline, class_="headline")])


def shell_commands(lines: Iterable[str]) -> Markup:
    """Commands, each in a line."""
    return element("pre", element("code", "\n".join(lines)), tabindex=0)


def items(entries: Iterable[object]) -> Markup:
    """A list."""
    return element("ul", *(element("li", one) for one in entries))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    caption: str = "",
    *,
    rows_are: str | None = None,
) -> Markup:
    """A scrollable table; columns whose name starts with ``>`` hold numbers.  The page's code
    numbers rows by the noun `rows_are`."""
    right = ["number" if column.startswith(">") else None for column in columns]
    names = [column.removeprefix(">") for column in columns]
    head = element(
        "tr",
        *(
            element("th", name, scope="col", class_=how)
            for name, how in zip(names, right, strict=True)
        ),
    )
    body = [
        element(
            "tr",
            *(element("td", cell, class_=how) for cell, how in zip(row, right, strict=True)),
            **{} if rows_are is None else {f"data_{rows_are}": number},
        )
        for number, row in enumerate(rows)
    ]
    parts = [element("thead", head), element("tbody", *body)]
    if caption:
        parts.insert(0, element("caption", caption))
    many = len(body) > _MANY_ROWS
    return element(
        "div",
        element("table", *parts),
        class_="scroll many" if many else "scroll",
        role="region",
        aria_label=caption or None,
        tabindex=0 if many else None,
    )
