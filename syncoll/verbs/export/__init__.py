"""Writes the algorithms of a file (a frontier, an outcome or an algorithm) in the format of a
runtime.  Each is verified first; the written file is read back by the checker of the format and
executed as the runtime would.

All algorithms are exported.  --point takes one of them, by its number from 0 or by its S,R,C, also
of a member of a pipeline.  If a format cannot express an algorithm, the command says why, exports
the others, and ends with exit code 2.  Ctrl-C keeps the finished exports.

-o OUT is a file if its name has a suffix, and then takes one algorithm.  Any other name, one that
ends in /, and an existing folder, is a folder with an export of each.  A format of several files
makes a folder of its own in it for each algorithm; with --point OUT is that folder.

  syncoll export frontier.json --to msccl-xml --dialect rccl -o algorithms
  syncoll export frontier.json --to msccl-xml --point 3,7,6 --in-place -o allgather.xml
  syncoll export frontier.json --to mscclpp --point 0 --max-bytes 1MiB -o plan.json
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.verbs.asking import Progress, What, Where, session_of, verb
from syncoll.verbs.declaration import POINT, Shell

if TYPE_CHECKING:
    from syncoll.runtime import SavedExport
    from syncoll.runtime.export_each import export_each
    from syncoll.values import bytes_of
    from syncoll.verbs.export.result import ExportResult
    from syncoll.verbs.frontier import Source, algorithms_of

SHELL = Shell(
    {
        "to": "--to FORMAT",
        "folder": (
            "-o, --output OUT",
            "a name with a suffix: the file to write; any other: a folder; - for standard output",
        ),
        "apart": "",
    },
    POINT,
)


@verb
def export(
    source: Source,
    to: str,
    folder: str | Path,
    *,
    apart: bool = True,
    topology: Where | None = None,
    collective: What | None = None,
    in_place: bool = False,
    min_bytes: int | str = 0,
    max_bytes: int | str | None = None,
    options: Mapping[str, object] | None = None,
    progress: Progress = "auto",
) -> list[ExportResult]:
    """Writes algorithms as files that a runtime loads.

    Args:
        to: the format, such as mscclpp, msccl-xml or chakra; ``syncoll plugins`` lists them.
        folder: of the exports; created if missing.
        apart: whether each algorithm gets a name of its own in it; else `folder` is a single
            algorithm's file, or for a format of several files its folder.
        topology: the machine; None for the one of the file.
        collective: the collective; None for the one of the file.
        min_bytes: the smallest message for which the runtime should choose it.
        max_bytes: the largest one; None for no limit.

    Raises:
        ExportError: if the format cannot express one of them.
        UsageError: if a file cannot be written.
    """
    algorithms = algorithms_of(source, "export", topology, collective)
    session = session_of(source)
    if not isinstance(to, str):
        raise UsageError(f"{to!r} is not the name of an exporter")
    done = export_each(
        session.plugins.exporters[to],
        algorithms,
        Path(folder),
        apart=apart,
        in_place=in_place,
        min_bytes=bytes_of(min_bytes) if min_bytes else 0,
        max_bytes=None if max_bytes is None else bytes_of(max_bytes),
        options=options or {},
        others=algorithms,
    )
    found: list[ExportResult] = []
    for _, one in done:
        if not isinstance(one, SavedExport):
            raise one
        found.append(ExportResult.of(one))
    return found
