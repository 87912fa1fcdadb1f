"""Checks everything that a frontier's file claims: replays each algorithm, checks each certificate
with exact arithmetic and shortest paths, and makes sure that the bounds, the scope of each point's
optimality and what is said to be open follow from them.  Needs no solver.

A frontier is compared with the collective of its name, or with that of --collective.  Its machine
is the one that the file describes, or that of --topology.  A claim that the file cannot prove is
named as not checked, with a way to check it, and then the exit code is 4.  If the name is unknown
or stands for another collective, this is the claim that a bound holds for every number of chunks,
which follows from the definition.  Refutations are a solver's word unless they have a proof file
(written by `syncoll pareto --proofs DIR`) and --proofs names its folder.  The record of the search
(search, complete, seconds, encoding, backend) is never checked, and no claim rests on it.

Of forests that `syncoll forest -o` saved every tree is checked edge by edge, and every cut.  What
they say of an allreduce with any roots is not checked, but must not contradict the trees.

A folder of frontiers, bounds and forests, such as `syncoll design -o` writes, is checked file by
file; each is compared with the collective and machine of its names, if syncoll knows them.

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
from typing import TYPE_CHECKING, Any

import syncoll
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add, add_meant, progress
from syncoll.cli.output import picked, print_json, print_page
from syncoll.documents.sniff import holds_forest
from syncoll.errors import SpecError, UsageError, VerificationError
from syncoll.pages import Page
from syncoll.pages.frontier import machine_words
from syncoll.progress import tracked
from syncoll.results import Frontier
from syncoll.session import Session
from syncoll.session.counting import counting
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.api.base import Where

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    file = "a frontier, bounds or a forest saved with -o, or a folder of them"
    add(parser, {"file FILE": file})
    add_meant(parser)
    proofs = (
        "check the proof files that the refutations name, in this folder; without it they count as "
        "a solver's word"
    )
    add(parser, {"--proofs DIR": (Path, proofs), **FORMAT, **progress()})


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    with counting(arguments.progress):
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
    document = _forest_document(arguments.file, found)
    if arguments.format == "json":
        print_json(document)
    else:
        machine = "" if arguments.topology is None else found.topology
        page = found.page().text().text("Every tree and every cut holds.")
        page.text(machine_words(machine))
        for one in document["not_checked"]:
            page.text(f"Not checked: {one['what']}; `{one['how']}` computes it anew.")
        print_page(page)
    return Exit.OK if document["fully_checked"] else Exit.UNCHECKED


def _forest_document(file: Path, found: syncoll.ForestsResult) -> dict[str, Any]:
    unchecked = []
    if found.any_roots is not None:
        how = f"syncoll forest {quote(found.topology)} --collective allreduce"
        what = "the throughput of reductions to any roots at the same time as broadcasts"
        unchecked.append({"kind": "any roots", "what": what, "how": how})
    return {
        "schema": "syncoll/check/1",
        "file": str(file),
        **picked(found, "topology collective"),
        "fully_checked": not unchecked,
        "not_checked": unchecked,
        "algbw": str(found.algbw),
        "bound": str(found.bound),
    }


def _check_folder(arguments: argparse.Namespace) -> int:
    """Checks all frontiers, bounds and forests of a folder."""
    for name in ("collective", "topology", "proofs"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is about one file, and {arguments.file} is a folder")
    files = [one for one in sorted(arguments.file.glob("*.json")) if one.name != "index.json"]
    if not files:
        raise UsageError(
            f"{arguments.file} has no file ending in .json; expected frontiers, bounds or forests"
        )
    documents, rows, forests = [], [], 0
    points, bounds = 0, 0
    for file in tracked(files, str):
        if holds_forest(file):
            forests += 1
            forest = syncoll.load_forest(file)
            document = _forest_document(file, forest)
            proved: tuple[object, ...] = ("", "", "", "")
            about = forest.collective, forest.topology
        else:
            checked = _check_frontier(arguments.session, file)
            document, found = _document(file, checked), checked.frontier
            points += len(found.points)
            bounds += document["bounds"]
            proved = found.least_steps, found.least_bandwidth, len(found.points), document["bounds"]
            about = found.collective, found.topology.name
        documents.append(document)
        missing = ", ".join(one["what"] for one in document["not_checked"])
        rows.append((*about, *proved, missing))
    whole = all(one["fully_checked"] for one in documents)
    if arguments.format == "json":
        print_json({"schema": "syncoll/check/1", "files": documents})
    else:
        kinds = [
            f"{counted(len(rows) - forests, 'file')} with {counted(points, 'point')} and "
            f"{counted(bounds, 'bound')}"
        ] * (len(rows) > forests)
        kinds += [counted(forests, "forest")] * (forests > 0)
        verdict = "Everything claimed holds" if whole else "Nothing wrong was found"
        page = Page().text(f"Checked: {', '.join(kinds)}. {verdict}.").text()
        numbers = (">S >=", ">R/C >=", ">points", ">bounds")
        print_page(page.table(("collective", "topology", *numbers, "not checked"), rows))
    return Exit.OK if whole else Exit.UNCHECKED


def _check_frontier(session: Session, file: Path) -> syncoll.CheckedResult:
    """Checks a frontier or bounds of a folder, on the topology of its name where syncoll has it."""
    found = syncoll.load(file)
    if not isinstance(found, syncoll.FrontierResult):
        raise UsageError(f"{file}: neither a frontier nor bounds nor a forest")
    topology: Where | None = None
    with suppress(SpecError):
        topology = session.topology(found.topology.name)
    try:
        return found.check(topology=topology)
    except VerificationError as error:
        raise VerificationError(f"{file}: {error}") from error


def _document(file: Path, checked: syncoll.CheckedResult) -> dict[str, Any]:
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
        "compared": checked.compared,
        "machine": checked.machine,
        "points": [
            {
                **picked(point, "steps rounds chunks"),
                "bandwidth": str(point.bandwidth),
                "scope": None if proof is None else proof.scope_text,
                "bound": None if proof is None else str(proof.bound),
                "words": None if proof is None else proof.sentence(checked.proved_by_file),
            }
            for point in frontier.points
            for proof in (frontier.proof(point),)
        ],
        "bounds": _num_bounds(frontier),
        "certificates": 0 if frontier.evidence is None else len(frontier.evidence.certificates),
        "refutations_checked": len(checked.proved_by_file),
        "refutations_on_word": [
            picked(one, "steps rounds chunks backend") for one in checked.on_word
        ],
    }


def _num_bounds(frontier: Frontier) -> int:
    """Number of lower bounds on R/C: one for each S with a bound, and one for any S."""
    by_steps = 0 if frontier.evidence is None else len(frontier.evidence.proofs)
    return by_steps + (frontier.least_bandwidth > 0)
