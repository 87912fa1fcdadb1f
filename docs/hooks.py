"""The pages of the site that are made from the code: commands, option tables and the Python API.

mkdocs calls `on_files` and `on_post_build`.  The pages exist in the site alone, so they are never
out of date.  The search must work in a site that is opened from a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

import syncoll
from syncoll.cli.main import build_parser, main
from syncoll.verbs.declaration import Verb, verbs

_COLUMNS = "100"


_POINTS = {
    "encoding": ("Encodings", "`--encoding NAME`, with `--encoding-option OPTION=VALUE`."),
    "backend": ("Solver backends", "`--backend NAME`, with `--backend-option OPTION=VALUE`."),
    "seed": ("Seeds", "`--backend NAME` and `--seeds NAME`, with `--backend-option OPTION=VALUE`."),
    "importer": (
        "Importers",
        "`syncoll import NAME FILE --option OPTION=VALUE`, or "
        '`"NAME(OPTION=VALUE):FILE"` as a topology.',
    ),
    "exporter": ("Exporters", "`syncoll export FILE --to NAME --option OPTION=VALUE`."),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    pages = {"commands": commands_page, "options": options_page, "python": python_page}
    for name, page in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page()))
    return files


@event_priority(-200)  # after the plugin that embeds the search index
def on_post_build(config: MkDocsConfig) -> None:
    """Checks that the search needs neither a server nor another host."""
    require_offline_search(Path(config.site_dir))


def require_offline_search(site: Path) -> None:
    """Raises PluginError: if the index is not embedded, or a page loads a script from a host."""
    script = site / "search" / "search_index.js"
    text = script.read_text("utf-8") if script.is_file() else ""
    index = text.removeprefix("var __index = ")
    if len(index) in (0, len(text)) or not json.loads(index)["docs"]:
        raise PluginError(f"{script} has no search index: is the plugin `offline` enabled?")
    for page in site.rglob("*.html"):
        content = page.read_text("utf-8")
        if found := re.search(r"<script[^>]* src=\"https?:[^>]*>", content):
            raise PluginError(f"{page} loads a script from another host: {found[0]}")
        if "assets/iframe-worker.js" not in content:
            raise PluginError(f"{page} has no iframe-worker.js, which the search needs")


def _printed(arguments: list[str]) -> str:
    """The output of a command, with fixed width and without the user's settings."""
    out = io.StringIO()
    settings = {"COLUMNS": _COLUMNS, "SYNCOLL_STORE": "none"}
    with (
        mock.patch.dict(os.environ, settings),
        contextlib.redirect_stdout(out),
        contextlib.suppress(SystemExit),  # argparse ends with it
    ):
        main(arguments)
    if not out.getvalue():
        raise RuntimeError(f"`syncoll {' '.join(arguments)}` printed nothing")
    return out.getvalue()


# Commands -----------------------------------------------------------------------------------------


def _commands(
    parser: argparse.ArgumentParser, names: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Every command that can be run, in the order of the help."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield names
    for action in inner:
        for name, one in action.choices.items():
            yield from _commands(one, (*names, name))


def commands_page() -> str:
    """The `--help` of each command."""
    parts = [
        "# Commands\n",
        "The `--help` of each command. The [start page](../index.md) has an example; the "
        "[options of plugins](options.md) have a page of their own.\n",
        f"```text\n{_printed(['--help']).rstrip()}\n```\n",
    ]
    for names in _commands(build_parser()):
        text = _printed([*names, "--help"]).rstrip()
        parts.append(f"## syncoll {' '.join(names)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


# Options of plugins -------------------------------------------------------------------------------


def options_page() -> str:
    """The names and options of the plugins that come with syncoll."""
    entries = json.loads(_printed(["plugins", "--options", "--format", "json"]))["plugins"]
    parts = [
        "# Options of plugins\n",
        "The plugins that come with syncoll. `syncoll plugins --options` prints the same for all "
        "installed plugins, and whether they can run.\n",
    ]
    for point, (title, how) in _POINTS.items():
        parts.append(f"## {title}\n\n{how}\n")
        ours = [e for e in entries if e["point"] == point and "(syncoll " in e["distribution"]]
        if not ours:
            raise RuntimeError(f"there is nothing under {title}")
        parts += [_entry(point, one) for one in ours]
    return "\n".join(parts)


def _entry(point: str, entry: dict[str, Any]) -> str:
    lines = [
        f"### {entry['name']} {{ #{point}-{entry['name']} }}\n",
        f"{_sentence(entry['summary'])}.\n",
    ]
    if entry.get("features"):
        lines.append(f"Takes {', '.join(entry['features'])}.\n")
    if entry["options"]:
        lines += ["| option | default | values | |", "|---|---|---|---|"]
    for option in entry["options"]:
        default = option["default"]
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        cells = [f"`{option['name']}`", f"`{shown}`" if shown else "", option["kind"]]
        lines.append(f"| {' | '.join([*cells, _prose(option['summary'])])} |".replace("\n", " "))
    return "\n".join([*lines, ""])


def _prose(text: str) -> str:
    """A line of help as Markdown, with its characters of markup escaped."""
    for character in "\\|<*_[":
        text = text.replace(character, f"\\{character}")
    return text


def _sentence(text: str) -> str:
    return _prose(text[:1].upper() + text[1:])


# Python -------------------------------------------------------------------------------------------


def python_page() -> str:
    """The verbs with their parameters, and the types that `syncoll` exports."""
    functions = {verb.function: verb for verb in _verbs(verbs())}
    parts = [
        "# Python\n",
        "Made from signatures and docstrings. [From Python](../python.md) shows it in use.\n",
        "## Verbs of the command line\n",
        *(_verb(verb) for verb in functions.values()),
        "## Other functions and types\n",
    ]
    values = {name: getattr(syncoll, name) for name in getattr(syncoll, "__all__", ())}
    parts += [f"::: {_home(*one)}\n" for one in values.items() if one[1] not in functions]
    return "\n".join(parts)


def _verbs(found: list[Verb]) -> Iterator[Verb]:
    """All verbs, also in folders of folders."""
    for verb in found:
        yield from _verbs(verb.parts) if verb.parts else (verb,)


def _verb(verb: Verb) -> str:
    """The docstring of a verb, with a table of its parameters, limits and settings."""
    lines = [f"::: {verb.package}.{verb.function.__name__}"]
    lines += ["    options:", "      show_docstring_parameters: false\n"]
    if verb.parameters:
        lines += ["| keyword | type | |", "|---|---|---|"]
    for one in sorted(verb.parameters, key=lambda one: one.is_setting):
        cells = (f"`{one.name}`", f"`{one.type.replace(' | ', ' or ')}`", one.text)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _home(name: str, value: object) -> str:
    """The module and name of the definition, where the docstring is."""
    qualified = getattr(value, "__qualname__", None)
    return f"syncoll.{name}" if qualified is None else f"{value.__module__}.{qualified}"
