"""The check of a plan's folder: every export that its index names is executed."""

from pathlib import Path, PurePosixPath

from msgspec import UnsetType

from syncoll.documents.document import parse_entries, read_text
from syncoll.documents.folder import INDEX
from syncoll.documents.plan import PlanRecord
from syncoll.documents.record import read_record
from syncoll.errors import FileFormatError, UsageError
from syncoll.model import Collective, Topology
from syncoll.plugins import CheckedExport, PluginManager
from syncoll.runtime.exported import VerifiedExports, verify_exports

FRONTIER = "frontier.json"
"""The file with the algorithms of a recommendation, next to its index."""


def read_index(folder: Path) -> PlanRecord:
    """The index of a plan's folder; raises `FileFormatError` if it is broken."""
    name = str(folder / INDEX)
    index: PlanRecord = read_record(
        parse_entries(read_text(folder / INDEX), name), PlanRecord, name
    )
    return index


def verify_plan(
    folder: Path,
    index: PlanRecord,
    plugins: PluginManager,
    *,
    topology: Topology | None = None,
    collective: Collective | None = None,
) -> VerifiedExports:
    """Executes every export of a plan's folder; a missing file is wrong, too.

    Args:
        topology: data may only use its links.
        collective: the collective to check for, with the C of the index; by default the one that
            the files declare.

    Raises:
        FileFormatError: if the index names a file outside of the folder.
        UsageError: if the format is not installed.
    """
    name, exports = None if collective is None else collective.name, index.exports
    if isinstance(exports, UnsetType):
        return VerifiedExports("plan", name, (), (), ())
    record = plugins.exporters.get(exports.to)
    if record is None:
        raise UsageError(f"{folder / INDEX}: exporter {exports.to!r} is not installed")
    checked: list[tuple[Path, CheckedExport]] = []
    wrong: list[tuple[Path, str]] = []
    unchecked: list[tuple[Path, str]] = []
    for one in exports.algorithms:
        first = PurePosixPath(one.files[0])
        if first.is_absolute() or ".." in first.parts:
            raise FileFormatError(f"{folder / INDEX}: {first} is outside of the folder")
        place = folder / (first.parent if record.folder else first)
        chunks = None if collective is None else one.chunks
        try:
            found = verify_exports(
                place, record, {}, topology=topology, collective=collective, chunks=chunks
            )
        except FileFormatError as error:
            wrong.append((place, str(error).removeprefix(f"cannot read {place}: ")))
            continue
        checked += found.checked
        wrong += found.wrong
        unchecked += found.unchecked
    return VerifiedExports(record.name, name, tuple(checked), tuple(wrong), tuple(unchecked))
