"""Pages of the installed plugins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from syncoll.errors import PluginError
from syncoll.pages.page import Page, PageParts, paged
from syncoll.plugins import Answer, PluginManager, SpecLibraryRecord
from syncoll.spec import SpecLibrary

__all__ = ["plugin_records", "plugins_page"]

_POINTS = {
    "encoding": ("encodings", "encodings (--encoding NAME)"),
    "backend": ("backends", "solver backends (--backend NAME)"),
    "seed": ("seeds", "seed backends (--backend NAME, --seeds NAME)"),
    "bound": ("bounds", "lower bounds (used if the bounds of syncoll leave a gap)"),
    "specs": ("spec_libraries", "spec libraries (their definitions are used by name)"),
    "importer": ("importers", "importers (syncoll import NAME FILE, NAME:FILE as a topology)"),
    "exporter": ("exporters", "exporters (syncoll export --to NAME)"),
}
"""Plug points: the attribute of a manager that has their records, and a title."""


@paged
def plugins_page(plugins: PluginManager, *, options: bool) -> PageParts:
    """A few lines about each plugin; with `options` also a backend's features and all options."""
    records = plugin_records(plugins)
    for point, (_, title) in _POINTS.items():
        own = [record for record in records if record["point"] == point]
        if point == "bound" and not own:  # none comes with syncoll
            continue
        yield f"{title}:"
        yield from (_described(record, options) for record in own)
        yield ""
    for broken in plugins.broken:
        origin = f" of {broken.distribution}" if broken.distribution else ""
        yield f"broken: plugin {broken.plugin}{origin}: {broken.error}"
    if not options:
        yield "`syncoll plugins --options` also lists features and options."


def _described(record: dict[str, Any], options: bool) -> Page:
    start = f"  {record['name']:<8} "
    page = Page().text(f"{start}{record['summary']}", hang=len(start))

    def field(name: str, text: str) -> None:
        page.text(f"{'':11}{name:<12} {text}", hang=24)

    for name in ("installed", "licensed"):
        if name in record:
            answer = record[name]
            reason = f": {answer['reason']}" if answer["reason"] else ""
            field(name, f"{'yes' if answer['ok'] else 'no'}{reason}")
    field("able to run", "yes" if record["able"] else "no")
    if record.get("problem"):
        field("problem", record["problem"])
    field("from", record["distribution"])
    if options and "features" in record:
        field("takes", ", ".join(record["features"]))
    for option in record.get("options", []) if options else ():
        default = str(option["default"])
        default = default.lower() if isinstance(option["default"], bool) else default
        field("option", f"{option['name']}={default}: {option['summary']}; {option['kind']}")
    return page


def plugin_records(plugins: PluginManager) -> list[dict[str, Any]]:
    """The facts about each plugin, as in JSON."""
    return [
        _record(plugins, point, record)
        for point, (registry, _) in _POINTS.items()
        for record in getattr(plugins, registry).values()
    ]


def _record(plugins: PluginManager, point: str, record: Any) -> dict[str, Any]:
    """The facts that all plugins have, and the ones of a plug point."""
    found = {"point": point, "name": record.name, "summary": record.summary, "able": True}
    found["distribution"] = str(plugins.provenance(record))
    if point in ("backend", "seed", "exporter"):
        found["installed"] = _answer(record.installed)
        found["able"] = found["installed"]["ok"]
    if point == "backend":
        found["features"] = sorted(record.features)
        if found["able"]:
            found["licensed"] = _answer(record.licensed)
            found["able"] = found["licensed"]["ok"]
    elif point == "specs":
        found["able"] = record.folder.is_dir()
        found["problem"] = _library_problem(record, ours=plugins.is_ours(record))
        return found
    elif point == "importer":
        found["problem"] = _problem(lambda: record.recognises(""))
    elif point == "exporter":
        found["problem"] = _problem(lambda: record.recognises(Path("nothing"), b""))
    found["options"] = [
        {"name": o.name, "default": o.default, "kind": o.kind, "summary": o.summary}
        for o in getattr(record, "options", ())
    ]
    return found


def _answer(question: Callable[[], Answer]) -> dict[str, Any]:
    answer = question()
    return {"ok": answer.ok, "reason": answer.reason}


def _problem(recognises: Callable[[], bool]) -> str:
    """The error of a plugin's `recognises` on an empty file; empty for none."""
    try:
        recognises()
    except PluginError as error:
        return str(error)
    return ""


def _library_problem(record: SpecLibraryRecord, *, ours: bool) -> str:
    """The errors of a library's files; ours are many, and tested."""
    if not record.folder.is_dir():
        return f"there is no folder {record.folder}"
    problems = [] if ours else SpecLibrary.load([record.folder]).problems()
    return "; ".join(str(error).partition("\n")[0] for error in problems)
