"""The shell's part of checks: files of forests, and folders."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import syncoll
from syncoll.cli.command import ask
from syncoll.cli.exits import Exit
from syncoll.cli.output import print_json, print_page
from syncoll.documents.folder import INDEX
from syncoll.documents.sniff import holds_forest, kind_in
from syncoll.errors import SpecError, UsageError, VerificationError
from syncoll.live.tasks import counting
from syncoll.pages import Page
from syncoll.pages.frontier import machine_words
from syncoll.progress import tracked
from syncoll.session import Session
from syncoll.verbs.result import picked
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.runtime.exported import VerifiedExports
    from syncoll.verbs.asking import Where


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file: Path = arguments.source
    with counting(arguments.progress):
        if file.is_dir():
            return _check_folder(arguments)
        if holds_forest(file):
            return _check_forest(arguments)
    checked = ask(arguments)
    if arguments.format == "json":
        print_json({**checked.document(), "file": str(file)})
    else:
        print_page(checked.page())
    return Exit.UNCHECKED if checked.unchecked else Exit.OK


def _check_forest(arguments: argparse.Namespace) -> int:
    """Checks a file of forests."""
    file = arguments.source
    if arguments.proofs is not None:
        raise UsageError(f"--proofs is about refutations, and {file} has trees")
    found = syncoll.load_forest(file, arguments.topology)
    about = found.collective
    if found.slowest.collective.rooted:
        about += f"(root={int(found.slowest.forest.roots[0])})"
    asked = (arguments.collective or about).replace(" ", "")
    if asked not in (about, found.collective):
        raise VerificationError(f"{file}: it is about {about}, not {asked}")
    document = _forest_document(file, found)
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
        about = "the throughput of reductions to any roots at the same time as broadcasts"
        unchecked.append({"kind": "any roots", "what": about, "how": how})
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
    """Checks all frontiers, bounds and forests of a folder, and the exports of a plan."""
    from syncoll.pages.verified import verified_page  # only for a folder
    from syncoll.verbs.verify.shell import reported
    from syncoll.verification import verification_document

    folder = arguments.source
    for name in ("collective", "topology", "proofs"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is about one file, and {folder} is a folder")
    files = [one for one in sorted(folder.glob("*.json")) if one.name != INDEX]
    exports = _exports_of(arguments.session, folder) if kind_in(folder / INDEX) == "plan" else None
    if not files and exports is None:
        raise UsageError(
            f"{folder} has no file ending in .json; expected frontiers, bounds or forests, or the "
            f"{INDEX} of a plan"
        )
    documents, rows, forests, points, bounds = [], [], 0, 0, 0
    for file in tracked(files, str):
        if holds_forest(file):
            forests += 1
            document = _forest_document(file, syncoll.load_forest(file))
            proved: tuple[object, ...] = ("", "", "", "")
        else:
            checked = _check_frontier(arguments.session, file)
            document, found = {**checked.document(), "file": str(file)}, checked.frontier
            points += len(found.points)
            bounds += document["bounds"]
            proved = found.least_steps, found.least_bandwidth, len(found.points), document["bounds"]
        documents.append(document)
        missing = ", ".join(one["what"] for one in document["not_checked"])
        rows.append((document["collective"], document["topology"], *proved, missing))
    whole = all(one["fully_checked"] for one in documents)
    code = Exit.OK if whole else Exit.UNCHECKED
    if arguments.format == "json":
        exported = {} if exports is None else {"exports": verification_document(folder, exports)}
        print_json({"schema": "syncoll/check/1", "files": documents, **exported})
    elif rows:
        kinds = [
            f"{counted(len(rows) - forests, 'file')} with {counted(points, 'point')} and "
            f"{counted(bounds, 'bound')}"
        ] * (len(rows) > forests)
        kinds += [counted(forests, "forest")] * (forests > 0)
        verdict = "Everything claimed holds" if whole else "Nothing wrong was found"
        page = Page().text(f"Checked: {', '.join(kinds)}. {verdict}.").text()
        numbers = (">S >=", ">R/C >=", ">points", ">bounds")
        print_page(page.table(("collective", "topology", *numbers, "not checked"), rows))
    if exports is None:
        return code
    if arguments.format != "json":
        print_page(verified_page(exports))
    return min(reported(exports), code, key=(Exit.IMPOSSIBLE, Exit.UNCHECKED, Exit.OK).index)


def _exports_of(session: Session, folder: Path) -> VerifiedExports:
    """The executed exports of a plan, on the topology and for the collective of its names, if they
    are known."""
    from syncoll.runtime.plan_folder import read_index, verify_plan  # only for a plan

    index = read_index(folder)
    topology, collective = None, None
    with suppress(SpecError):
        topology = session.topology(index.topology)
    with suppress(SpecError):
        collective = session.collective(index.collective)
    return verify_plan(folder, index, session.plugins, topology=topology, collective=collective)


def _check_frontier(session: Session, file: Path) -> syncoll.CheckedResult:
    """Checks a frontier or bounds of a folder, on the topology of its name if that is known."""
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
