"""Lists every plug point (encodings, solver backends, seeds, bounds, spec libraries, importers,
exporters) with its plugins and their packages.  Of each it shows whether it is installed, licensed
and able to run here, with the reason if not.

  syncoll plugins --options
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.pages.plugins import plugin_records, plugins_page
    from syncoll.verbs.result import Shown, picked

__all__ = ["list_plugins"]

SHELL = Shell({"options": "--options"})


@verb
def list_plugins(*, options: bool = False) -> Shown:
    """Plugins that are installed, licensed and able to run here.

    Args:
        options: also the features that a backend takes, and every option.
    """
    plugins = session_for().plugins

    def document() -> dict[str, Any]:
        broken = [picked(one, "plugin distribution error") for one in plugins.broken]
        entries = plugin_records(plugins)
        return {"schema": "syncoll/plugins/1", "plugins": entries, "broken": broken}

    return Shown(plugins_page(plugins, options=options), document)
