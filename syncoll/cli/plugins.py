"""Lists every plug point (encodings, solver backends, seeds, bounds, spec libraries, importers,
exporters) with what is registered there, by which package, and whether it is installed, licensed
and able to run here, and why not.

  syncoll plugins --options
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add
from syncoll.cli.output import picked, print_json, print_page
from syncoll.pages.plugins import plugin_records

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add(parser, {"--options": "also what formulas a backend takes, and every option", **FORMAT})


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.format != "json":
        print_page(syncoll.list_plugins(options=arguments.options))
        return Exit.OK
    plugins = arguments.session.plugins
    broken = [picked(one, "plugin distribution error") for one in plugins.broken]
    entries = plugin_records(plugins)
    print_json({"schema": "syncoll/plugins/1", "plugins": entries, "broken": broken})
    return Exit.OK
