"""Pages of a frontier and of its checked claims."""

from syncoll.documents import StoredFile
from syncoll.pages.algorithm import algorithm_page
from syncoll.pages.families import families_table, open_lines, optimal_for, time_cells
from syncoll.pages.page import PageParts, paged, table
from syncoll.results import Frontier
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.trust.claims import Checked
from syncoll.wording import counted, in_short


@paged
def frontier_page(frontier: Frontier) -> PageParts:
    """A frontier: its points, the proved bounds, and the regions that are not settled."""
    from syncoll.simulating.message_times import times_of  # checks load no simulation

    times = times_of(frontier)
    families = frontier.families
    points = [
        point
        for point in frontier.points
        if not any(family.has(point.steps, point.bandwidth, point.chunks) for family in families)
    ]
    timed = [None] * len(points) if times is None else times.of_points(points)
    most, proved = frontier.max_chunks, proved_column(frontier)
    rows = [
        {
            **({} if seconds is None else time_cells(seconds)),
            ">steps S": p.steps,
            ">rounds R": p.rounds,
            ">chunks C": p.chunks,
            ">messages": p.messages,
            ">R/C": p.bandwidth,
            proved: p.bound if p.bound is not None else "",
            "optimal for": optimal_for(p, frontier),
            "R by step": in_short(p.algorithm.rounds_per_step),
            ">sends": p.algorithm.num_sends,
            "found by": f"{p.encoding}/{p.backend}",
            ">seconds": f"{p.seconds:.2f}",
        }
        for p, seconds in zip(points, timed, strict=True)
    ]
    yield f"{frontier.collective} on {frontier.topology.name}"
    if rows or families:
        yield ""
    if rows:
        optional = (
            *("seconds", "sends", "R by step", "found by", "rounds R"),
            *(proved[1:], "messages", "chunks C"),
        )
        yield table(rows, optional)
    yield families_table(frontier, times)
    if times is not None:
        how = formula = "S alpha + (R/C) L beta"
        if points and times.simulates(points):
            how = f"simulated, of pipelines {formula}" if families else "simulated"
        yield f"Times are {how}; sizes are of the message, {times.message}."
    if frontier.timed:
        yield "Faster by simulated time for some sizes, with their costs in lockstep:"
        yield from (
            f"  timed[{i}]: S = {one.steps}, R/C = {one.bandwidth}, C = {one.chunks}"
            for i, one in enumerate(frontier.timed)
        )
    alone = frontier.scope == BOUNDS_ALONE
    if alone:
        proofs = () if frontier.evidence is None else frontier.evidence.proofs
        if proofs:
            yield ""
            yield table([{">steps S": p.steps, ">R/C at least": p.bound} for p in proofs])
        stopped = "" if frontier.complete else "; a limit stopped the search for higher ones"
        yield f"Lower bounds alone, without a search for algorithms{stopped}."
    elif frontier.impossible:
        yield f"Impossible: {frontier.impossible}."
    else:
        pipelines = f" and {counted(len(families), 'pipeline')}" if families else ""
        yield (
            f"{counted(len(frontier.points), 'verified point')}{pipelines} "
            f"in {frontier.seconds:.1f} s; searched: {frontier.scope}."
        )
    if frontier.left_out:
        chunks, reason = frontier.left_out[0]
        which = ", ".join(str(c) for c, _ in frontier.left_out)
        first = "" if len(frontier.left_out) == 1 else f" (C = {chunks})"
        yield f"Not searched: C = {which}, {reason}{first}"
    if sentence := ruled_out(frontier):
        yield sentence
    if frontier.open and not (alone or frontier.impossible):
        yield "Not settled:" if most is None else f"Not settled, with C <= {most}:"
        yield from (f"  {line}" for line in open_lines(frontier))
    if most is not None:
        yield f"Nothing is proved about larger C: {frontier.collective} is another task for each C."


def proved_column(frontier: Frontier) -> str:
    """The name of the column with proved bounds, and the C for which they hold."""
    return f">proved >={_among(frontier, ' (C <= {})')}"


def _among(frontier: Frontier, words: str = " with C <= {}") -> str:
    """The C for which bounds of a frontier hold, in words; empty for all."""
    return "" if frontier.max_chunks is None else words.format(frontier.max_chunks)


def ruled_out(frontier: Frontier) -> str:
    """The costs that no algorithm has, in a sentence; empty if nothing is ruled out."""
    found = []
    if frontier.least_steps:
        found.append(f"fewer than {counted(frontier.least_steps, 'step')}")
    if frontier.least_bandwidth:
        found.append(f"a bandwidth cost below {frontier.least_bandwidth}")
    return f"No algorithm{_among(frontier)} has {' or '.join(found)}." if found else ""


@paged
def check_page(checked: Checked) -> PageParts:
    """The checked claims of a frontier, and the claims that stay unchecked."""
    frontier, evidence = checked.frontier, checked.frontier.evidence
    assert evidence is not None
    about = f"{frontier.collective} on {frontier.topology.name}"
    if checked.unchecked:
        yield f"{about}: nothing wrong was found, but not everything was checked"
        yield from (f"  not checked: {one.what} ({one.how})" for one in checked.unchecked)
    else:
        yield f"{about}: everything claimed holds"
    yield (
        f"  {counted(len(frontier.points) + len(frontier.timed), 'algorithm')} replayed, "
        f"{counted(len(evidence.certificates), 'certificate')} checked"
    )
    if checked.compared:
        yield f"  compared with the definition of {checked.compared}"
    yield f"  {machine_words(checked.machine)}"
    for family in frontier.families:
        yield f"  a pipeline checked for every m: {family.words}"
    if checked.proved_by_file:
        yield f"  {counted(len(checked.proved_by_file), 'refutation')} checked step by step"
    yield "Proved if these claims hold:" if checked.unchecked else "Proved:"
    among, distance = _among(frontier), evidence.distance
    if distance is not None:
        yield (
            f"  no algorithm{among} has fewer than {counted(distance.steps, 'step')}: node "
            f"{distance.destination} is {counted(distance.steps, 'hop')} from "
            f"{'node' if len(distance.sources) == 1 else 'nodes'} "
            f"{' and '.join(map(str, distance.sources))}"
        )
    yield from (f"  {proof.sentence(checked.proved_by_file)}" for proof in evidence.proofs)
    yield (
        f"  no algorithm{among} of any number of steps has a bandwidth cost below "
        f"{frontier.least_bandwidth}"
    )
    if evidence.scaling:
        reason = checked.scales if checked.compared else "not checked"
        yield f"  for every number of chunks C per node: {reason}"
    for answer in checked.on_word:
        yield (
            f"  on the word of {answer.backend}: no algorithm with S = {answer.steps}, "
            f"R = {answer.rounds}, C = {answer.chunks}"
        )


def machine_words(compared: str) -> str:
    """A line on the machine of a checked file; `compared`: the topology it was compared with."""
    known = "as the file describes it; --topology compares it with the one you mean"
    return f"machine: {compared or known}"


@paged
def stored_page(stored: StoredFile) -> PageParts:
    """The frontier or the answer, and every algorithm step by step."""
    if stored.frontier is not None:
        yield frontier_page(stored.frontier)
        yield "These are the claims of the file; `syncoll check` checks them."
    elif not stored.algorithms:
        instance = stored.instances[0]
        yield (
            f"{stored.document['verdict']}: {stored.collective} on {stored.topology.name} with "
            f"C = {instance.chunks}, S = {instance.steps}, R = {instance.rounds} "
            f"({stored.document['reason']})"
        )
    for number, one in enumerate(stored.algorithms):
        if number or stored.frontier is not None:
            yield ""
        yield algorithm_page(one.instance, one.algorithm)
