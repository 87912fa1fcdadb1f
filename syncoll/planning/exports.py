"""Exports of a plan, one for each algorithm, with the document ``syncoll/plan/4`` as index.

The size ranges of the exports touch.  The exports are in a folder of their own, ``algorithms``,
since some runtimes load every file of a folder, and would fail on the index.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import PurePath, PurePosixPath
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from syncoll.documents import StoredAlgorithm, plan as records
from syncoll.documents.record import rounded, written
from syncoll.errors import ExportError, UsageError
from syncoll.planning.crossings import Seconds, first_led
from syncoll.planning.plan import PLANNED_SIZES, CostModel, NeverBest, Plan, SizeRange, plan_sizes
from syncoll.plugins import ExportCounts, ExporterRecord
from syncoll.plugins.exporters import UNLIMITED
from syncoll.progress import tracked
from syncoll.results import Frontier
from syncoll.runtime import HandedOut, counts_of, export_verified, label, request_of
from syncoll.version import __version__
from syncoll.wording import argument, counted

_Small: TypeAlias = Callable[[StoredAlgorithm, Sequence[int]], Sequence[Fraction]]

_MOST_SMALL = 1 << 30
"""Messages of more bytes are not in the protocol for small ones."""

ALGORITHMS = "algorithms"
"""The folder with the exports, next to the index."""


@dataclass(frozen=True, eq=False)
class PlannedExport:
    """The files of an algorithm, by their names relative to the index."""

    algorithm: StoredAlgorithm
    min_bytes: int
    max_bytes: int | None
    files: tuple[str, ...]
    handed_out: HandedOut

    @property
    def needs(self) -> str | None:
        """The counted resources in words; None for a format that does not count."""
        counts = self.handed_out.exported.counts
        if counts is None:
            return None
        parts = [
            counted(number, noun)
            for noun in ("thread block", "channel", "operation", "message")
            if (number := getattr(counts, f"{noun.replace(' ', '_')}s")) is not None
        ]
        if counts.multiple_of > 1:
            parts.append(f"messages of a multiple of {counts.multiple_of} bytes")
        return ", ".join(parts)

    def notes(self, folder: PurePath) -> tuple[str, ...]:
        """Notes for the user about the exports, with the index in `folder`."""
        place = folder.joinpath(*PurePosixPath(self.files[0]).parts[:2])
        return self.handed_out.placed(place).exported.notes


@dataclass(frozen=True, eq=False)
class PlannedExports:
    """A plan of the algorithms that a runtime carries, and its files.  The exports are ordered by
    size; their ranges touch, and the first begins at 0.  Algorithms without an export are
    `refused`, with the reason: the format, the runtime, or Ctrl-C (`interrupted`)."""

    plan: Plan
    to: str
    in_place: bool
    exports: tuple[PlannedExport, ...]
    refused: tuple[tuple[StoredAlgorithm, str], ...]
    interrupted: bool = False

    @property
    def files(self) -> dict[str, bytes]:
        """Content by name, with folders, as in the index."""
        return {
            name: content
            for one in self.exports
            for name, content in zip(one.files, one.handed_out.exported.files.values(), strict=True)
        }


def export_plan(
    algorithms: Sequence[StoredAlgorithm],
    model: CostModel,
    record: ExporterRecord,
    options: Mapping[str, object],
    *,
    in_place: bool = False,
    skip_refused: bool = False,
    simulated: Seconds | None = None,
    sizes: Sequence[int] = PLANNED_SIZES,
    tolerance: Fraction = Fraction(0),
    small: _Small | None = None,
    optional: Collection[StoredAlgorithm] = (),
) -> PlannedExports:
    """Plans, and exports the chosen algorithms; files are verified, read back and executed.

    The best algorithms are counted first.  One that the runtime cannot carry is left out, and so is
    one with too large files, unless no other is left.  With `skip_refused`, so are others that the
    format cannot express; `optional` algorithms always are.  For `simulated`, `sizes` and
    `tolerance` see `plan_sizes`.  Ctrl-C ends it with the exports so far.

    Args:
        small: for messages of some bytes the seconds that they take longer in the format's
            protocol for small messages than in others; None if they are not known.

    Raises:
        UsageError: if there are no algorithms, or the collective has no message by which a runtime
            could choose among several.
        ExportError: if the format cannot express a chosen algorithm; with `skip_refused`, if it can
            express none.
        OptionError, VerificationError: see `export_verified`.
        KeyboardInterrupt: on Ctrl-C before the first export.
    """
    left, refused = list(algorithms), list[tuple[StoredAlgorithm, str]]()
    counts, large = dict[int, ExportCounts | None](), False
    done: dict[tuple[int, int, str, int | None], PlannedExport] = {}
    while True:
        plan = plan_sizes(left, model, simulated, sizes, tolerance)
        new = {id(one): one for one, _, _ in _chosen(plan) if id(one) not in counts}
        kept, out, found = carried([*new.values()], record, options, in_place=in_place, large=large)
        counts |= dict.fromkeys(map(id, kept)) | found
        if out:
            left = [one for one in left if all(one is not other for other, _ in out)]
            refused += out
            if not left and not large:
                left, refused, large = list(algorithms), [], True
            if not left:
                one, reason = min(refused, key=lambda each: each[0].chunks)
                raise ExportError(
                    f"none of the algorithms can be exported; the simplest one: {reason}"
                )
            continue
        limits = [one.max_bytes for one in counts.values() if one is not None]
        chosen, beyond = _up_to(_chosen(plan), max(limits, default=UNLIMITED))
        usable = _usable(chosen, counts)
        parts = [part for one in usable for part in _parts(one, counts[id(one[0])], small)]
        chosen, exports = [part for part, _ in parts], list[PlannedExport]()
        ranges = Counter(id(one) for one, _, _ in chosen)
        interrupted = False
        try:
            for part, until in tracked(parts, lambda each: f"exporting {each[0][0].where}"):
                one, least, most = part
                name = label(one, one.instance.collective, in_place=in_place)
                if ranges[id(one)] > 1:
                    name = f"{name}-from-{least}"
                key = (id(one), least, name, most)
                if key not in done:
                    about: dict[str, Any] = {"min_bytes": least, "max_bytes": most, "small": until}
                    request = request_of(one, in_place=in_place, name=name, **about)
                    handed = export_verified(record, request, options)
                    folder = PurePosixPath(ALGORITHMS, *([name] if record.folder else []))
                    files = tuple(str(folder / file) for file in handed.exported.files)
                    done[key] = PlannedExport(one, least, most, files, handed)
                exports.append(done[key])
        except ExportError as error:
            refused.append((one, str(error)))
            left.remove(one)
            if not skip_refused and one not in optional:
                hint = f"\nto plan with the others, use {argument('skip_refused')}" if left else ""
                which = f"from {least} bytes" if most is None else f"of {least} to {most} bytes"
                raise ExportError(
                    f"{one.where}, the best for messages {which}, cannot be exported: {error}{hint}"
                ) from error
            if not left:
                raise ExportError(
                    f"none of the algorithms can be exported; the last one: {error}"
                ) from error
            continue
        except KeyboardInterrupt:
            if not exports:
                raise
            exported = {id(one.algorithm) for one in exports}
            missing = {id(other): other for other, _, _ in chosen if id(other) not in exported}
            refused += [(other, "interrupted") for other in missing.values()]
            interrupted = True
        twice = [name for name, n in Counter(f for e in exports for f in e.files).items() if n > 1]
        if twice:
            raise UsageError(
                f"two algorithms would both be written to {twice[0]}; give them other names"
            )
        done_so_far = tuple(exports), (*refused, *beyond)
        return PlannedExports(plan, record.name, in_place, *done_so_far, interrupted)


def carried(
    algorithms: Sequence[StoredAlgorithm],
    record: ExporterRecord,
    options: Mapping[str, object],
    *,
    in_place: bool,
    large: bool = False,
) -> tuple[list[StoredAlgorithm], list[tuple[StoredAlgorithm, str]], dict[int, ExportCounts]]:
    """The algorithms that a runtime carries, by the exporter's count, and the others with reasons;
    and the counts, by the identity of the algorithm.  Files are not too large, unless `large`.

    Raises `OptionError` on an unknown option or a value out of range.
    """
    left, refused = list[StoredAlgorithm](), list[tuple[StoredAlgorithm, str]]()
    found = dict[int, ExportCounts]()
    for one in tracked(algorithms, lambda each: f"counting {each.where}"):
        try:
            counts = counts_of(record, request_of(one, in_place=in_place), options)
        except ExportError as error:
            refused.append((one, str(error)))
            continue
        if counts is not None and counts.large is not None and not large:
            refused.append((one, f"{counts.large}; `syncoll export` writes it"))
            continue
        left.append(one)
        if counts is not None:
            found[id(one)] = counts
    return left, refused, found


_Chosen: TypeAlias = tuple[StoredAlgorithm, int, int | None]


def _usable(
    chosen: Sequence[_Chosen], counts: Mapping[int, ExportCounts | None]
) -> Sequence[_Chosen]:
    """The ranges with a message that the runtime takes; each is extended over the others after it,
    and the first one also before it.  All ranges, if none has such a message."""
    kept: list[_Chosen] = []
    for one, least, most in chosen:
        found = counts[id(one)]
        if most is not None and found is not None:
            first = max(1, least, found.min_bytes)
            if most // found.multiple_of * found.multiple_of < first:
                kept[-1:] = [(*last[:2], most) for last in kept[-1:]]
                continue
        if kept and kept[-1][0] is one:
            kept[-1] = (*kept[-1][:2], most)
        else:
            kept.append((one, least if kept else chosen[0][1], most))
    return kept or chosen


def _parts(
    chosen: _Chosen, counts: ExportCounts | None, small: _Small | None
) -> list[tuple[_Chosen, int | None]]:
    """A range, divided if small messages in it have a file of their own; each with the largest
    small message, if the format has a protocol for them: the fastest up to one size."""
    one, least, most = chosen
    if counts is None or not counts.small:
        return [(chosen, None)]
    until = counts.small
    if small is not None:
        end = _MOST_SMALL - 1 if most is None else most
        first, last = small(one, [least, end])
        until = least - 1 if first > 0 else end
        if first <= 0 < last:
            until = first_led(least, end, partial(small, one)) - 1
    if max(least, counts.multiple_of, counts.min_bytes) > until or (most or until + 1) <= until:
        return [(chosen, until)]
    return [((one, least, until), until), ((one, until + 1, most), until)]


def _up_to(
    chosen: list[_Chosen], largest: int
) -> tuple[list[_Chosen], list[tuple[StoredAlgorithm, str]]]:
    """The ranges that begin below the largest message of a runtime, and the other algorithms."""
    kept = [one for one in chosen if one[1] <= largest]
    if not kept or len(kept) == len(chosen):
        return chosen, []
    known = {id(one) for one, _, _ in kept}
    beyond = [
        (one, f"it is the best from {least} bytes on, and the runtime takes at most {largest}")
        for one, least, _ in chosen[len(kept) :]
        if id(one) not in known
    ]
    return [*kept[:-1], (*kept[-1][:2], None)], beyond


def _chosen(plan: Plan) -> list[_Chosen]:
    """The algorithms with their message ranges, if a runtime can choose among them."""
    if not plan.message.measured:
        if len(plan.ranges) > 1:
            raise UsageError(
                "the nodes have inputs of different sizes, so a runtime has no single message size "
                f"to choose among the {len(plan.ranges)} algorithms; export them with "
                "`syncoll export`"
            )
        return [(plan.ranges[0].algorithm, 0, None)]
    sized = ((one.algorithm, one.message_bytes) for one in plan.ranges)
    return [(algorithm, *sizes) for algorithm, sizes in sized if sizes is not None]


def plan_document(
    plan: Plan,
    frontier: Frontier,
    bandwidth_given: bool,
    alpha_given: bool = True,
    *,
    sizes: tuple[int, int] | None = None,
    made: PlannedExports | None = None,
    runtime: records.RuntimeRecord | UnsetType = UNSET,
) -> dict[str, Any]:
    """The document of a plan; ranges are exact, times and bandwidths are rounded.

    Args:
        bandwidth_given: whether the bandwidth was given by the user instead of the topology.
        alpha_given: whether alpha was given by the user.
        sizes: the range of messages with times; None for all.
        made: the exports to include.
        runtime: whose costs count.
    """
    model = records.ModelRecord.of(
        plan.model,
        timing=plan.timing,
        alpha_from="command" if alpha_given else "file",
        bandwidth_from="command" if bandwidth_given else "file",
        runtime=runtime,
    )
    document = written(
        records.PlanRecord(
            "syncoll/plan/4",
            __version__,
            frontier.topology.name,
            frontier.collective,
            frontier.topology.num_nodes,
            model,
            records.MessageRecord.of(plan.message),
            sizes,
            tuple(_range(plan, one, sizes) for one in plan.ranges),
            tuple(_never_best(one) for one in plan.never_best),
            association=plan.association or UNSET,
            left_out=tuple(one.where for one in plan.left_out) or UNSET,
        )
    )
    if made is not None:
        refused = tuple(
            records.RefusedRecord.of(one, reason=reason) for one, reason in made.refused
        )
        exports = tuple(_export(one) for one in made.exports)
        how = made.to, made.in_place, made.interrupted
        document["exports"] = written(records.ExportsRecord(*how, exports, refused))
    return document


def _range(plan: Plan, one: SizeRange, sizes: tuple[int, int] | None) -> records.RangeRecord:
    shown = []
    for size in ends(one, sizes):
        seconds = None if size is None else float(plan.seconds(one.algorithm, size))
        rate = plan.algorithm_bandwidth(one.algorithm, size)
        shown.append(records.EndRecord(size, seconds, rounded(rate)))
    return records.RangeRecord.of(
        one.algorithm,
        message_from=one.low,
        message_below=one.high,
        message_bytes=one.message_bytes if plan.message.measured else None,
        ends=tuple(shown),
    )


def ends(one: SizeRange, sizes: tuple[int, int] | None) -> tuple[Fraction | None, ...]:
    """The least and the largest shown size of a range; empty if it is outside."""
    if sizes is None:
        return one.low, one.high
    low = max(one.low, Fraction(sizes[0]))
    high = Fraction(sizes[1]) if one.high is None else min(one.high, Fraction(sizes[1]))
    one_size = sizes[0] == sizes[1] and one.low <= low and (one.high is None or low < one.high)
    return (low, high) if low < high or one_size else ()


def _never_best(one: NeverBest) -> records.NeverBestRecord:
    return records.NeverBestRecord.of(
        one.algorithm,
        below=one.below and one.below.where,
        above=one.above and one.above.where,
        nearest_message=one.size,
        slower=rounded(one.slower),
    )


def _export(one: PlannedExport) -> records.ExportRecord:
    checked, counts = one.handed_out.checked, one.handed_out.exported.counts
    file = one.files[0] if len(one.files) == 1 else str(PurePosixPath(one.files[0]).parent)
    needs: records.NeedsRecord | UnsetType = UNSET
    if counts is not None:
        most = None if counts.max_bytes >= UNLIMITED else counts.max_bytes
        names = set(records.NeedsRecord.__struct_fields__) - {"max_bytes", "scratch"}
        needs = records.NeedsRecord(
            **{name: getattr(counts, name) for name in names},
            scratch=rounded(counts.scratch),
            max_bytes=most,
        )
    return records.ExportRecord.of(
        one.algorithm,
        message_bytes=(one.min_bytes, one.max_bytes),
        files=one.files,
        format=checked.format,
        does=checked.collective,
        facts=dict(checked.facts),
        notes=tuple(
            text if file in text else f"{file}: {text}" for text in one.notes(PurePosixPath())
        ),
        needs=needs,
    )
