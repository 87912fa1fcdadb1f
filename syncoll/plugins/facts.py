"""Facts about the installed plugins, such as whether they can run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from syncoll.errors import PluginError
from syncoll.plugins.guard import Answer
from syncoll.plugins.manager import PluginManager
from syncoll.plugins.records import SpecLibraryRecord
from syncoll.spec import SpecLibrary
from syncoll.values import picked

_REGISTRIES = {
    "encoding": "encodings",
    "backend": "backends",
    "seed": "seeds",
    "bound": "bounds",
    "specs": "spec_libraries",
    "importer": "importers",
    "exporter": "exporters",
}
"""By plug point the attribute of a manager that has its records."""


def plugin_facts(plugins: PluginManager) -> list[dict[str, Any]]:
    """The facts about each plugin, as in JSON."""
    return [
        _record(plugins, point, record)
        for point, registry in _REGISTRIES.items()
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
    options = getattr(record, "options", ())
    found["options"] = [picked(one, "name default kind summary") for one in options]
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
    problems = [] if ours else SpecLibrary([record.folder]).problems()
    return "; ".join(str(error).partition("\n")[0] for error in problems)
