"""Exported files: whose format they are, and whether they do what is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from syncoll.errors import (
    FileFormatError,
    PluginError,
    UncheckedError,
    UsageError,
    VerificationError,
)
from syncoll.model import Collective, Topology
from syncoll.plugins import CheckedExport, ExporterRecord, PluginManager, resolve_options
from syncoll.runtime.expected import meant_instance, require_links

__all__ = ["VerifiedExports", "exporter_of", "ours_first", "read_exported", "verify_exports"]

LARGEST_FILE = 1 << 30
"""Bytes of a file that is read."""

_HEAD = 4096
"""Bytes by which an exporter recognises its files."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class VerifiedExports:
    """What a format's checker found.

    Args:
        exporter: the format.
        meant: the name of the collective that was meant; None where nobody said.
        checked: the files that do what they should, and what that is.
        wrong: those that do not, and why.
        unchecked: those of which that cannot be told, and why.
    """

    exporter: str
    meant: str | None
    checked: tuple[tuple[Path, CheckedExport], ...]
    wrong: tuple[tuple[Path, str], ...]
    unchecked: tuple[tuple[Path, str], ...]

    @property
    def ok(self) -> bool:
        """Whether all of them were executed and do what they should."""
        done = all(one.result_checked for _, one in self.checked)
        return done and not self.wrong and not self.unchecked


def verify_exports(
    path: Path,
    record: ExporterRecord,
    given: Mapping[str, object],
    *,
    topology: Topology | None = None,
    collective: Collective | None = None,
    chunks: int | None = None,
) -> VerifiedExports:
    """Checks exports: of a format of several files a folder, of others each file by itself.

    Args:
        path: a file or a folder.
        record: of the format.
        given: options by name.  Those that are not given say nothing: a file of another tool need
            not be of the dialect that we write.
        topology: over whose links alone data may go; None for any.
        collective: that is meant; None for what the files say of themselves.
        chunks: C of the collective; None for what the files have.

    Raises:
        OptionError: on an unknown option or a value out of range.
        UsageError: when the format's libraries are not installed, or C is given alone.
        FileFormatError: when a file cannot be read.
    """
    if chunks is not None and collective is None:
        raise UsageError("-C is the C of --collective; name the collective")
    resolved = resolve_options(record.options, given, f"exporter {record.name}")
    options = {name: value for name, value in resolved.items() if name in given}
    if not (answer := record.installed()).ok:
        raise UsageError(f"exporter {record.name} is not installed: {answer.reason}")
    checker = record.load_checker()

    def check(files: Mapping[str, bytes]) -> CheckedExport:
        """First for what the files say of themselves, then for what is meant."""
        found = checker.check(files, options)
        if topology is not None:
            require_links(found, topology)
        if collective is None:
            return found
        return checker.check(files, options, meant_instance(collective, topology, chunks, found))

    files = read_exported(path)
    groups = [files] if record.folder else [{name: text} for name, text in files.items()]
    checked: list[tuple[Path, CheckedExport]] = []
    wrong: list[tuple[Path, str]] = []
    unchecked: list[tuple[Path, str]] = []
    for group in groups:
        where = path if len(groups) == 1 else path / next(iter(group))
        try:
            checked.append((where, check(group)))
        except VerificationError as error:
            # A checker of several files names the one; that of a single file need not.
            reason = str(error).removeprefix(f"{where.name}: ")
            (unchecked if isinstance(error, UncheckedError) else wrong).append((where, reason))
    meant = None if collective is None else collective.name
    return VerifiedExports(record.name, meant, tuple(checked), tuple(wrong), tuple(unchecked))


def exporter_of(path: Path, plugins: PluginManager, tell: Tell) -> ExporterRecord | None:
    """The exporter of whose format a file is; None if of none.

    Args:
        path: a file, or a folder, of which any file counts.
        plugins: what is installed.
        tell: is told, in words, which exporters are broken.

    Raises:
        FileFormatError: when it cannot be read.
    """
    told: set[str] = set()
    for file in _files_in(path):
        try:
            with file.open("rb") as stream:
                head = stream.read(_HEAD)
        except (OSError, ValueError) as error:
            raise _unreadable(file, error) from None
        for record in ours_first(plugins):
            try:
                if record.recognises(file, head):
                    return record
            except PluginError as error:  # whose format it is, the others may know
                if str(error) not in told:
                    told.add(str(error))
                    tell(str(error))
    return None


def ours_first(plugins: PluginManager) -> list[ExporterRecord]:
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
