"""Checks everything that a frontier's file claims: replays each algorithm, and checks each
certificate with exact arithmetic and shortest paths.  The bounds, the scope of each point's
optimality and the open points must follow from them.  Needs no solver.

A frontier is compared with the collective of its name, or with that of --collective.  Its machine
is the one that the file describes, or that of --topology.  A claim that the file cannot prove is
named as not checked, with a way to check it, and then the exit code is 4.  If the name is unknown
or stands for another collective, this is the claim that a bound holds for every number of chunks,
which follows from the definition.  Refutations are a solver's word unless they have a proof file
(written by `syncoll pareto --proofs DIR`) and --proofs names its folder.  The record of the search
(search, complete, seconds, encoding, backend) is never checked, and no claim rests on it.

Of forests that `syncoll forest -o` saved every tree is checked edge by edge, and every cut.  Their
claims about an allreduce with any roots are not checked, but must not contradict the trees.

Of bounds on times that `syncoll simulate --floors` saved every proof is checked; the lanes are not.

A folder of frontiers, bounds and forests, such as `syncoll design -o` writes, is checked file by
file; each is compared with the collective and machine of its names, if syncoll knows them.  In a
folder of `syncoll plan -o` or `syncoll recommend -o` every export is executed as well.

If a claim in a file is not proved, the exit code is 2, with the first claim that fails.

  syncoll pareto dgx1 allgather -o frontier.json
  syncoll check frontier.json --topology dgx1 --collective allgather
  syncoll check frontier.json --topology dgx1 --collective allgather --proofs proofs
  syncoll check forest.json --topology dgx1
  syncoll check deploy/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import VerificationError
from syncoll.verbs.asking import Progress, What, Where, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll import documents
    from syncoll.documents import StoredFile
    from syncoll.results import Frontier, LowerBounds
    from syncoll.values import path_of
    from syncoll.verbs.frontier import CheckedResult, FrontierResult, checked

SHELL = Shell(
    {
        "source": (
            "source FILE",
            "a frontier, bounds or a forest saved with -o, or a folder of them or of a plan",
        )
    }
)


@verb
def check(
    source: str | Path | StoredFile | Frontier | LowerBounds,
    collective: What | None = None,
    proofs: str | Path | None = None,
    topology: Where | None = None,
    *,
    progress: Progress = "auto",
) -> CheckedResult:
    """Every claim of a frontier's file, checked without a solver.

    Args:
        source: a frontier, bounds, or a file of either.
        collective: the expected collective; without it some claims stay unchecked if the name in
            the file is unknown or stands for another collective; None for the name in the file.
        proofs: the folder of the proof files that refutations name; without it they are a solver's
            word.
        topology: the expected machine; None for any.

    Raises:
        VerificationError: with the first claim that does not hold.
        UsageError: if it makes no claims, there is no folder of proofs, or the collective is
            irregular.
    """
    if isinstance(source, LowerBounds):
        source = source.frontier()
    if isinstance(source, Frontier):
        return FrontierResult.of(source).check(collective, proofs, topology)
    if isinstance(source, documents.StoredFile):
        return checked(source.claims(), collective, proofs, topology)
    path = path_of("source", source, "a frontier, bounds, or a path of their file")
    stored = documents.read_file(path, ("frontier", "forest"), "check")  # replays
    try:
        return checked(stored.claims(), collective, proofs, topology)
    except VerificationError as error:
        raise VerificationError(f"{source}: {error}") from error
