"""Packs spanning trees that use the bandwidth of a network as well as any algorithm can, with any
number of steps, and names the bottleneck: a cut whose links limit the throughput.  The trees are
verified edge by edge, the cut by exact arithmetic.

Throughput is all data (of all nodes together) over time, in GB/s if the description of the machine
has GB/s, else in chunks per round.  In these units P / throughput is the least bandwidth cost R/C
of allgather.

  syncoll forest dgx1
  syncoll forest "torus(4,4)" "broadcast(root=5)" --trees
  syncoll forest dgx1 allreduce --fixed-k 2
  syncoll forest "torus(8,8)" --format json -o forest.json

--format json has for each tree the edges [sender, receiver, path] from the root on; in paths and in
the cut, switch i of a network of P nodes is P + i.  For allreduce `phases` has both halves; k, cut,
max_height and trees are taken from the slower half.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.verbs.asking import Progress, Where, deadline_of, reading, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.documents.stored_forest import read_forests
    from syncoll.progress import report
    from syncoll.searching.forests import forest_collective, pack_forests
    from syncoll.values import path_of
    from syncoll.verbs.forest.result import ForestsResult

SHELL = Shell(
    {
        "collective": (
            "collective [COLLECTIVE]",
            "allgather, reducescatter, allreduce, broadcast or reduce, also with its root: "
            '"broadcast(root=3)" (default: allgather)',
        ),
        "k": "--fixed-k K",
    },
    {
        "--trees": "list every tree",
        "-o, --output FILE": "save the output of --format json; - for standard output",
    },
    page="trees",
    defaults={"collective": None, "intermixed": "collective"},
)


@verb
def forest(
    topology: Where,
    collective: str = "allgather",
    *,
    root: int | None = None,
    k: int | None = None,
    backend: str | None = None,
    time_limit: float | str | None = None,
    progress: Progress = "auto",
) -> ForestsResult:
    """The optimal throughput of a network, and trees that reach it.

    Args:
        collective: allgather, reducescatter, allreduce, broadcast or reduce, also with its root:
            ``"broadcast(root=3)"``.
        root: of broadcast and reduce; None for the root in the name, or 0.
        k: number of trees for each root; None for the least number that is optimal.
        backend: the seed that packs them; None for the first that can.
        time_limit: of the whole command, such as ``30s``; at the limit the result is the best trees
            so far, or an error; None for no limit.

    >>> forest("ring(4)").algbw
    Fraction(8, 3)
    """
    forest_collective(collective, root)  # before anything that takes long
    session, until = session_for(), deadline_of(time_limit)
    with reading(until):
        where = session.fabric(topology)  # without lowering, which takes long if it is large
    with session.limited():
        seeds = (session.plugins, session.tell)
        found = pack_forests(*seeds, where, collective, root, k, backend, until)
    return ForestsResult.of(found)


@verb
def load_forest(path: str | Path, topology: Where | None = None) -> ForestsResult:
    """Saved forests; every tree and every cut is checked anew.

    The throughput of an allreduce with any roots (`any_roots`) is not checked, but must not
    contradict the trees.

    Args:
        path: of their file.
        topology: the expected topology; files of version 1 do not have it, and need it.

    Raises:
        FileFormatError: if it is not such a file, with the place and the reason.
        VerificationError: if a claim in it does not hold.
    """
    network = None if topology is None else session_for().fabric(topology)
    report(0, 1, f"checking the trees of {path}")
    return ForestsResult.of(read_forests(path_of("path", path), network))
