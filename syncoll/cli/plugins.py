"""``syncoll plugins``: what is installed, licensed and able to run here."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit
from syncoll.cli.output import print_json, print_text, width
from syncoll.errors import PluginError

if TYPE_CHECKING:
    from syncoll.plugins import Answer, Option, PluginManager, SpecLibraryRecord

__all__ = ["add_parser"]

_DESCRIPTION = """\
Lists every plug point (encodings, solver backends, seeds, spec libraries, importers, exporters)
with what is registered there, by which package, and whether it is installed, licensed and able to
run here, and why not.

  syncoll plugins --options
"""

_TITLES = {
    "encoding": "encodings (--encoding NAME)",
    "backend": "solver backends (--backend NAME)",
    "seed": "seed backends (--backend NAME, --seeds NAME)",
    "specs": "spec libraries (their definitions are used by name)",
    "importer": "importers (syncoll import NAME FILE, NAME:FILE as a topology)",
    "exporter": "exporters (syncoll export --to NAME)",
}


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "plugins",
        help="what is installed, licensed and able to run here",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "--options",
        action="store_true",
        help="also what formulas a backend takes, and every option",
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:

    plugins = arguments.session.plugins
    entries = _entries(plugins)
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/plugins/1",
                "plugins": entries,
                "broken": [
                    {"plugin": b.plugin, "distribution": b.distribution, "error": b.error}
                    for b in plugins.broken
                ],
            }
        )
        return Exit.OK
    for point, title in _TITLES.items():
        print_text(f"{title}:")
        for entry in entries:
            if entry["point"] == point:
                _show(entry, arguments.options)
        print_text()
    for broken in plugins.broken:
        origin = f" of {broken.distribution}" if broken.distribution else ""
        print_text(f"broken: plugin {broken.plugin}{origin}: {broken.error}")
    if not arguments.options:
        print_text("`syncoll plugins --options` also lists what each takes and can be told.")
    return Exit.OK


def _show(entry: dict[str, Any], options: bool) -> None:
    """A few lines about one plugin."""
    _field(entry["name"], entry["summary"], indent=2, column=11)
    if "installed" in entry:
        _field("installed", _words(entry["installed"]))
    if "licensed" in entry:
        _field("licensed", _words(entry["licensed"]))
    _field("able to run", "yes" if entry["able"] else "no")
    if entry.get("problem"):
        _field("problem", entry["problem"])
    _field("from", entry["distribution"])
    if not options:
        return
    if "features" in entry:
        _field("takes", ", ".join(entry["features"]))
    for option in entry.get("options", []):
        default = str(option["default"])
        default = default.lower() if isinstance(option["default"], bool) else default
        _field("option", f"{option['name']}={default}: {option['summary']}; {option['kind']}")


def _field(name: str, text: str, indent: int = 11, column: int = 24) -> None:
    """A name and, from a column on, a text that is wrapped under itself."""
    start = f"{'':{indent}}{name:<{column - indent - 1}} "
    columns = width()
    if columns is None:
        print_text(f"{start}{text}")
        return
    hang = " " * min(len(start), columns // 2)
    print_text(textwrap.fill(text, columns, initial_indent=start, subsequent_indent=hang))


def _words(answer: dict[str, Any]) -> str:
    word = "yes" if answer["ok"] else "no"
    return f"{word}: {answer['reason']}" if answer["reason"] else word


def _asked(question: Callable[[], Answer]) -> dict[str, Any]:
    """A plugin's answer."""
    answer = question()
    return {"ok": answer.ok, "reason": answer.reason}


def _problem(recognises: Callable[[], bool]) -> str:
    """What is wrong with a plugin's `recognises`, as far as asking it about nothing tells."""
    try:
        recognises()
    except PluginError as error:
        return str(error)
    return ""


def _library_problem(record: SpecLibraryRecord, *, ours: bool) -> str:
    """What is wrong with a library's files; ours are tested, and many."""
    from syncoll.spec import SpecLibrary

    if not record.folder.is_dir():
        return f"there is no folder {record.folder}"
    problems = [] if ours else SpecLibrary.load([record.folder]).problems()
    return "; ".join(str(error).partition("\n")[0] for error in problems)


def _entries(plugins: PluginManager) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for encoding in plugins.encodings.values():
        entries.append(
            {
                "point": "encoding",
                "name": encoding.name,
                "summary": encoding.summary,
                "able": True,
                "distribution": str(plugins.provenance(encoding)),
                "options": _options(encoding.options),
            }
        )
    for backend in plugins.backends.values():
        installed = _asked(backend.installed)
        entry = {
            "point": "backend",
            "name": backend.name,
            "summary": backend.summary,
            "installed": installed,
            "able": installed["ok"],
            "features": sorted(backend.features),
            "distribution": str(plugins.provenance(backend)),
            "options": _options(backend.options),
        }
        if installed["ok"]:
            entry["licensed"] = _asked(backend.licensed)
            entry["able"] = entry["licensed"]["ok"]
        entries.append(entry)
    for seed in plugins.seeds.values():
        installed = _asked(seed.installed)
        entries.append(
            {
                "point": "seed",
                "name": seed.name,
                "summary": seed.summary,
                "installed": installed,
                "able": installed["ok"],
                "distribution": str(plugins.provenance(seed)),
                "options": _options(seed.options),
            }
        )
    for spec_library in plugins.spec_libraries.values():
        entries.append(
            {
                "point": "specs",
                "name": spec_library.name,
                "summary": spec_library.summary,
                "able": spec_library.folder.is_dir(),
                "problem": _library_problem(spec_library, ours=plugins.is_ours(spec_library)),
                "distribution": str(plugins.provenance(spec_library)),
            }
        )
    for importer in plugins.importers.values():
        entries.append(
            {
                "point": "importer",
                "name": importer.name,
                "summary": importer.summary,
                "able": True,
                "problem": _problem(partial(importer.recognises, "")),
                "distribution": str(plugins.provenance(importer)),
                "options": _options(importer.options),
            }
        )
    for exporter in plugins.exporters.values():
        installed = _asked(exporter.installed)
        entries.append(
            {
                "point": "exporter",
                "name": exporter.name,
                "summary": exporter.summary,
                "installed": installed,
                "able": installed["ok"],
                "problem": _problem(partial(exporter.recognises, Path("nothing"), b"")),
                "distribution": str(plugins.provenance(exporter)),
                "options": _options(exporter.options),
            }
        )
    return entries


def _options(options: tuple[Option, ...]) -> list[dict[str, Any]]:
    return [
        {"name": o.name, "default": o.default, "kind": o.kind, "summary": o.summary}
        for o in options
    ]
