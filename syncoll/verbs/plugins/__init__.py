"""Lists every plug point (encodings, solver backends, seeds, bounds, spec libraries, importers,
exporters) with its plugins and their packages.  Of each it shows whether it is installed, licensed
and able to run here, with the reason if not.

  syncoll plugins --options
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from syncoll.pages.page import Page, PageParts, paged
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.plugins import PluginManager
    from syncoll.plugins.facts import plugin_facts
    from syncoll.values import picked
    from syncoll.verbs.result import Shown

SHELL = Shell({"options": "--options"})

_TITLES = {
    "encoding": "encodings (--encoding NAME)",
    "backend": "solver backends (--backend NAME)",
    "seed": "seed backends (--backend NAME, --seeds NAME)",
    "bound": "lower bounds (used if the bounds of syncoll leave a gap)",
    "specs": "spec libraries (their definitions are used by name)",
    "importer": "importers (syncoll import NAME FILE, NAME:FILE as a topology)",
    "exporter": "exporters (syncoll export --to NAME)",
}


@verb
def list_plugins(*, options: bool = False) -> Shown:
    """Plugins that are installed, licensed and able to run here.

    Args:
        options: also the features that a backend takes, and every option.
    """
    plugins = session_for().plugins
    records = plugin_facts(plugins)
    broken = [picked(one, "plugin distribution error") for one in plugins.broken]
    document = {"schema": "syncoll/plugins/1", "plugins": records, "broken": broken}
    return Shown(_page(plugins, records, options), lambda: document)


@paged
def _page(plugins: PluginManager, records: Sequence[dict[str, Any]], options: bool) -> PageParts:
    """A few lines about each plugin; with `options` also a backend's features and all options."""
    for point, title in _TITLES.items():
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
