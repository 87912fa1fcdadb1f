"""What the commands that write or read exported files share: options, names, places."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.parser import Parser
from syncoll.errors import FileFormatError, PluginError

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord, PluginManager

__all__ = [
    "LARGEST_FILE",
    "add_exporter_options",
    "exporter_of",
    "exporter_options",
    "flags_given",
    "read_exported",
]

LARGEST_FILE = 1 << 30
"""Bytes of a file that is read."""

_HEAD = 4096
"""Bytes by which an exporter recognises its files."""

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

    plugins = PluginManager.discover()
    parser.set_defaults(plugins=plugins)
    known = {option for action in parser._actions for option in action.option_strings}
    flags: dict[str, dict[str, list[str]]] = {}
    for record in _ours_first(plugins):
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

    flags = flags_given(arguments)
    table = {option.name: option for option in record.options}
    for name in flags:
        if name not in table:
            others = [r.name for r in _ours_first(arguments.session.plugins) if _has_flag(r, name)]
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


def exporter_of(path: Path, plugins: PluginManager) -> ExporterRecord | None:
    """The exporter of whose format a file is; None if of none.

    Args:
        path: a file, or a folder, of which any file counts.
        plugins: what is installed.

    Raises:
        FileFormatError: when it cannot be read.
    """
    from syncoll.cli.output import note

    told: set[str] = set()
    for file in _files_in(path):
        try:
            with file.open("rb") as stream:
                head = stream.read(_HEAD)
        except (OSError, ValueError) as error:
            raise _unreadable(file, error) from None
        for record in _ours_first(plugins):
            try:
                if record.recognises(file, head):
                    return record
            except PluginError as error:  # whose format it is, the others may know
                if str(error) not in told:
                    told.add(str(error))
                    note(f"syncoll: {error}")
    return None


def _ours_first(plugins: PluginManager) -> list[ExporterRecord]:
    """The exporters; no other one can claim a file that one of ours recognises."""
    return sorted(plugins.exporters.values(), key=lambda record: not plugins.is_ours(record))


def read_exported(path: Path) -> dict[str, bytes]:
    """The files of one export, by name.

    Args:
        path: a file, or a folder with all of them.

    Raises:
        FileFormatError: when they cannot be read or are too large.
    """
    files: dict[str, bytes] = {}
    left = LARGEST_FILE
    for file in _files_in(path):
        try:
            with file.open("rb") as stream:
                files[file.name] = stream.read(left + 1)
        except (OSError, ValueError) as error:
            raise _unreadable(file, error) from None
        left -= len(files[file.name])
        if left < 0:
            raise FileFormatError(f"{path}: larger than {LARGEST_FILE >> 20} MiB")
    return files


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.is_file())


def _unreadable(path: Path, error: Exception) -> FileFormatError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return FileFormatError(f"cannot read {path}: {reason}")
