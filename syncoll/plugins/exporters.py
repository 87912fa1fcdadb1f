"""Exporters: what turns verified algorithms into files for a runtime, and checks such files.

Writing and checking are two parts that share no code: the checker reads what was written as the
runtime would, executes it, and finds deadlocks, races and wrong results.  What did not pass is not
handed out.  Files of other tools go through the same checker.
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
from syncoll.plugins.guard import Answer, Guard, GuardedQuestion, Loader, Recogniser, Returns
from syncoll.plugins.options import Option, OptionValue
from syncoll.plugins.record import Record

if TYPE_CHECKING:
    from syncoll.model import Algorithm, Instance

__all__ = [
    "MESSAGE_OPTIONS",
    "CheckedExport",
    "ExportChecker",
    "ExportRequest",
    "Exported",
    "Exporter",
    "ExporterRecord",
]

MESSAGE_OPTIONS = (
    Option(
        "size",
        0,
        "bytes of the message that is moved: of the buffer, for allgather of the output, for "
        "reducescatter and alltoall of the input; 0 for 1 MiB a chunk",
        low=0,
        high=1 << 50,
    ),
    Option(
        "steps",
        "strict",
        "strict: a rank sends in a step when all that it has to do in earlier ones is done, as in "
        "the cost S·alpha + R/C·L·beta; relaxed: as soon as the data is there",
        choices=("strict", "relaxed"),
    ),
)
"""Options of formats whose files state messages with their sizes."""

PLACE = "{place}"
"""A placeholder in notes for the location of the exported files."""

UNLIMITED = (1 << 63) - 1
"""A largest message size that stands for no limit."""


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """One algorithm that is to become files.

    Args:
        name: a label for it, of letters, digits and ``._-``.
        collective: its name, for people; what it does is in the instance's pre and post.
        algorithm: verified.
        in_place: whether input and output are one buffer, where the collective allows both.
        min_bytes: the smallest message for which a runtime should choose it: bytes of the larger
            of a rank's input and output, taken together with the other ranks' where only one rank
            has all of it; of a collective for which runtimes have no name, of the largest input.
        max_bytes: the largest one.
    """

    name: str
    collective: str
    instance: Instance
    algorithm: Algorithm
    in_place: bool = False
    min_bytes: int = 0
    max_bytes: int = UNLIMITED

    def require_multiple(self, unit: int, most: int = UNLIMITED) -> None:
        """Passes if the range has a message size for which the runtime can use the algorithm.

        Args:
            unit: sizes are multiples of it, in bytes.
            most: the largest size, in bytes.

        Raises:
            ExportError: naming the nearest sizes outside the range.
        """
        least, most = max(1, self.min_bytes), min(most, self.max_bytes)
        if most // unit * unit >= least:
            return
        below, above = most // unit * unit, -(-least // unit) * unit
        near = f"the nearest are {below} and {above}" if below else f"the least is {above}"
        raise ExportError(
            f"no message of {self.min_bytes} to {most} bytes is a multiple of {unit} bytes, which "
            f"the runtime needs for this algorithm, so it would never run; {near} bytes"
        )


@dataclass(frozen=True)
class Exported:
    """What an exporter wrote, not yet checked.

    Args:
        files: content by name; one file has the name that the exporter would give it, several are
            to lie in one folder.
        notes: sentences for the user.  `PLACE` in them stands for the written file, or for the
            folder of several files.
        in_switches: whether what counts as one send is one there, copied or added up by switches.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    in_switches: bool = False

    def __post_init__(self) -> None:
        fields.check_fields(self)
        for name in self.files:
            if name in ("", ".", "..") or set(name) & set("/\\\0"):
                raise PluginError(f"Exported: {name!r} is not the plain name of a file")


class Exporter(Protocol):
    """Writes algorithms in one format."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """The files of an algorithm, with a value for every option of the record's table.

        Raises:
            ExportError: when the format, or the dialect that was chosen, cannot express it; the
                message names the limit.
        """


@dataclass(frozen=True)
class CheckedExport:
    """What files were found to do.

    Args:
        format: of the files, with the dialect: ``MSCCL XML (rccl)``.
        collective: what they do: ``allreduce``.
        num_nodes: P.
        in_place: whether input and output are one buffer; None where the format does not say.
        facts: numbers worth knowing, such as steps, thread blocks, channels, messages.
        result_checked: whether the result was compared with what it should be; False where neither
            the files nor an instance say what that is.
        links: the pairs of ranks, source and destination, between which data go.
        within_boxes: connections that cannot pass a network, as (kind, rank, rank) with kinds such
            as ``memory channel``; empty where the format does not say.
        all_nodes: whether the files have something for each rank, so that `num_nodes` is exact, and
            not only the largest rank that is named.
        num_chunks: how many chunks there are in all, or that there are at least so many; None where
            chunks have no numbers but places in buffers.
        steps: of the algorithm; None, as of the others, where the files do not say.
        rounds: in all.
        instance: that the files bring along.
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
    rounds: int | None = None
    instance: Instance | None = None

    def __post_init__(self) -> None:
        count = fields.or_none(fields.at_least(0, fields.whole))
        links = fields.Field(_are_links, "a frozenset of pairs of ranks")
        within = fields.Field(_are_named_links, "a frozenset of a name and a pair of ranks each")
        fields.check_fields(
            self, links=links, within_boxes=within, num_chunks=count, steps=count, rounds=count
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


class ExportChecker(Protocol):
    """Reads files of one format as the runtime would, and executes them."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """Executes files; returns only when they do what they say.

        Args:
            files: content by name.
            options: of the record's table: all with which the files were written, or as many as a
                user gave for files of another tool, perhaps none.
            instance: what they must do, chunk by chunk; None for what they say of themselves, as
                for a file of another tool.

        Raises:
            VerificationError: when they do not load, exceed a limit, deadlock, race, leave messages
                unreceived or end with a wrong result; the message names rank, thread block and
                step.
        """


class _OneFile:
    """A checker of a format of one file: it is given one, and its errors name it."""

    def __init__(self, checker: ExportChecker) -> None:
        self._checker = checker

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
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
        folder: whether an algorithm becomes several files that belong together, as one for each
            rank; they are written into a folder of their own, and checked together.
        installed: whether what it needs is here, answered without importing it.
        recognises: whether a file, of which the first bytes are given, is one of this format, so
            that ``syncoll verify`` knows which to ask.
    """

    guards: ClassVar[Mapping[str, Guard]] = {
        "installed": GuardedQuestion,
        "recognises": Recogniser,
        "load": partial(Loader, methods={"export": Returns(Exported)}),
        "load_checker": partial(Loader, methods={"check": Returns(CheckedExport)}),
    }

    load: Code[Callable[[], Exporter]] = Code()
    load_checker: Code[Callable[[], ExportChecker]] = Code()
    options: tuple[Option, ...] = ()
    folder: bool = False
    installed: Code[Callable[[], Answer]] = Code(lambda: Answer(True))
    recognises: Code[Callable[[Path, bytes], bool]] = Code(lambda _path, _head: False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.folder:
            checker: Any = self.load_checker
            object.__setattr__(self, "load_checker", replace(checker, around=_OneFile))
