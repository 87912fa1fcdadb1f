"""Replays every algorithm of a file (a frontier, an outcome or an algorithm) step by step and
checks the costs in the file.  Needs no solver.  If a check fails, the exit code is 2.

The file has its own machine and collective.  To make sure that they are the expected ones, name
them: they are compared link by link and chunk by chunk.

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

from typing import TYPE_CHECKING, Any

from syncoll.errors import UncheckedError, VerificationError
from syncoll.verbs.asking import What, Where, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from syncoll.pages.verified import verified_page
    from syncoll.runtime.exported import VerifiedExports
    from syncoll.verbs.result import Shown
    from syncoll.verification import exporter_for, verification_document, verified

__all__ = ["verify"]

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
) -> Shown:
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
    about: dict[str, Any] = {
        "topology": None if topology is None else session.topology(topology),
        "collective": None if collective is None else session.collective(collective),
        "chunks": chunks,
        "in_order": in_order,
        "options": options or {},
    }
    found = verified(session.plugins, file, record, **about)
    if isinstance(found, VerifiedExports):
        for where, reason in found.wrong:
            raise VerificationError(f"{where}: {reason}")
        for where, reason in found.unchecked:
            raise UncheckedError(f"{where}: {reason}")
    meant = about["collective"]
    expected = None if meant is None else meant.name
    return Shown(verified_page(found), lambda: verification_document(file, found, expected))
