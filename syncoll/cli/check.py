"""Checks everything that a frontier's file claims: replays each algorithm, checks each certificate
with exact arithmetic and shortest paths, and makes sure that the bounds, the scope of each point's
optimality and what is said to be open follow from them.  Needs no solver.

What a file cannot prove by itself is named as not checked, with what would check it, and then the
exit code is 4: that a bound holds for every number of chunks follows from the collective's
definition, which --collective names; refutations are a solver's word, unless they have a proof file
(written by `syncoll pareto --proofs DIR`) and its folder is named with --proofs.  What a file says
of how it was made (search, complete, seconds, encoding, backend) is never checked, and no claim
rests on it.

Of forests that `syncoll forest -o` saved every tree is checked edge by edge, and every cut.  What
they say of an allreduce with any roots is not checked, but must not contradict the trees.

A folder that `syncoll design -o` wrote is checked file by file; each is compared with the
collective and the machine of its names, where syncoll has such.

A file that claims what it does not prove ends with exit code 2 and the first claim that fails.

  syncoll pareto dgx1 allgather -o frontier.json
  syncoll check frontier.json --topology dgx1 --collective allgather
  syncoll check frontier.json --topology dgx1 --collective allgather --proofs proofs
  syncoll check forest.json --topology dgx1
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import syncoll
from syncoll.cli.arguments import add_format, add_meant
from syncoll.cli.exits import Exit
from syncoll.cli.output import picked, print_json, print_page
from syncoll.documents.heads import holds_forest
from syncoll.errors import SpecError, UsageError, VerificationError
from syncoll.pages import Page
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.api.base import What, Where
    from syncoll.session import Session

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="a frontier or a forest saved with -o, or a folder of frontiers",
    )
    add_meant(parser)
    parser.add_argument(
        "--proofs",
        metavar="DIR",
        type=Path,
        help="check the proof files that the refutations name, in this folder; without it they "
        "count as a solver's word",
    )
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.file.is_dir():
        return _check_folder(arguments)
    if holds_forest(arguments.file):
        return _check_forest(arguments)
    checked = syncoll.check(
        arguments.file, arguments.collective, arguments.proofs, arguments.topology
    )
    if arguments.format == "json":
        print_json(_document(arguments.file, checked))
    else:
        print_page(checked.page())
    return Exit.UNCHECKED if checked.unchecked else Exit.OK


def _check_forest(arguments: argparse.Namespace) -> int:
    """Checks a file of forests."""
    if arguments.proofs is not None:
        raise UsageError(f"--proofs is about refutations, and {arguments.file} has trees")
    found = syncoll.load_forest(arguments.file, arguments.topology)
    about = found.collective
    if found.slowest.collective.rooted:
        about += f"(root={int(found.slowest.forest.roots[0])})"
    asked = (arguments.collective or about).replace(" ", "")
    if asked not in (about, found.collective):
        raise VerificationError(f"{arguments.file}: it is about {about}, not {asked}")
    unchecked = []
    if found.any_roots is not None:
        how = f"syncoll forest {quote(found.topology)} --collective allreduce"
        what = "what reductions to any roots and broadcasts at the same time reach"
        unchecked.append({"kind": "any roots", "what": what, "how": how})
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/check/1",
                "file": str(arguments.file),
                **picked(found, "topology collective"),
                "fully_checked": not unchecked,
                "not_checked": unchecked,
                "algbw": str(found.algbw),
                "bound": str(found.bound),
            }
        )
    else:
        page = found.page().text().text("Every tree and every cut holds.")
        for one in unchecked:
            page.text(f"Not checked: {one['what']}; `{one['how']}` computes it anew.")
        print_page(page)
    return Exit.UNCHECKED if unchecked else Exit.OK


def _check_folder(arguments: argparse.Namespace) -> int:
    """Checks all frontiers of a folder."""
    for name in ("collective", "topology", "proofs"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is about one file, and {arguments.file} is a folder")
    files = [one for one in sorted(arguments.file.glob("*.json")) if one.name != "index.json"]
    if not files:
        raise UsageError(f"no frontier in {arguments.file}; expected files ending in .json")
    documents, rows = [], []
    for file in files:
        found = syncoll.load(file)
        if not isinstance(found, syncoll.FrontierResult):
            raise UsageError(f"{file}: not a frontier")
        collective, topology = _known(arguments.session, found)
        try:
            checked = found.check(collective, None, topology)
        except VerificationError as error:
            raise VerificationError(f"{file}: {error}") from error
        documents.append(_document(file, checked))
        unchecked = ", ".join(one.what for one in checked.unchecked)
        bounds = found.least_steps, found.least_bandwidth
        rows.append((found.collective, found.topology.name, *bounds, len(found), unchecked))
    if arguments.format == "json":
        print_json({"schema": "syncoll/check/1", "files": documents})
    else:
        page = Page().text(f"{counted(len(rows), 'frontier')} checked, all that they claim holds")
        columns = ("collective", "topology", ">S >=", ">R/C >=", ">points", "not checked")
        print_page(page.text().table(columns, rows))
    return Exit.OK if all(one["fully_checked"] for one in documents) else Exit.UNCHECKED


def _known(session: Session, found: syncoll.FrontierResult) -> tuple[What | None, Where | None]:
    """The collective and the topology of the names in a file, where syncoll has such."""
    collective: What | None = None
    topology: Where | None = None
    with suppress(SpecError):
        collective = session.collective(found.collective)
    with suppress(SpecError):
        topology = session.topology(found.topology.name)
    return collective, topology


def _document(file: Path, checked: syncoll.CheckedResult) -> dict[str, object]:
    frontier = checked.frontier
    return {
        "schema": "syncoll/check/1",
        "file": str(file),
        "topology": frontier.topology.name,
        "collective": frontier.collective,
        "fully_checked": not checked.unchecked,
        "not_checked": [picked(one, "kind what how") for one in checked.unchecked],
        "steps": frontier.least_steps,
        "bandwidth": str(frontier.least_bandwidth),
        "max_chunks": frontier.max_chunks,
        "scales": checked.scales,
        "points": [
            {
                **picked(point, "steps rounds chunks"),
                "bandwidth": str(point.bandwidth),
                "scope": None if proof is None else proof.scope_text,
                "bound": None if proof is None else str(proof.bound),
                "words": None if proof is None else proof.words,
            }
            for point in frontier.points
            for proof in (frontier.proof(point),)
        ],
        "certificates": 0 if frontier.evidence is None else len(frontier.evidence.certificates),
        "refutations_checked": len(checked.proved_by_file),
        "refutations_on_word": [
            picked(one, "steps rounds chunks backend") for one in checked.on_word
        ],
    }
