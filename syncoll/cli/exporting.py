"""What the commands that write or read exported files share: options, names, places."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from syncoll.cli.parser import Parser

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord

__all__ = [
    "add_exporter_options",
    "exporter_options",
    "flags_given",
]

_FLAG = "flag "
"""Before the name of an option, in the name of what its flag sets."""


def add_exporter_options(parser: argparse.ArgumentParser) -> None:
    """--option, and the flags of the exporters that are installed."""
    assert isinstance(parser, Parser)
    group = parser.add_argument_group("options of the format")
    group.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any option of the exporter; `syncoll plugins --options` lists them; repeatable",
    )
    parser.late.append(lambda: _add_flags(parser, group))


def _add_flags(parser: Parser, group: argparse._ArgumentGroup) -> None:
    from syncoll.plugins import PluginManager
    from syncoll.runtime.exported import ours_first

    plugins = PluginManager.discover()
    parser.set_defaults(plugins=plugins)
    known = {option for action in parser._actions for option in action.option_strings}
    flags: dict[str, dict[str, list[str]]] = {}
    for record in ours_first(plugins):
        for option in record.options:
            if option.flag and f"--{option.name}" not in known:
                about = f"{option.summary}; {option.kind}"
                flags.setdefault(option.name, {}).setdefault(about, []).append(record.name)
    for name, formats in flags.items():
        told = "; ".join(f"{', '.join(names)}: {about}" for about, names in formats.items())
        group.add_argument(
            f"--{name}",
            dest=f"{_FLAG}{name}",
            metavar=name[0].upper(),
            help=told.replace("%", "%%"),
        )


def flags_given(arguments: argparse.Namespace) -> dict[str, str]:
    """The options that were set by flags of their own, by name."""
    return {
        key.removeprefix(_FLAG): value
        for key, value in vars(arguments).items()
        if key.startswith(_FLAG) and value is not None
    }


def exporter_options(
    arguments: argparse.Namespace, record: ExporterRecord, *, reading: bool = False
) -> dict[str, str]:
    """What the arguments of `add_exporter_options` set, for this exporter.

    Args:
        arguments: the parsed command line.
        record: the exporter.
        reading: whether its checker gets them, for files that are there.

    Raises:
        OptionError: on an option that it does not have, one that is given twice, one with a value
            that is not allowed, or one that says nothing about files that are there.
    """
    from syncoll.errors import OptionError
    from syncoll.plugins import parse_options, resolve_options
    from syncoll.runtime.exported import ours_first

    flags = flags_given(arguments)
    table = {option.name: option for option in record.options}
    for name in flags:
        if name not in table:
            others = [r.name for r in ours_first(arguments.session.plugins) if _has_flag(r, name)]
            raise OptionError(
                f"--{name} is an option of {' and '.join(others)}; exporter {record.name} has no "
                f"such option; it has: {', '.join(sorted(table)) or 'none'}"
            )
    given = parse_options(
        [*(f"{name}={value}" for name, value in flags.items()), *arguments.option]
    )
    resolve_options(record.options, given, f"exporter {record.name}")
    for name in given if reading else ():
        if table[name].writing:
            shown = f"--{name}" if name in flags else f"--option {name}"
            raise OptionError(
                f"{shown} says how a file is written; {arguments.file} says that itself"
            )
    return given


def _has_flag(record: ExporterRecord, name: str) -> bool:
    return any(option.flag and option.name == name for option in record.options)
