"""Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and
checks the costs in the file.  Needs no solver.  If a check fails, the exit code is 2.

The file has its own machine and collective.  To make sure that they are the expected ones, name
them: they are compared link by link and chunk by chunk.

Algorithms of SCCL and NCCL's graph files are replayed, too.

Files for a runtime, of `syncoll export` or another tool, are read as that runtime would and
executed.  Checked are limits, deadlocks, races, messages without a receiver, and whether the result
is the collective that the file names, or that of --collective.  With --topology data may use its
links only.  A format of several files is checked by its folder.  Of a folder of `syncoll plan -o`
or `syncoll recommend -o` every export and the frontier are verified.  Exit codes of these: 1 when
something is wrong, 4 when something could not be checked.

  syncoll verify frontier.json
  syncoll verify frontier.json --topology dgx1 --collective allgather
  syncoll verify allgather.xml --dialect rccl
  syncoll verify deploy/
  syncoll verify sends.csv --topology dgx1 --collective allgather -C 6
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.errors import UncheckedError, VerificationError
from syncoll.verbs.asking import What, Where, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.plugins import ExporterRecord
    from syncoll.runtime.exported import VerifiedExports
    from syncoll.verbs.verify.result import VerifiedResult
    from syncoll.verification import exporter_for, verified

SHELL = Shell({"path": "path FILE", "to": "--as FORMAT"})


@verb
def verify(
    path: str | Path,
    *,
    topology: Where | None = None,
    collective: What | None = None,
    chunks: int | None = None,
    in_order: bool = False,
    to: str | None = None,
    options: Mapping[str, object] | None = None,
) -> VerifiedResult:
    """Replays every algorithm of a file, or executes an exported file.

    Args:
        path: a file, a folder of exports, or the folder of a plan.
        topology: the expected machine; of an export, the machine whose links data may use.
        collective: the expected collective; None for the one that the file names.
        chunks: of exports: C of the collective; None for the number in the file.
        in_order: of combining collectives: the reduction is not commutative, so reductions must
            keep the order of the nodes.
        to: the format of an export; None for the format that the file shows.
        options: of the format, by name.

    Raises:
        UncheckedError: if nothing is wrong, but something could not be checked.
        VerificationError: if something is wrong.
        FileFormatError: if it cannot be read.
    """
    session, file = session_for(), Path(path)
    record = exporter_for(session.plugins, session.tell, file, to)
    how = {"chunks": chunks, "in_order": in_order, "options": options or {}}
    done = examined(file, record, topology, collective, **how)
    if isinstance(done.found, VerifiedExports):
        for where, reason in done.found.wrong:
            raise VerificationError(f"{where}: {reason}")
        for where, reason in done.found.unchecked:
            raise UncheckedError(f"{where}: {reason}")
    return done


@verb
def examined(
    file: Path,
    record: ExporterRecord | None,
    topology: Where | None,
    collective: What | None,
    **how: Any,
) -> VerifiedResult:
    """The contents of a file, in which exports may be wrong.

    Args:
        record: the exporter of the file.
        how: further keywords of `syncoll.verification.verified`.
    """
    session = session_for()
    where, meant = session.expected(topology, collective)
    names = session.plugins, session.collective
    found = verified(*names, file, record, topology=where, collective=meant, **how)
    return VerifiedResult(found, file, None if meant is None else meant.name)
