"""The shell's part of checks: files of forests, and folders."""

import argparse
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import syncoll
from syncoll.cli import Exit, ask, print_value
from syncoll.documents.floors import read_floors
from syncoll.documents.folder import INDEX
from syncoll.documents.sniff import kind_in
from syncoll.errors import SpecError, UsageError, VerificationError
from syncoll.live.tasks import counting
from syncoll.pages import Page
from syncoll.pages.frontier import machine_words
from syncoll.pages.page import PageParts, paged, table
from syncoll.progress import tracked
from syncoll.units import format_time
from syncoll.values import picked
from syncoll.verbs.result import Shown
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.runtime.exported import VerifiedExports
    from syncoll.session import Session


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file: Path = arguments.source
    with counting(arguments.progress):
        if file.is_dir():
            return _check_folder(arguments)
        kind = kind_in(file)
        if kind == "floors":
            page, document = _floors(file)
        elif kind == "forest":
            page, document = _forest(arguments)
        else:
            checked = ask(arguments)
            page, document = checked.page(), _document(file, checked)
    print_value(arguments, Shown(page, lambda: document))
    return Exit.OK if document["fully_checked"] else Exit.UNCHECKED


def _document(file: Path, found: syncoll.CheckedResult | syncoll.ForestsResult) -> dict[str, Any]:
    if isinstance(found, syncoll.CheckedResult):
        return {**found.document(), "file": str(file)}
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


def _forest(arguments: argparse.Namespace) -> tuple[Page, dict[str, Any]]:
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
    document = _document(file, found)
    page = found.page().text().text("Every tree and every cut holds.")
    page.text(machine_words("" if arguments.topology is None else found.topology))
    for one in document["not_checked"]:
        page.text(f"Not checked: {one['what']}; `{one['how']}` computes it anew.")
    return page, document


def _floors(file: Path) -> tuple[Page, dict[str, Any]]:
    found = read_floors(file)
    about = "that the lanes, and the collective's chunks, are the ones of their names"
    page = Page().text(f"{found.collective} on {found.topology}: every algorithm takes longer.\n")
    rows, shown = [], []
    for one in found.floors:
        time = one.times[-1]
        shown.append({"": one.protocol, ">bytes of a node": one.bytes, ">over": format_time(time)})
        rows.append({"protocol": one.protocol, "bytes": str(one.bytes), "seconds": str(time)})
    page.add(table(shown)).text(f"Every proof holds.\nNot checked: {about}.")
    return page, {
        "schema": "syncoll/check/1",
        "file": str(file),
        **picked(found, "topology collective"),
        "fully_checked": False,
        "not_checked": [{"kind": "lanes", "what": about, "how": "syncoll simulate --floors"}],
        "floors": rows,
    }


def _check_folder(arguments: argparse.Namespace) -> int:
    """Checks all frontiers, bounds and forests of a folder, and the exports of a plan."""
    from syncoll.verbs.verify.result import VerifiedResult  # only for a folder
    from syncoll.verbs.verify.shell import reported

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
    found = [_checked(arguments, file) for file in tracked(files, str)]
    documents = [_document(*pair) for pair in zip(files, found, strict=True)]
    page = Page()
    document: dict[str, Any] = {"schema": "syncoll/check/1", "files": documents}
    code = Exit.OK if all(one["fully_checked"] for one in documents) else Exit.UNCHECKED
    if documents:
        page.add(_folder_page(documents))
    if exports is not None:
        executed = VerifiedResult(exports, folder)
        page.add(executed.page())
        document["exports"] = executed.document()
    print_value(arguments, Shown(page, lambda: document))
    codes = (Exit.IMPOSSIBLE, Exit.UNCHECKED, Exit.OK)
    return code if exports is None else min(reported(exports), code, key=codes.index)


def _exports_of(session: "Session", folder: Path) -> "VerifiedExports":
    """The executed exports of a plan, on the topology and for the collective of its names, if they
    are known."""
    from syncoll.runtime.plan_folder import read_index, verify_plan  # only for a plan

    index = read_index(folder)
    topology, collective = None, None
    with suppress(SpecError):
        topology = session.topology(index.topology)
    with suppress(SpecError):
        collective = session.collective(index.collective)
    found = verify_plan(folder, index, session.plugins, topology=topology, collective=collective)
    if found.wrong and (topology is not None or collective is not None):
        alone = verify_plan(folder, index, session.plugins)
        if any(one.num_nodes < index.nodes for _, one in alone.checked):
            return alone  # exports for the communicators of groups
    return found


def _checked(
    arguments: argparse.Namespace, file: Path
) -> syncoll.CheckedResult | syncoll.ForestsResult:
    """A checked file of a folder; frontiers on the topology of their name if that is known."""
    if kind_in(file) == "forest":
        return syncoll.load_forest(file)
    found, topology = syncoll.load(file), None
    if not isinstance(found, syncoll.FrontierResult):
        raise UsageError(f"{file}: neither a frontier nor bounds nor a forest")
    with suppress(SpecError):
        topology = arguments.session.topology(found.topology.name)
    try:
        return found.check(topology=topology)
    except VerificationError as error:
        raise VerificationError(f"{file}: {error}") from error


@paged
def _folder_page(documents: list[dict[str, Any]]) -> PageParts:
    """A row for each file; forests have no numbers."""
    searched = [one for one in documents if "points" in one]
    kinds = []
    if searched:
        points = counted(sum(len(one["points"]) for one in searched), "point")
        bounds = counted(sum(one["bounds"] for one in searched), "bound")
        kinds.append(f"{counted(len(searched), 'file')} with {points} and {bounds}")
    if forests := len(documents) - len(searched):
        kinds.append(counted(forests, "forest"))
    is_whole = all(one["fully_checked"] for one in documents)
    verdict = "Everything claimed holds" if is_whole else "Nothing wrong was found"
    yield f"Checked: {', '.join(kinds)}. {verdict}.\n"
    yield table(
        [
            {
                "collective": one["collective"],
                "topology": one["topology"],
                ">S >=": one.get("steps", ""),
                ">R/C >=": Fraction(one["bandwidth"]) if "points" in one else "",
                ">points": len(one["points"]) if "points" in one else "",
                ">bounds": one.get("bounds", ""),
                "not checked": ", ".join(each["what"] for each in one["not_checked"]),
            }
            for one in documents
        ]
    )
