"""Exporters: they write verified algorithms as files for a runtime, and check such files.

The writer and the checker share no code.  The checker reads the files as the runtime would,
executes them, and finds deadlocks, races and wrong results.  Files that do not pass are not handed
out.  Files of other tools go through the same checker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from syncoll.errors import ExportError, PluginError, VerificationError
from syncoll.plugins import fields
from syncoll.plugins.code import Code
from syncoll.plugins.foreign import ForeignAlgorithm
from syncoll.plugins.guard import (
    Answer,
    Guard,
    GuardedQuestion,
    Loader,
    Recogniser,
    Returning,
    Returns,
)
from syncoll.plugins.options import Option, Options
from syncoll.plugins.record import Record

if TYPE_CHECKING:
    from syncoll.model import Algorithm, Instance
    from syncoll.model.grains import Rounds

MESSAGE_OPTIONS = (
    Option(
        "size",
        0,
        "bytes of the message: of the buffer, for allgather of the output, for reducescatter "
        "and alltoall of the input; 0 for 1 MiB a chunk",
        low=0,
        high=1 << 50,
    ),
    Option(
        "steps",
        "strict",
        "strict: a rank sends in a step after it has finished all earlier steps, as in the cost "
        "S·alpha + R/C·L·beta; relaxed: as soon as it has the data",
        choices=("strict", "relaxed"),
    ),
)
"""Options of formats whose files state the size of messages."""

PLACE = "{place}"
"""A placeholder in notes for the location of the exported files."""

UNLIMITED = (1 << 63) - 1
"""A largest message size that means no limit."""


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """One algorithm to export.

    Args:
        name: a label of letters, digits and ``._-``.
        collective: its name for people; the instance's pre and post define it.
        algorithm: a verified algorithm.
        in_place: whether input and output are one buffer, if the collective allows both.
        min_bytes: the smallest message for which a runtime should choose the algorithm, in bytes of
            the larger of a rank's input and output.  If only one rank has all of it, the ranks'
            sizes are added.  For a collective unknown to runtimes, the size of the largest input.
        max_bytes: the largest such message.
        small: the largest message for which the format's protocol for small messages is the
            fastest; None if it is not known.
        claims: sentences with the proved bounds on its cost.
    """

    name: str
    collective: str
    instance: Instance
    algorithm: Algorithm
    in_place: bool = False
    min_bytes: int = 0
    max_bytes: int = UNLIMITED
    small: int | None = None
    claims: tuple[str, ...] = ()

    def require_multiple(self, unit: int, most: int = UNLIMITED) -> None:
        """Passes if the runtime can use the algorithm for some message size in the range.

        Args:
            unit: sizes are multiples of it, in bytes.
            most: the largest size, in bytes.

        Raises:
            ExportError: with the nearest possible sizes outside the range.
        """
        least, most = max(1, self.min_bytes), min(most, self.max_bytes)
        if most // unit * unit >= least:
            return
        below, above = most // unit * unit, -(-least // unit) * unit
        near = f"the nearest are {below} and {above}" if below else f"the least is {above}"
        raise ExportError(
            f"no message of {self.min_bytes} to {most} bytes is a multiple of {unit} bytes, as "
            f"the runtime needs for this algorithm: it would never run; {near} bytes"
        )


@dataclass(frozen=True)
class ExportCounts:
    """The resources of a runtime that an algorithm needs; None where the runtime has no such thing.

    Args:
        thread_blocks: of the rank that needs most.
        operations: of all thread blocks of a rank, at most.
        channels: connections of a rank to others, at most.
        semaphores: between thread blocks of a rank, at most.
        scratch: bytes of scratch for each byte of the message, at most.
        multiple_of: a message is a multiple of it, in bytes as `ExportRequest` counts them.
        min_bytes: the smallest message that the runtime takes.
        max_bytes: the largest one.
        messages: sends of a rank, of consecutive chunks at a time, at most.
        file_bytes: about the size of all files.
        small: the largest message with a file of its own, as the format has another protocol for
            small messages; 0 without one.
        large: the reason why the files are too large for a plan; None if they are not.  They are
            written only on request, or if no algorithm has smaller ones.
    """

    thread_blocks: int | None = None
    operations: int | None = None
    channels: int | None = None
    semaphores: int | None = None
    scratch: float | None = None
    multiple_of: int = 1
    min_bytes: int = 0
    max_bytes: int = UNLIMITED
    messages: int | None = None
    file_bytes: int | None = None
    small: int = 0
    large: str | None = None

    def __post_init__(self) -> None:
        fields.check_fields(self)

    def takes(self, size: int) -> bool:
        """Whether the runtime takes a message, in bytes as `ExportRequest` counts them."""
        return self.min_bytes <= size <= self.max_bytes and size % self.multiple_of == 0


@dataclass(frozen=True)
class Exported:
    """Files that an exporter wrote, not yet checked.

    Args:
        files: content by name; a single file has a suggested name, several belong in one folder.
        notes: sentences for the user; `PLACE` in them stands for the written file, or for the
            folder of several files.
        in_switches: whether one send includes the copies or the sum that switches make.
        counts: the resources that they need; None if the exporter does not count.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    in_switches: bool = False
    counts: ExportCounts | None = None

    def __post_init__(self) -> None:
        fields.check_fields(self)
        for name in self.files:
            if name in ("", ".", "..") or set(name) & set("/\\\0"):
                raise PluginError(f"Exported: {name!r} is not the plain name of a file")


class Exporter(Protocol):
    """Writes algorithms in one format."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """The files of an algorithm; `options` has a value for every option of the record.

        Raises:
            ExportError: if the format, or the chosen dialect, cannot express it; the message names
                the limit.
        """


@dataclass(frozen=True)
class CheckedExport:
    """The behaviour of files that a checker executed.

    Args:
        format: the format of the files, with the dialect: ``MSCCL XML (rccl)``.
        collective: the collective that they perform: ``allreduce``.
        num_nodes: P.
        in_place: whether input and output are one buffer; None if the format does not say.
        facts: numbers of interest: steps, thread blocks, channels, messages.
        result_checked: whether the result was compared with the correct one; False if neither the
            files nor an instance define it.
        links: pairs of ranks, source and destination, that exchange data.
        within_boxes: connections that cannot cross a network, as (kind, rank, rank) with kinds such
            as ``memory channel``; empty if the format does not say.
        all_nodes: whether the files have an entry for each rank, so that `num_nodes` is exact and
            not just the largest rank that occurs.
        num_chunks: the number of chunks, or a lower bound of it; None if chunks have no numbers but
            places in buffers.
        steps: number of steps; None, also in the next fields, if the files do not say.
        rounds: total number of rounds.
        instance: the instance in the files.
        added: whether its sums are reproducible, in words (`syncoll.model.associations.in_words`);
            empty if the format does not say in which order they are added.
    """

    format: str
    collective: str
    num_nodes: int
    in_place: bool | None
    facts: Mapping[str, int | str]
    result_checked: bool = True
    links: frozenset[tuple[int, int]] = frozenset()
    within_boxes: frozenset[tuple[str, int, int]] = frozenset()
    all_nodes: bool = True
    num_chunks: int | None = None
    steps: int | None = None
    rounds: Rounds | None = None
    instance: Instance | None = None
    added: str = ""

    def __post_init__(self) -> None:
        count = fields.or_none(fields.at_least(0, fields.whole))
        links = fields.Field(_are_links, "a frozenset of pairs of ranks")
        within = fields.Field(_are_named_links, "a frozenset of a name and a pair of ranks each")
        rounds = fields.or_none(fields.at_least(0, fields.ratio))
        fields.check_fields(
            self, links=links, within_boxes=within, num_chunks=count, steps=count, rounds=rounds
        )


def _are_named_links(value: object) -> bool:
    return isinstance(value, frozenset) and all(
        isinstance(one, tuple) and isinstance(one[0], str) and _are_links(frozenset({one[1:]}))
        for one in value
    )


def _are_links(value: object) -> bool:
    return isinstance(value, frozenset) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(map(fields.whole.holds, pair))
        for pair in value
    )


class RankedCall(Protocol):
    """A collective with its buffers."""

    def run(self) -> object:
        """Runs it on the same input again; returns when the results are there."""

    def results(self) -> list[Any]:
        """The output of each rank of this process, as flat arrays of the type of its input."""


class Ranks(Protocol):
    """Processes that run exports, seen from one of them.

    The inputs of a call are flat arrays of `syncoll.trust.data.DTYPES`, one for each rank of this
    process, with the layout of MPI's own collective; `lengths` has the elements of each output.
    """

    name: str
    """The library that moves the data, with its version."""
    local: tuple[int, ...]
    """The ranks of this process."""

    def everyone(self, value: object) -> list[Any]:
        """The values of all processes; also a barrier."""

    def exported(
        self, text: str, inputs: list[Any], lengths: list[int], op: str, total: int
    ) -> RankedCall:
        """The function of an exported file; `total` is the elements of all blocks."""

    def library(
        self, kind: str, root: int, inputs: list[Any], lengths: list[int], op: str
    ) -> tuple[str, RankedCall] | None:
        """The library's own collective and its name; None if it has none for such lengths."""


class ExportChecker(Protocol):
    """Reads files of one format as the runtime would, and executes them."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """Executes files; returns only if they are correct.

        Args:
            files: content by name.
            options: of the record's table: the settings of the export, or the settings that a
                user gave for files of another tool, perhaps none.
            instance: the required result, chunk by chunk; None for the one that the files state, as
                for a file of another tool.

        Raises:
            VerificationError: if they do not load, exceed a limit, deadlock, race, leave messages
                unreceived or end with a wrong result; the message names rank, thread block and
                step.
        """

    # It may also have ``read(files: Mapping[str, bytes], meant: Meant) -> ForeignAlgorithm``: the
    # algorithm of the files, for simulations, reports, repairs and other exports.


class _OneFile:
    """A checker of a format with one file; its errors name the file."""

    def __init__(self, checker: ExportChecker) -> None:
        self._checker = checker
        self.read = getattr(checker, "read", None)

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `ExportChecker`."""
        if len(files) != 1:
            raise VerificationError(f"there are {len(files)} files; expected one")
        (name,) = files
        try:
            return self._checker.check(files, options, instance)
        except VerificationError as error:
            if str(error).startswith((f"{name}:", f"{name},")):
                raise
            raise type(error)(f"{name}: {error}") from error


@dataclass(frozen=True)
class ExporterRecord(Record):
    """An exporter's entry.

    Args:
        name: as written after ``--to``.
        summary: one line: the runtime that loads the files.
        folder: whether an algorithm becomes several files, such as one per rank; they are written
            into a folder of their own and checked together.
        installed: whether its requirements are installed; answers without importing them.
        recognises: whether a file with these first bytes has this format, for ``syncoll verify``.
        counts: the resources that a request needs with these options, without writing files;
            None if the exporter does not count.  Raises `ExportError` if it exceeds a limit of the
            runtime; the message names the limit.
        replayed: whether its files are algorithms, which `syncoll verify` replays, and no programs.
        runs: how its files are run on this machine, as ``package.module:function``, with the Python
            package that has the exporter's name; empty if they are not.  The function is called
            with P and an empty folder in a process of its own, may start others, and returns a
            `Ranks` in each.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "counts": partial(Returning, returns=Returns(ExportCounts, or_none=True)),
        "installed": GuardedQuestion,
        "recognises": Recogniser,
        "load": partial(Loader, methods={"export": Returns(Exported)}),
        "load_checker": partial(
            Loader,
            methods={
                "check": Returns(CheckedExport),
                "read": Returns(ForeignAlgorithm, or_none=True),
            },
        ),
    }

    load: Code[Callable[[], Exporter]] = Code()
    load_checker: Code[Callable[[], ExportChecker]] = Code()
    options: tuple[Option, ...] = ()
    folder: bool = False
    installed: Code[Callable[[], Answer]] = Code(lambda: Answer(True))
    recognises: Code[Callable[[Path, bytes], bool]] = Code(lambda _path, _head: False)
    counts: Code[Callable[[ExportRequest, Options], ExportCounts | None]] = Code(
        lambda _request, _options: None
    )
    replayed: bool = False
    runs: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.folder:
            checker: Any = self.load_checker
            object.__setattr__(self, "load_checker", replace(checker, around=_OneFile))
