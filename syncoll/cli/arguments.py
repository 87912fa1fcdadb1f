"""Parsed arguments that several commands share."""

import argparse
import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import SpecError, UsageError
from syncoll.session import Settings
from syncoll.values import swept_sizes

if TYPE_CHECKING:
    from syncoll.spec import SpecLibrary

STANDARD_OUTPUT = Path("-")
"""The value of ``-o -``."""


def json_for_dash(arguments: argparse.Namespace) -> None:
    """Turns ``-o -`` of a command that saves JSON into ``--format json``."""
    if arguments.output == STANDARD_OUTPUT:
        arguments.output, arguments.format = None, "json"


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings among the arguments.  Raises `OptionError` on an option of a plugin that is not
    written as NAME=VALUE."""
    given = vars(arguments)
    found = {one.name: given.get(one.name) for one in fields(Settings)}
    for name in ("encoding_options", "backend_options"):
        if options := found[name]:
            from syncoll.plugins import parse_options  # which loads their host

            found[name] = parse_options(options)
    return Settings(**{name: value for name, value in found.items() if value not in (None, [])})


def take_sweep(arguments: argparse.Namespace) -> None:
    """Writes the sizes of -b, -e and -f, if any, in place of the command's sizes."""
    given = vars(arguments)
    limits = (given.get(name) for name in ("minbytes", "maxbytes", "stepfactor"))
    if sizes := swept_sizes(*limits):
        name = "size" if "size" in given else "sizes"
        setattr(arguments, name, sizes)


def resolve_names(arguments: argparse.Namespace) -> None:
    """Refuses unknown topologies and collectives before the command loads its modules.

    Raises:
        SpecError: on an unknown name.
        UsageError: if topology and collective are exchanged.
    """
    for argument, kind in getattr(arguments, "kinds", {}).items():
        name = getattr(arguments, argument)
        try:
            if name is not None:
                arguments.session.specs.expect(kind, name)
        except SpecError:
            _refuse_swapped(arguments, arguments.session.specs)
            raise


def _refuse_swapped(arguments: argparse.Namespace, specs: "SpecLibrary") -> None:
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
