"""Pages of a frontier and of its checked claims."""

from __future__ import annotations

from syncoll.documents import StoredFile
from syncoll.pages.algorithm import algorithm_page
from syncoll.pages.families import add_families, member_of, open_lines, optimal_for
from syncoll.pages.page import Page
from syncoll.results import Frontier
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.trust.claims import Checked
from syncoll.wording import counted, in_short

__all__ = ["check_page", "frontier_page", "machine_words", "ruled_out", "stored_page"]

_OPTIONAL = ("seconds", "sends", "R by step", "found by", "rounds R", "chunks C")


def frontier_page(frontier: Frontier) -> Page:
    """A frontier: its points, the proved bounds, and the regions that are not settled."""
    from syncoll.pages.times import times_of  # checks load no simulation

    page, times = Page(), times_of(frontier)
    points = [point for point in frontier.points if member_of(point, frontier) is None]
    names = [] if times is None else times.names(points)
    cells = [[]] * len(points) if times is None else times.of_points(points)
    rows = [
        (
            *first,
            p.steps,
            p.rounds,
            p.chunks,
            p.bandwidth,
            p.bound if p.bound is not None else "",
            optimal_for(p, frontier.proof(p)),
            in_short(p.algorithm.rounds_per_step),
            p.algorithm.num_sends,
            f"{p.encoding}/{p.backend}",
            f"{p.seconds:.2f}",
        )
        for p, first in zip(points, cells, strict=True)
    ]
    most = frontier.max_chunks
    proved = ">proved >=" if most is None else f">proved >= (C <= {most})"
    columns = (*names, ">steps S", ">rounds R", ">chunks C", ">R/C", proved, "optimal for")
    more = ("R by step", ">sends", "found by", ">seconds")
    page.text(f"{frontier.collective} on {frontier.topology.name}")
    if rows or frontier.families:
        page.text()
    if rows:
        page.table((*columns, *more), rows, (*_OPTIONAL, proved[1:]))
    add_families(page, frontier, times)
    if times is not None:
        simulated = bool(points) and times.simulates(points)
        how = "simulated" if simulated else "S alpha + (R/C) L beta"
        page.text(f"Times are {how}; sizes are of the message, {times.message}.")
    alone = frontier.scope == BOUNDS_ALONE
    if alone:
        proofs = () if frontier.evidence is None else frontier.evidence.proofs
        if proofs:
            page.text()
            page.table((">steps S", ">R/C at least"), [(p.steps, p.bound) for p in proofs])
        stopped = "" if frontier.complete else "; a limit stopped the search for higher ones"
        page.text(f"Lower bounds alone, without a search for algorithms{stopped}.")
    elif frontier.impossible:
        page.text(f"Impossible: {frontier.impossible}.")
    else:
        families = len(frontier.families)
        pipelines = f" and {counted(families, 'pipeline')}" if families else ""
        page.text(
            f"{counted(len(frontier.points), 'verified point')}{pipelines} "
            f"in {frontier.seconds:.1f} s; searched: {frontier.scope}."
        )
    if frontier.left_out:
        chunks, reason = frontier.left_out[0]
        which = ", ".join(str(c) for c, _ in frontier.left_out)
        first = "" if len(frontier.left_out) == 1 else f" (C = {chunks})"
        page.text(f"Not searched: C = {which}, {reason}{first}")
    if sentence := ruled_out(frontier):
        page.text(sentence)
    if frontier.open and not (alone or frontier.impossible):
        page.text("Not settled:" if most is None else f"Not settled, with C <= {most}:")
        for line in open_lines(frontier):
            page.text(f"  {line}")
    if most is not None:
        page.text(
            f"Nothing is proved about larger C: {frontier.collective} is another task for each C."
        )
    return page


def ruled_out(frontier: Frontier) -> str:
    """The costs that no algorithm has, in a sentence; empty if nothing is ruled out."""
    found = []
    if frontier.least_steps:
        found.append(f"fewer than {counted(frontier.least_steps, 'step')}")
    if frontier.least_bandwidth:
        found.append(f"a bandwidth cost below {frontier.least_bandwidth}")
    among = "" if frontier.max_chunks is None else f" with C <= {frontier.max_chunks}"
    return f"No algorithm{among} has {' or '.join(found)}." if found else ""


def check_page(checked: Checked) -> Page:
    """The checked claims of a frontier, and the claims that stay unchecked."""
    page = Page()
    frontier, evidence = checked.frontier, checked.frontier.evidence
    assert evidence is not None
    about = f"{frontier.collective} on {frontier.topology.name}"
    if checked.unchecked:
        page.text(f"{about}: nothing wrong was found, but not everything was checked")
        for one in checked.unchecked:
            page.text(f"  not checked: {one.what} ({one.how})")
    else:
        page.text(f"{about}: everything claimed holds")
    page.text(
        f"  {counted(len(frontier.points), 'algorithm')} replayed, "
        f"{counted(len(evidence.certificates), 'certificate')} checked"
    )
    if checked.compared:
        page.text(f"  compared with the definition of {checked.compared}")
    page.text(f"  {machine_words(checked.machine)}")
    for family in frontier.families:
        page.text(f"  a pipeline checked for every m: {family.words}")
    if checked.proved_by_file:
        page.text(f"  {counted(len(checked.proved_by_file), 'refutation')} checked step by step")
    page.text("Proved if these claims hold:" if checked.unchecked else "Proved:")
    among = "" if frontier.max_chunks is None else f" with C <= {frontier.max_chunks}"
    distance = evidence.distance
    if distance is not None:
        page.text(
            f"  no algorithm{among} has fewer than {counted(distance.steps, 'step')}: node "
            f"{distance.destination} is {counted(distance.steps, 'hop')} from "
            f"{'node' if len(distance.sources) == 1 else 'nodes'} "
            f"{' and '.join(map(str, distance.sources))}"
        )
    for proof in evidence.proofs:
        page.text(f"  {proof.sentence(checked.proved_by_file)}")
    page.text(
        f"  no algorithm{among} of any number of steps has a bandwidth cost below "
        f"{frontier.least_bandwidth}"
    )
    if evidence.scaling:
        reason = checked.scales if checked.compared else "not checked"
        page.text(f"  for every number of chunks C per node: {reason}")
    for answer in checked.on_word:
        page.text(
            f"  on the word of {answer.backend}: no algorithm with S = {answer.steps}, "
            f"R = {answer.rounds}, C = {answer.chunks}"
        )
    return page


def machine_words(compared: str) -> str:
    """A line on the machine of a checked file; `compared`: the topology it was compared with."""
    known = "as the file describes it; --topology compares it with the one you mean"
    return f"machine: {compared or known}"


def stored_page(stored: StoredFile) -> Page:
    """The frontier or the answer, and every algorithm step by step."""
    page = Page()
    if stored.frontier is not None:
        page.add(frontier_page(stored.frontier))
        page.text("These are the claims of the file; `syncoll check` checks them.")
    elif not stored.algorithms:
        instance = stored.instances[0]
        page.text(
            f"{stored.document['verdict']}: {stored.collective} on {stored.topology.name} with "
            f"C = {instance.chunks}, S = {instance.steps}, R = {instance.rounds} "
            f"({stored.document['reason']})"
        )
    for number, one in enumerate(stored.algorithms):
        if number or stored.frontier is not None:
            page.text()
        page.add(algorithm_page(one.instance, one.algorithm))
    return page
