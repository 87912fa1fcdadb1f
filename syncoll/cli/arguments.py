"""Parsed arguments: what those say that several commands share."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import SpecError, UsageError
from syncoll.session import Settings

if TYPE_CHECKING:
    from syncoll.spec import Kind, SpecLibrary

__all__ = ["STANDARD_OUTPUT", "classics_of", "json_for_dash", "resolve_names", "settings_of"]

STANDARD_OUTPUT = Path("-")
"""What ``-o -`` names."""


def json_for_dash(arguments: argparse.Namespace) -> None:
    """``-o -`` of a command that saves JSON: that is what ``--format json`` prints, and all."""
    if arguments.output == STANDARD_OUTPUT:
        arguments.output, arguments.format = None, "json"


def classics_of(arguments: argparse.Namespace) -> bool | list[str]:
    """What `--classics` says: all, none, or those with these names."""
    chosen: str = arguments.classics
    return chosen == "all" or ([] if chosen == "none" else chosen.split(","))


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What the options of `options.add_solver` say, where the command has them.

    Raises:
        OptionError: on an option of a plugin that is not written as NAME=VALUE.
    """
    named = {field.name for field in fields(Settings)}
    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in named and value is not None
    }
    for name in ("encoding_option", "backend_option"):
        settings = getattr(arguments, name, None)
        if settings:
            from syncoll.plugins import parse_options  # which loads their host

            given[f"{name}s"] = parse_options(settings)
    return Settings(**given)


def resolve_names(arguments: argparse.Namespace) -> None:
    """Makes sure that what the arguments name is there, before a command loads what it needs.

    Raises:
        SpecError: when nothing has such a name.
        UsageError: when a topology stands where a collective should, and the other way round.
    """
    wanted: dict[str, Kind] = {
        argument: kind
        for argument, kind in getattr(arguments, "kinds", {}).items()
        if getattr(arguments, argument) is not None
    }
    if not wanted:
        return
    specs = arguments.session.specs
    for argument, kind in wanted.items():
        try:
            specs.expect(kind, getattr(arguments, argument))
        except SpecError:
            _refuse_swapped(arguments, specs)
            raise


def _refuse_swapped(arguments: argparse.Namespace, specs: SpecLibrary) -> None:
    """Suggests the command line with the topology and the collective in their places."""
    first, second = (getattr(arguments, name, None) for name in ("topology", "collective"))
    if first is None or second is None:
        return
    try:
        specs.expect("collective", first)
        specs.expect("topology", second)
    except SpecError:
        return
    turned = {first: second, second: first}
    line = shlex.join(turned.get(word, word) for word in arguments.words)
    raise UsageError(
        f"{first} is a collective and {second} is a topology; exchange them:\n  syncoll {line}"
    )
