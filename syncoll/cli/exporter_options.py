"""Options of exporters, for the commands that write or read exported files."""

import argparse
from pathlib import Path

from syncoll.cli.options import add
from syncoll.errors import OptionError
from syncoll.plugins import ExporterRecord, PluginManager, parse_options, resolve_options
from syncoll.runtime.exported import ours_first

_FLAG = "flag "
"""The prefix of the names that flags of exporters set."""


def add_exporter_options(parser: argparse.ArgumentParser) -> None:
    """--option, and the flags of the exporters that are installed."""
    group = parser.add_argument_group("options of the format")
    about = "any option of the exporter; `syncoll plugins --options` lists them; repeatable"
    add(group, {"--option NAME=VALUE ...": about})
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
        about = "; ".join(f"{', '.join(names)}: {about}" for about, names in formats.items())
        group.add_argument(
            f"--{name}",
            dest=f"{_FLAG}{name}",
            metavar=name[0].upper(),
            help=about.replace("%", "%%"),
        )


def flags_given(arguments: argparse.Namespace) -> dict[str, str]:
    """The options that have flags of their own and were given, by name."""
    return {
        key.removeprefix(_FLAG): value
        for key, value in vars(arguments).items()
        if key.startswith(_FLAG) and value is not None
    }


def options_given(arguments: argparse.Namespace) -> dict[str, str]:
    """All given options, by name.  Raises `OptionError` on an option that is not written as
    NAME=VALUE, or is given twice."""
    flags = (f"{name}={value}" for name, value in flags_given(arguments).items())
    return parse_options([*flags, *arguments.option])


def exporter_options(
    arguments: argparse.Namespace, record: ExporterRecord, *, reading: Path | None = None
) -> dict[str, str]:
    """The given options for an exporter, or for its checker, which reads a file (`reading`).

    Raises:
        OptionError: on an unknown option, one that is given twice, one with an invalid value, or
            one for writing only.
    """
    flags = flags_given(arguments)
    table = {option.name: option for option in record.options}
    for name in flags:
        if name not in table:
            others = [
                other.name
                for other in ours_first(arguments.session.plugins)
                if any(option.flag and option.name == name for option in other.options)
            ]
            raise OptionError(
                f"--{name} is an option of {' and '.join(others)}; exporter {record.name} has no "
                f"such option; it has: {', '.join(sorted(table)) or 'none'}"
            )
    given = options_given(arguments)
    resolve_options(record.options, given, f"exporter {record.name}")
    for name in given if reading else ():
        if table[name].writing:
            shown = f"--{name}" if name in flags else f"--option {name}"
            raise OptionError(
                f"{shown} is for writing; {reading} is read, and has the value itself"
            )
    return given
