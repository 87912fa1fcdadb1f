"""The words and tables of a page, readable without a script, and on paper."""

import shlex
from collections.abc import Iterator

from syncoll.documents import VERSION
from syncoll.errors import SyncollError
from syncoll.pages.families import open_lines, proved_of
from syncoll.pages.frontier import ruled_out
from syncoll.reporting.markup import (
    Markup,
    code,
    element,
    facts,
    items,
    joined,
    paragraph,
    shell_commands,
    table,
)
from syncoll.reporting.subject import Subject
from syncoll.reporting.times import MESSAGES, Times
from syncoll.results import TOLERANCE, Frontier
from syncoll.results.lower_bounds import BOUNDS_ALONE
from syncoll.simulating import RUNTIMES
from syncoll.simulating.message_times import SHOWN_SIZES
from syncoll.spec.parser import parse_reference
from syncoll.spec.source import Source
from syncoll.units import format_size, gigabytes
from syncoll.version import __version__
from syncoll.wording import counted, gap

_OPTIONS = (
    "strategy k max_steps max_rounds max_chunks max_messages tolerance time_limit work point_limit"
)
"""Settings of a search, in the order of its options."""


def summary(subject: Subject, times: Times) -> Markup:
    """The answer, then the facts in brief."""
    topology, frontier = subject.topology, subject.frontier
    found: list[tuple[str, object]] = [
        ("nodes", topology.num_nodes),
        ("directed links", len(topology.links)),
    ]
    if frontier is not None:
        if frontier.scope != BOUNDS_ALONE:
            found.append(("verified points", len(frontier.points)))
        if frontier.families:
            found.append(("pipelines", len(frontier.families)))
        if frontier.least_steps:
            found.append(("steps, at least", frontier.least_steps))
        if frontier.least_bandwidth:
            found.append(("R/C, at least", frontier.least_bandwidth))
    return joined([_answer(subject, times), facts(found, _headline(subject))])


def _answer(subject: Subject, times: Times) -> Markup:
    """Time, speed-up and distance from the bound at three message sizes."""
    if not subject.entries:
        return Markup("")
    rows = []
    for size in SHOWN_SIZES:
        ranked = times.seconds(size)
        seconds, best = next(pair for pair in ranked if not pair[1].classic)
        classic = next((pair for pair in ranked if pair[1].classic), None)
        floors = () if times.simulated is None else times.simulated.floors
        floor = floors[MESSAGES.index(size)] if floors else 0
        rows.append(
            (
                format_size(size),
                f"{seconds * 1e6:.{1 if seconds >= 1e-3 else 2}f}",
                f"{classic[0] / seconds:.3g}x" if classic and seconds else "",
                gap(seconds, floor) if floor else "",
                gigabytes(size / seconds) if seconds else "",
                best.name,
                classic[1].name.replace("_", " ") if classic else "",
            )
        )
    caption = (
        f"The fastest algorithm by message size ({times.message.words}), "
        f"{'by the formula' if times.simulated is None else 'simulated'}"
        f"{f', {times.runtime.words}' if times.runtime.words else ''}; its speed-up over the "
        "best classic, and its gap to the proved bound (2x: twice the bound)"
    )
    columns = (">message", ">time, µs", ">speed-up", ">gap", ">GB/s", "algorithm")
    return element("div", table((*columns, "best classic"), rows, caption), class_="answer")


def _headline(subject: Subject) -> str:
    frontier = subject.frontier
    if frontier is None:
        return subject.answer
    sentences = [sentence for sentence in [ruled_out(frontier)] if sentence]
    states = [one.state for one in subject.entries if frontier.points and one.state != "simple"]
    optimal = states.count("optimal")
    if states and optimal == len(states):
        which = "Every" if optimal > 1 else "The"
        sentences.append(f"{which} point is optimal: no algorithm of as few steps costs less.")
    elif len(states) == 1:
        sentences.append("The point is not proved optimal for every C.")
    elif states:
        proved = f"{optimal or 'None'} of the {len(states)} points {'are' if optimal > 1 else 'is'}"
        sentences.append(f"{proved} proved optimal for every C.")
    if frontier.points and len(states) < len(subject.entries):
        sentences.append("Simple points have fewer chunks or messages near the least R/C.")
    if frontier.scope == BOUNDS_ALONE:
        sentences.append("These are lower bounds alone: no algorithms were searched.")
    elif not subject.entries:
        sentences.append("No algorithm was found.")
    return " ".join(sentences)


def points(subject: Subject) -> Markup:
    """The algorithms in a table, then the families in closed form."""
    parts: list[Markup] = []
    if subject.entries:
        rows = [
            (
                one.stored.steps,
                one.stored.rounds,
                one.stored.chunks,
                f"{one.stored.messages:,}",
                one.stored.bandwidth,
                "" if one.bound is None else one.bound,
                element("span", one.scope, class_=f"state {one.state}"),
                f"{one.stored.algorithm.num_sends:,}",
                one.found_by,
            )
            for one in subject.entries
        ]
        columns = (
            *(">S", ">R", ">C", ">messages", ">R/C", ">proved ≥"),
            *("optimal for", ">sends", "found by"),
        )
        parts.append(table(columns, rows, "Verified algorithms", rows_are="algorithm"))
    families = () if subject.frontier is None else subject.frontier.families
    if families:
        rows_of = [
            (one.steps, one.rounds_needed, one.chunks, f"m ≥ {one.first}", one.limit, one.found_by)
            for one in families
        ]
        names = (">S", ">R", ">C", "for", ">R/C falls to", "found by")
        parts.append(table(names, rows_of, "Pipelines: an algorithm for every m, in closed form"))
        assert subject.frontier is not None
        parts += [paragraph(line) for f in families for line in proved_of(f, subject.frontier)]
    return joined(parts)


def assumptions(subject: Subject, times: Times) -> Markup:
    """Assumptions, checks, open questions and omissions."""
    frontier, entries = subject.frontier, [*_checked(subject)]
    if subject.entries:
        entries.append(f"Times: {times.words}.")
        entries.append(
            "By the formula S · alpha + (R/C) · L · beta, steps are in lockstep: each waits for "
            f"the one before it. L is {times.message.of_size}, cut into C chunks. The message is "
            f"{times.message.words}: {times.message.per_node} L."
        )
    if times.simulated is not None:
        entries.append(
            "Simulated, a send leaves when its data is there and its lane is free, and switches "
            "cut through. The fastest form of a classic counts at each size. The proved bound on "
            "the time is that of syncoll simulate."
            + (f" They have the costs of {times.runtime.words}." if times.runtime.words else "")
        )
    entries += [f"Left out, {name}: {why}." for name, why in times.left_out.items()]
    if frontier is not None:
        entries += _limits(frontier)
    entries.append(f"syncoll {__version__}; files of versions 1 to {VERSION}.")
    parts = [items(entries)]
    if frontier is not None and frontier.open and frontier.scope != BOUNDS_ALONE:
        parts.append(element("h3", "Not settled"))
        parts.append(items(open_lines(frontier)))
    return joined(parts)


def _checked(subject: Subject) -> Iterator[object]:
    checked, number = subject.checked, len(subject.entries)
    if number:
        yield f"{counted(number, 'algorithm')} replayed, send by send, before they are shown here."
    if subject.frontier is None:
        return
    if checked is None:
        yield "The file carries no proofs: its claims of bounds and optimality are not checked."
        return
    evidence = subject.frontier.evidence
    if evidence is not None:
        found = counted(len(evidence.certificates), "certificate")
        yield f"{found} and every claim that rests on them checked with exact arithmetic."
    for one in checked.unchecked:
        yield f"Not checked: {one.what}. To check it, {one.how}."


def _limits(frontier: Frontier) -> Iterator[object]:
    scope = f"Searched: {frontier.scope}" if frontier.scope != BOUNDS_ALONE else "Not searched"
    yield f"{scope}; {frontier.seconds:.1f} s."
    if frontier.interrupted:
        yield "The search was interrupted: this page shows the points found until then."
    elif not frontier.complete:
        yield "The search was stopped by a limit before it came to its end."
    if frontier.max_chunks is not None:
        yield (
            f"Bounds and open questions hold for C <= {frontier.max_chunks}: the definition of "
            f"{frontier.collective} depends on C."
        )
    for chunks, reason in frontier.left_out[:8]:
        yield f"C = {chunks} was left out: {reason}."
    if len(frontier.left_out) > 8:
        yield f"… and {len(frontier.left_out) - 8} more C."


def commands(subject: Subject, times: Times) -> Markup:
    """Commands that reproduce the page."""
    file = subject.source or "frontier.json"
    named, collective = shlex.quote(subject.topology.name), shlex.quote(subject.collective)
    lines, is_named = [], _is_named(subject.topology.name)
    if subject.frontier is not None and not is_named:
        lines.append(f"syncoll check {shlex.quote(file)}")
    elif subject.frontier is not None:
        verb = "bounds" if subject.frontier.scope == BOUNDS_ALONE else "pareto"
        options = "".join(_options(subject.frontier)) if verb == "pareto" else ""
        lines.append(f"syncoll {verb} {named} {collective}{options} -o {shlex.quote(file)}")
        meant = f"--topology {named} --collective {collective}"
        lines.append(f"syncoll check {shlex.quote(file)} {meant}")
    else:
        lines.append(f"syncoll verify {shlex.quote(file)}")
    alpha, beta = times.model.alpha * 10**9, times.model.bandwidth / 10**9
    model = f"--alpha {float(alpha):g}ns --beta {float(beta):g}GB/s"
    if times.runtime.words:
        name = times.runtime.name
        model += f" --runtime {shlex.quote(name if name in RUNTIMES else f'{name}.toml')}"
    lines.append(f"syncoll report {shlex.quote(file)} {model} -o report.html")
    parts = [shell_commands(lines)]
    if not is_named:
        unnamed = f"{subject.topology.name} is no name of the library, as after "
        parts.append(paragraph(unnamed, code("syncoll repair"), ".", class_="note"))
    if subject.digest:
        parts.append(paragraph("The file this page was made from: ", code(subject.digest), "."))
    return joined([*parts, naming_note()])


def naming_note() -> Markup:
    """How to name definitions in the commands of a page, and the result that varies."""
    own = "A machine or a collective of your own spec file is named "
    rest = ". The result of a search with a limit of time depends on the computer."
    return paragraph(own, code("FILE:NAME"), rest, class_="note")


def _is_named(topology: str) -> bool:
    """Whether a command can name the topology: the name of a damaged machine is in words."""
    try:
        parse_reference(Source("topology", topology))
    except SyncollError:
        return False
    return True


def _options(frontier: Frontier) -> Iterator[str]:
    usual = {"strategy": "certified", "tolerance": str(TOLERANCE)}
    settings, most = dict(frontier.settings), frontier.settings.get("max_chunks")
    if isinstance(most, int) and any(point.chunks > most for point in frontier.points):
        del settings["max_chunks"]  # the search chose it, and went beyond it
    if frontier.families:  # a search that is given limits shows none
        settings |= {"max_steps": None, "max_chunks": None}
    for name in _OPTIONS.split():
        value = settings.get(name)
        if value is not None and value != usual.get(name):
            limited = name.endswith("_limit") and isinstance(value, int | float)
            shown = f"{value:g}s" if limited else str(value)
            yield f" --{name.replace('_', '-')} {shlex.quote(shown)}"
