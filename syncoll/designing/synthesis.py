"""Searches frontiers of the candidates that may be the best; docs/design.md has the order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from syncoll.designing.assessing import Assessing, DesignWork
from syncoll.designing.design import Assessed, Question, ahead_of
from syncoll.errors import SyncollError
from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal
from syncoll.progress import report
from syncoll.results import Frontier
from syncoll.searching import ChosenSeed
from syncoll.searching.known_algorithms import KnownAlgorithms, known_seed
from syncoll.trust import violations


def synthesise(done: Assessing, question: Question, work: DesignWork) -> None:
    """Searches, and stores the results, or the dominating candidates, in `done`."""
    collectives, seconds, until = question.collectives, question.searching, work.until
    names = [one.name for one in collectives]
    behind = ahead_of(done.assessed, names)
    order = sorted(range(len(behind)), key=lambda i: behind[i] is not None)
    for number, i in enumerate(order):
        one = done.assessed[i]
        rival = next((r for r in done.assessed if is_no_better(one, r, names)), None)
        if rival is not None:
            done.assessed[i] = replace(one, no_better_than=rival.candidate.name)
            continue
        for collective in collectives:
            known = done.assessed[i].bounds.get(collective.name)
            if known is None or (known.frontier and known.frontier.points and known.settled):
                continue
            if until.passed or done.interrupted:
                done.complete = False
                return
            what = f"{collective.name} on {one.candidate.name}"
            report(number, len(order), f"searching {what}")
            topology = one.candidate.topology
            every = (other.bounds.get(collective.name) for other in done.assessed)
            others = [proved.frontier for proved in every if proved and proved.frontier]
            seeds = inherited(topology, collective, others)
            found = work.search(topology, collective, until.sooner(seconds), seeds)
            done.interrupted |= found.interrupted
            proved = known.with_points(found)
            done.take(i, collective.name, proved)
            if work.folder is not None and found.points:
                work.folder.keep(one.candidate, proved)
    report(len(order), len(order), "done")


def inherited(
    topology: Topology, collective: Collective, others: Iterable[Frontier]
) -> tuple[ChosenSeed, ...]:
    """At most one seed, of the algorithms of machines whose links are a subset, with the rounds
    needed here.  A machine with one more link is no worse than without; a short search must not
    make it appear worse."""
    topology = topology.in_grains
    found = tuple(
        proposal
        for frontier in others
        if set(frontier.topology.links) <= set(topology.links)
        for proposal in _proposals(topology, collective, frontier)
    )
    known = KnownAlgorithms(topology, collective.name, lambda _: found)
    summary = "algorithms of machines with a subset of the links"
    return (known_seed("inherited", summary, [known]),) if found else ()


def _proposals(
    topology: Topology, collective: Collective, frontier: Frontier
) -> Iterator[Proposal]:
    for point in frontier.points:
        try:
            algorithm = point.algorithm.tightened(topology)  # it may have other grains
            instance = collective.instantiate(
                topology, chunks=point.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
        except SyncollError:  # other nodes, or C is not admitted
            continue
        if not violations(instance, algorithm):
            yield Proposal(point.chunks, algorithm)


def is_no_better(one: Assessed, rival: Assessed, collectives: Sequence[str]) -> bool:
    """Whether a rival's algorithms prove that no algorithm of a candidate is better.  The rival
    costs no more.  For each collective and each number of steps it has an algorithm that is no
    worse in steps or in R/C than the candidate's bounds."""
    mine, theirs = one.candidate, rival.candidate
    if mine is theirs or mine.comparable != theirs.comparable:
        return False
    a, b = mine.costs, theirs.costs
    if b.ports > a.ports or b.links > a.links or b.bandwidth > a.bandwidth:
        return False
    for name in collectives:
        proved, reached = one.bounds.get(name), rival.bounds.get(name)
        if proved is None or reached is None or reached.frontier is None:
            return False
        scale = 1 if mine.rate is None or theirs.rate is None else theirs.rate / mine.rate
        for steps in proved.turns:  # the bound is constant between turns
            low = proved.at(steps)
            if low is not None and not any(
                point.steps <= steps and point.bandwidth <= low * scale
                for point in reached.frontier.points
            ):
                return False
    return True
