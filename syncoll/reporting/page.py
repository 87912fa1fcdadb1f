"""The page: one self-contained file that loads nothing when it is opened.

Style sheets and scripts from ``assets`` are inserted as they are.  The page's content security
policy lets the browser run only these, by their digests, and fetch nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from syncoll.reporting.content import content
from syncoll.reporting.markup import Markup, text
from syncoll.reporting.sections import assumptions, commands, points, summary
from syncoll.reporting.subject import Subject
from syncoll.reporting.times import Times
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.version import __version__

_STYLES = "base charts print"
_SCRIPTS = "data dom colours axes frontier times network traffic proofs main"
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_SECTION = re.compile(r'<section id="(\w+)" data-nav="([^"]+)"(\{\{\w+\}\})?>')


def page(subject: Subject, times: Times) -> str:
    """The page as HTML."""
    data = content(subject, times)
    places = {
        "title": text(subject.title),
        "kind": _kind(subject),
        "summary": summary(subject, times),
        "scripted": "The pictures need",
        "points": points(subject),
        "assumptions": assumptions(subject, times),
        "commands": commands(subject, times),
        "without_network": hidden(not subject.entries),
        "without_proofs": hidden(not data["proofs"]),
        "without_frontier": hidden(subject.frontier is None),
    }
    return filled("report.html", _STYLES, _SCRIPTS, places, data)


def filled(sections: str, styles: str, scripts: str, places: Mapping[str, str], data: Any) -> str:
    """A self-contained page of HTML with styles and scripts, in the order of their dependencies,
    and data.  The asset `sections` has the page's sections, each with its name in the navigation.
    It has places ``{{name}}`` for the HTML of `places`, as has ``shell.html``."""
    style = "\n".join(_asset(f"{name}.css") for name in styles.split())
    parts = (_asset(f"{name}.js") for name in scripts.split())
    script = "\n".join(['"use strict";', "(() => {", *parts, "})();"])
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    whole = _asset("shell.html").replace("{{sections}}", _asset(sections))
    found = _SECTION.findall(whole)
    links = (f'<a href="#{name}"{is_hidden}>{words}</a>' for name, words, is_hidden in found)
    whole = whole.replace("{{nav}}", "\n    ".join(links)).replace("{{first}}", found[0][0])
    every = {
        **places,
        "policy": escape(policy),
        "style": style,
        "script": script,
        "version": text(__version__),
        "data": _json(data),
    }
    # In one pass: inserted text is not searched again.
    return _PLACE.sub(lambda match: every[match[1]], whole)


def _kind(subject: Subject) -> str:
    """The subject of the page, above its title."""
    if subject.frontier is None:
        return "Answer"
    return "Proved bounds" if subject.frontier.scope == BOUNDS_ALONE else "Pareto frontier"


def framed(whole: str) -> Markup:
    """A page in a frame of its own, as notebooks show it."""
    return Markup(
        f'<iframe srcdoc="{escape(whole)}" sandbox="allow-scripts" width="100%" height="900" '
        'title="report"></iframe>'
    )


@cache
def _asset(name: str) -> str:
    return files("syncoll.reporting").joinpath("assets", name).read_text("utf-8")


def _digest(content: str) -> str:
    hashed = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(hashed).decode()}'"


def hidden(yes: bool) -> str:
    """The attribute of an element that is not shown."""
    return " hidden" if yes else ""


def _json(data: Any) -> str:
    """JSON that cannot close the element around it."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
