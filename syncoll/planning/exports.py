"""One export for each algorithm of a plan, with size ranges that touch, and an index of them.

The algorithms lie in a folder of their own, ``algorithms``: some runtimes load every file of a
folder, and would stumble over an index among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from syncoll.documents import StoredAlgorithm
from syncoll.errors import ExportError, UsageError
from syncoll.planning.cost import CostModel
from syncoll.planning.plan import Plan, plan_sizes
from syncoll.plugins import ExporterRecord, ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import HandedOut, export_verified

__all__ = ["ALGORITHMS", "PlannedExport", "PlannedExports", "export_plan"]

ALGORITHMS = "algorithms"
"""The folder with the exports, beside the index."""


@dataclass(frozen=True, eq=False)
class PlannedExport:
    """One algorithm's files.

    Args:
        algorithm: the one.
        min_bytes: the smallest message for it.
        max_bytes: the largest one; None for no end.
        files: their names, beside the index.
        handed_out: their content, and what they were found to do.
    """

    algorithm: StoredAlgorithm
    min_bytes: int
    max_bytes: int | None
    files: tuple[str, ...]
    handed_out: HandedOut


@dataclass(frozen=True, eq=False)
class PlannedExports:
    """A plan, and the files that carry it out.

    Args:
        plan: among the algorithms that the format can express.
        exports: by size; their ranges touch, and the first begins at 0.
        refused: what the format cannot express, with the reason.
    """

    plan: Plan
    exports: tuple[PlannedExport, ...]
    refused: tuple[tuple[StoredAlgorithm, str], ...]

    @property
    def files(self) -> dict[str, bytes]:
        """Content by name, in folders as the index names them."""
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
    name_of: Callable[[StoredAlgorithm], str],
    *,
    in_place: bool = False,
    skip_refused: bool = False,
) -> PlannedExports:
    """Plans, and exports what is chosen; all of it is verified, written, read back and executed.

    Args:
        algorithms: see `plan_sizes`.
        model: of their times.
        record: the format.
        options: of the exporter, by name.
        name_of: a label for each, of letters, digits and ``._-``, no two alike.
        in_place: for calls whose input and output are one buffer.
        skip_refused: plan without those that the format cannot express, instead of giving up.

    Raises:
        UsageError: when there are no algorithms, or the collective has no message by which a
            runtime could choose among several.
        ExportError: when the format cannot express an algorithm that is chosen; where it is to be
            left out, when it can express none.
        OptionError, VerificationError: see `export_verified`.
    """
    left, refused = list(algorithms), list[tuple[StoredAlgorithm, str]]()
    done: dict[tuple[int, int, int | None], HandedOut] = {}
    while True:
        plan = plan_sizes(left, model)
        chosen = _chosen(plan)
        failed = None
        for one, least, most in chosen:
            if (id(one), least, most) in done:
                continue
            request = ExportRequest(
                name_of(one),
                one.instance.collective,
                one.instance,
                one.algorithm,
                in_place,
                least,
                UNLIMITED if most is None else most,
            )
            try:
                done[id(one), least, most] = export_verified(record, request, options)
            except ExportError as error:
                failed = one
                refused.append((one, str(error)))
                break
        if failed is None:
            exports = tuple(
                _planned(one, least, most, done[id(one), least, most], record, name_of(one))
                for one, least, most in chosen
            )
            _require_different(exports)
            return PlannedExports(plan, exports, tuple(refused))
        reason = refused[-1][1]
        if not skip_refused:
            hint = "\nto plan among the others, say --skip-refused" if len(left) > 1 else ""
            raise ExportError(
                f"{failed.where}, the best for messages {_range(chosen, failed)}, cannot be "
                f"exported: {reason}{hint}"
            )
        left.remove(failed)
        if not left:
            raise ExportError(f"none of the algorithms can be exported; the last one: {reason}")


def _chosen(plan: Plan) -> list[tuple[StoredAlgorithm, int, int | None]]:
    """Which algorithm for which messages.

    Raises:
        UsageError: when a runtime could not choose among them.
    """
    if not plan.message.measured:
        if len(plan.ranges) > 1:
            raise UsageError(
                "the nodes have inputs of different sizes, so that there is no one message size by "
                "which a runtime could choose among the "
                f"{len(plan.ranges)} algorithms; export them with `syncoll export`"
            )
        return [(plan.ranges[0].algorithm, 0, None)]
    found = []
    for one in plan.ranges:
        sizes = one.message_range(plan.message)
        if sizes is not None:
            found.append((one.algorithm, *sizes))
    return found


def _range(
    chosen: Sequence[tuple[StoredAlgorithm, int, int | None]], wanted: StoredAlgorithm
) -> str:
    least, most = next((least, most) for one, least, most in chosen if one is wanted)
    return f"from {least} bytes" if most is None else f"of {least} to {most} bytes"


def _planned(
    one: StoredAlgorithm,
    least: int,
    most: int | None,
    handed: HandedOut,
    record: ExporterRecord,
    name: str,
) -> PlannedExport:
    folder = PurePosixPath(ALGORITHMS)
    if record.folder:
        folder /= name
    files = tuple(str(folder / file) for file in handed.exported.files)
    return PlannedExport(one, least, most, files, handed)


def _require_different(exports: Sequence[PlannedExport]) -> None:
    names = [name for one in exports for name in one.files]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two algorithms would both be written to {twice}; give them other names")
