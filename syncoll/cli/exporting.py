"""What the commands that write or read exported files share: options, names, places."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import FileFormatError, PluginError

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord, PluginManager

__all__ = [
    "LARGEST_FILE",
    "add_exporter_options",
    "exporter_of",
    "exporter_options",
    "read_exported",
]

LARGEST_FILE = 1 << 30
"""Bytes of a file that is read."""

_HEAD = 4096
"""Bytes by which an exporter recognises its files."""

_SHORT_FORMS = {
    "dialect": "msccl-xml: the runtime that reads the file (msccl, executor or rccl)",
    "proto": "msccl-xml: the protocol (Simple, LL or LL128)",
    "instances": "msccl-xml: split each chunk into so many, each on channels of its own",
}
"""Options of exporters that have one of their own on the command line."""


def add_exporter_options(parser: argparse.ArgumentParser) -> None:
    """--option, and the short forms of some of them."""
    group = parser.add_argument_group("options of the format")
    for name, summary in _SHORT_FORMS.items():
        group.add_argument(f"--{name}", metavar=name[0].upper(), help=summary)
    group.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any option of the exporter; `syncoll plugins --options` lists them; repeatable",
    )


def exporter_options(arguments: argparse.Namespace, record: ExporterRecord) -> dict[str, str]:
    """What the arguments of `add_exporter_options` set, for this exporter.

    Raises:
        OptionError: on an option that it does not have, or one that is given twice.
    """
    from syncoll.plugins import parse_options

    short = [
        f"{name}={getattr(arguments, name)}"
        for name in _SHORT_FORMS
        if getattr(arguments, name) is not None
    ]
    return parse_options([*short, *arguments.option])


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
