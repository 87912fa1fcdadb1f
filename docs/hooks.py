"""The pages of the site that are made from the code: commands, option tables and the Python API.

mkdocs calls `on_files`.  The pages exist in the site alone, so that none can be out of date.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from syncoll.cli.main import build_parser, main

_COLUMNS = "100"

_MODULES = {
    "syncoll": "The verbs of the command line, for programs and notebooks.",
    "syncoll.api": "Types, and the parts that the verbs are made of.",
}

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


def _printed(arguments: list[str]) -> str:
    """What a command prints, whatever the terminal and the user's settings."""
    out = io.StringIO()
    settings = {"COLUMNS": _COLUMNS, "SYNCOLL_STORE": "none"}
    with (
        mock.patch.dict(os.environ, settings),
        contextlib.redirect_stdout(out),
        contextlib.suppress(SystemExit),  # that is how argparse ends
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
        "What each command says with `--help`. The [start page](../index.md) shows the first one "
        "at work; the [options of plugins](options.md) have a page of their own.\n",
        f"```text\n{_printed(['--help']).rstrip()}\n```\n",
    ]
    for names in _commands(build_parser()):
        text = _printed([*names, "--help"]).rstrip()
        parts.append(f"## syncoll {' '.join(names)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


# Options of plugins -------------------------------------------------------------------------------


def options_page() -> str:
    """What can be chosen and set, from the tables of the plugins that come with syncoll."""
    entries = json.loads(_printed(["plugins", "--options", "--format", "json"]))["plugins"]
    parts = [
        "# Options of plugins\n",
        "The plugins that come with syncoll. `syncoll plugins --options` prints the same of all "
        "that are installed, yours included, and says which are able to run.\n",
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
    """A line of help as Markdown: what would be markup there is text here."""
    for character in "\\|<*_[":
        text = text.replace(character, f"\\{character}")
    return text


def _sentence(text: str) -> str:
    return _prose(text[:1].upper() + text[1:])


# Python -------------------------------------------------------------------------------------------


def python_page() -> str:
    """Everything that the public modules export, from its docstrings."""
    parts = [
        "# Python\n",
        "Made from the docstrings. [From Python](../python.md) shows it in use.\n",
    ]
    seen: set[str] = set()
    for module_name, summary in _MODULES.items():
        module = importlib.import_module(module_name)
        lines = []
        for name in getattr(module, "__all__", ()):
            where = _home(module_name, name, getattr(module, name))
            if where not in seen:
                seen.add(where)
                lines.append(f"::: {where}\n")
        if lines:
            parts += [f"## {module_name}\n", f"{summary}\n", *lines]
    if not seen:
        raise RuntimeError(f"nothing is exported by {', '.join(_MODULES)}")
    return "\n".join(parts)


def _home(module: str, name: str, value: object) -> str:
    """Where it is defined, which is where its docstring is read."""
    qualified = getattr(value, "__qualname__", None)
    return f"{module}.{name}" if qualified is None else f"{value.__module__}.{qualified}"
