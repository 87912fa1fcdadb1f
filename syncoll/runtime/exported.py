"""Exported files: recognises their format, and checks their effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from syncoll.documents.document import read_bytes
from syncoll.errors import (
    FileFormatError,
    ModelError,
    PluginError,
    UncheckedError,
    UsageError,
    VerificationError,
)
from syncoll.importing.fitting import require_fits
from syncoll.model import Collective, Instance, Topology
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.plugins import CheckedExport, ExporterRecord, PluginManager, resolve_options
from syncoll.trust.same_problem import require_same_topology
from syncoll.wording import argument, counted

_LARGEST_FILE = 1 << 30
"""The largest file that is read, in bytes."""

_HEAD = 4096
"""The first bytes of a file, by which exporters recognise it."""

_ROOM = 1 << 40
"""Bandwidth and rounds of an unspecified topology: enough for any file."""

_MOST_TRIED = 1024
"""The largest C that is tried if the file has numbers of chunks and C is not given."""


@dataclass(frozen=True)
class VerifiedExports:
    """The findings of a format's checker: for each correct file its facts, for each wrong or
    unchecked file the reason.  `meant` names the given collective; None without one."""

    exporter: str
    meant: str | None
    checked: tuple[tuple[Path, CheckedExport], ...]
    wrong: tuple[tuple[Path, str], ...]
    unchecked: tuple[tuple[Path, str], ...]

    @property
    def ok(self) -> bool:
        """Whether all files were executed and are correct."""
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
        given: options by name.  Others are unspecified: a file of another tool need not be of the
            dialect that we write.
        topology: data may only use its links.
        collective: the collective to check for; by default the one that the files declare.
        chunks: C of the collective; by default the C of the files.

    Raises:
        OptionError: on an unknown option or a value out of range.
        UsageError: if the format's libraries are not installed, or C is given alone.
        FileFormatError: if a file cannot be read.
    """
    if chunks is not None and collective is None:
        named = argument("collective")
        raise UsageError(f"{argument('chunks')} is the C of {named}; name the collective")
    resolved = resolve_options(record.options, given, f"exporter {record.name}")
    options = {name: value for name, value in resolved.items() if name in given}
    if not (answer := record.installed()).ok:
        raise UsageError(f"exporter {record.name} is not installed: {answer.reason}")
    checker = record.load_checker()

    def check(files: Mapping[str, bytes]) -> CheckedExport:
        """Checks the files against their own statements, then against the given collective."""
        found = checker.check(files, options)
        if topology is not None:
            if found.instance is not None:
                require_same_topology(found.instance.topology, topology, finer=True)
            require_fits(found.num_nodes, found.links, topology, exactly=found.all_nodes)
            require_in_boxes(found, topology)
        if collective is None:
            return found
        found = checker.check(files, options, _meant_instance(collective, topology, chunks, found))
        if collective.plain is not None:
            require_reproducible(found)
        return found

    files = contents(path)
    groups = [files] if record.folder else [{name: text} for name, text in files.items()]
    checked: list[tuple[Path, CheckedExport]] = []
    wrong: list[tuple[Path, str]] = []
    unchecked: list[tuple[Path, str]] = []
    for group in groups:
        where = path if len(groups) == 1 else path / next(iter(group))
        try:
            checked.append((where, check(group)))
        except VerificationError as error:
            reason = str(error).removeprefix(f"{where.name}: ")
            (unchecked if isinstance(error, UncheckedError) else wrong).append((where, reason))
    meant = None if collective is None else collective.name
    return VerifiedExports(record.name, meant, tuple(checked), tuple(wrong), tuple(unchecked))


def exporter_of(
    path: Path, plugins: PluginManager, tell: Callable[[str], None]
) -> ExporterRecord | None:
    """The exporter that recognises a file, or any file of a folder; otherwise None.  Raises
    FileFormatError if it cannot be read; `tell` gets a message for each broken exporter."""
    told: set[str] = set()
    for file in _files_in(path):
        head = read_bytes(file, _HEAD)
        for record in ours_first(plugins):
            try:
                if record.recognises(file, head):
                    return record
            except PluginError as error:  # other exporters may recognise the file
                if str(error) not in told:
                    told.add(str(error))
                    tell(str(error))
    return None


def ours_first(plugins: PluginManager) -> list[ExporterRecord]:
    """The exporters, our own first, so that no other can claim their files."""
    return sorted(plugins.exporters.values(), key=lambda record: not plugins.is_ours(record))


def contents(path: Path) -> dict[str, bytes]:
    """The files of one export, by name: a file, or all of a folder."""
    files: dict[str, bytes] = {}
    left = _LARGEST_FILE
    for file in _files_in(path):
        files[file.name] = read_bytes(file, left + 1)
        left -= len(files[file.name])
        if left < 0:
            raise FileFormatError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB")
    return files


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.is_file())


def require_reproducible(found: CheckedExport) -> None:
    """Raises VerificationError if sums have several associations, or the format states none."""
    if not found.added:
        raise UncheckedError(f"{found.format} does not state in which order sums are added")
    if not found.added.startswith("reproducible"):
        raise VerificationError(found.added)


def require_in_boxes(found: CheckedExport, topology: Topology) -> None:
    """Raises VerificationError if `within_boxes` connections join ranks of different boxes."""
    box = shared_memory_boxes(topology)
    between = sorted(one for one in found.within_boxes if box[one[1]] != box[one[2]])
    if between:
        (name, source, destination), more = between[0], len(between) - 1
        raise VerificationError(
            f"a {name} joins ranks {source} and {destination}"
            + f" (and {counted(more, 'other pair')})" * (more > 0)
            + f", between which {topology.name} has only a network"
        )


def _meant_instance(
    collective: Collective, topology: Topology | None, chunks: int | None, found: CheckedExport
) -> Instance:
    """The instance that an export must solve to do this collective.

    Without a topology the ranks of the file count.  Without C the C of the file counts.  If the
    file only has places in buffers, it is the least admissible C, as a chunk may have any number of
    pieces.
    """
    told = found.instance
    if told is not None:
        wanted = told.chunks if chunks is None else chunks
        try:
            meant = collective.instantiate(
                told.topology, chunks=wanted, steps=told.steps, rounds=told.rounds
            )
        except ModelError as error:
            if chunks is not None:
                raise
            raise VerificationError(
                f"the file's collective, {told.collective!r}, is not {collective.name}: {error}"
            ) from error
        return replace(meant, rounds_per_step=told.rounds_per_step)
    nodes = found.num_nodes if topology is None else topology.num_nodes
    if topology is None:
        links = {(a, b): _ROOM for a in range(nodes) for b in range(nodes) if a != b}
        topology = Topology.from_links(f"{nodes} nodes", nodes, links)
    if chunks is None:
        chunks = _chunks(collective, nodes, found.num_chunks)
    steps = nodes if found.steps is None else found.steps
    rounds = _ROOM if found.rounds is None else found.rounds
    return collective.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)


def _chunks(collective: Collective, nodes: int, least: int | None) -> int:
    """The least C for which a collective has at least `least` chunks in all."""
    for chunks in range(1, _MOST_TRIED + 1):
        if collective.admits(nodes, chunks) and (
            least is None or len(collective.tabulate(nodes, chunks).pre) >= least
        ):
            return chunks
    if least is None:
        raise ModelError(
            f"collective {collective.name} is not defined on {nodes} nodes for any C up to "
            f"{_MOST_TRIED}; give C by -C"
        )
    raise VerificationError(
        f"the file has chunk {least - 1}, but {collective.name} on {nodes} nodes does not have it "
        f"for any C up to {_MOST_TRIED}; give a larger C by -C"
    )
