"""``syncoll plugins``: what is installed, licensed and able to run here."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.plugins import Option, PluginManager

__all__ = ["add_parser"]

_DESCRIPTION = """\
Lists every plug point (encodings, solver backends, spec libraries) with what is registered there,
by which package, and whether it is installed, licensed and able to run here, and why not.
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "plugins",
        help="what is installed, licensed and able to run here",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--options", action="store_true", help="list the options of each plugin")
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import manager
    from syncoll.cli.output import console, print_json, print_text, table

    plugins = manager()
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
    rows = [
        (
            entry["point"],
            entry["name"],
            _words(entry.get("installed")),
            _words(entry.get("licensed")),
            "yes" if entry["able"] else "no",
            entry["summary"],
            entry["distribution"],
        )
        for entry in entries
    ]
    columns = ("plug point", "name", "installed", "licensed", "able", "summary", "from")
    console().print(table("", columns, rows))
    for broken in plugins.broken:
        print_text(f"broken: plugin {broken.plugin} of {broken.distribution}: {broken.error}")
    if arguments.options:
        for entry in entries:
            for option in entry.get("options", []):
                print_text(
                    f"{entry['point']} {entry['name']}: {option['name']} = {option['default']} "
                    f"({option['kind']}): {option['summary']}"
                )
    return Exit.OK


def _words(answer: dict[str, Any] | None) -> str:
    if answer is None:
        return ""
    word = "yes" if answer["ok"] else "no"
    return f"{word}: {answer['reason']}" if answer["reason"] else word


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
        installed = backend.installed()
        entry = {
            "point": "backend",
            "name": backend.name,
            "summary": backend.summary,
            "installed": {"ok": installed.ok, "reason": installed.reason},
            "able": installed.ok,
            "features": sorted(backend.features),
            "distribution": str(plugins.provenance(backend)),
            "options": _options(backend.options),
        }
        if installed.ok:
            licensed = backend.licensed()
            entry["licensed"] = {"ok": licensed.ok, "reason": licensed.reason}
            entry["able"] = licensed.ok
        entries.append(entry)
    for spec_library in plugins.spec_libraries.values():
        entries.append(
            {
                "point": "specs",
                "name": spec_library.name,
                "summary": spec_library.summary,
                "able": spec_library.folder.is_dir(),
                "distribution": str(plugins.provenance(spec_library)),
            }
        )
    return entries


def _options(options: tuple[Option, ...]) -> list[dict[str, Any]]:
    return [
        {"name": o.name, "default": o.default, "kind": o.kind, "summary": o.summary}
        for o in options
    ]
