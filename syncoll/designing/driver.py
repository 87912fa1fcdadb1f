"""From families and conditions to a design: finds candidates, then proves their bounds."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from syncoll.deadline import OutOfTimeError, interrupted_at
from syncoll.designing.assessing import LEAST_SECONDS, Assessing, DesignWork, assess
from syncoll.designing.candidates import MachineCandidate, find_candidates
from syncoll.designing.design import Design, Others, Question
from syncoll.designing.one_more_link import Extension, extensions, with_link
from syncoll.designing.synthesis import synthesise
from syncoll.errors import SpecError, UsageError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.spec import SingleTopology, TopologyFamily, conditions_of
from syncoll.wording import argument, counted

_MOST_LINKS = 12
"""Most new links, one of each orbit, whose bounds are proved."""

_PART_FOR_MEMBERS = 0.5
"""Share of the time for finding machines; the rest is for their bounds."""


def _assessed(
    candidates: Sequence[MachineCandidate], question: Question, work: DesignWork
) -> Assessing:
    """Proves bounds, and searches frontiers if requested.  Raises `UsageError` if two machines have
    one name in a folder, or results cannot be written."""
    names = Counter(one.name for one in candidates)
    twice = [name for name, number in names.items() if number > 1]
    if work.folder is not None and twice:
        raise UsageError(
            f"several machines are called {twice[0]}, and each needs a file of its own; give "
            "them different names"
        )
    done = assess(candidates, question, work)
    if question.searching is not None and not done.interrupted:
        synthesise(done, question, work)
    return done


def design(
    families: Sequence[TopologyFamily | SingleTopology], question: Question, work: DesignWork
) -> Design:
    """Proves the bounds of all members of families.  Raises `SpecError` if a family or a condition
    is invalid, or no member remains, and `OutOfTimeError` if time ran out before one was found."""
    began = time.perf_counter()
    for one in question.collectives:
        one.require_regular()
    conditions = [part for text in question.conditions for part in conditions_of(text)]
    enough = 2 if question.one_more_link else None  # a second one is refused
    until = work.until if question.one_more_link else work.until.share(_PART_FOR_MEMBERS)
    until = until.granting(LEAST_SECONDS)
    with interrupted_at(until):
        made = find_candidates(
            families, conditions, question.collectives, question.most, until, enough
        )
    if made.unseen:
        why = "interrupted" if made.interrupted else "the time to find machines is over"
        found_so_far = counted(len(made.found), "machine that was", "machines that were")
        work.tell(f"{why}: continuing with the {found_so_far} found so far; Ctrl-C ends this, too")
    if not made.found:
        for error, _ in made.left_out.values():
            raise error
        names = ", ".join(family.reference for family in families)
        raise SpecError(
            f"no member of {names} with parameters from 1 to {question.most} meets the conditions",
            None,
            "a condition that some members meet",
        )
    if question.one_more_link:
        return _one_more_link(made.found, question, work, began)
    order = sorted(made.found, key=lambda one: (one.costs.nodes, one.costs.ports, one.costs.links))
    found = _assessed(order, question, work)
    return Design(
        question,
        tuple(found.assessed),
        made.left_out,
        found.complete and not made.unseen,
        found.interrupted or made.interrupted,
        time.perf_counter() - began,
        unseen=made.unseen,
    )


def _one_more_link(
    found: Sequence[MachineCandidate], question: Question, work: DesignWork, began: float
) -> Design:
    """The original machine, and with each of the most promising links."""
    if len(found) > 1:
        names = " and ".join(one.name for one in found)
        raise UsageError(
            f"one more link needs a single machine; found several, such as {names}; name one, "
            f"or use {argument('where')}"
        )
    (base,) = found
    asked, rest = [], list[Extension]()
    candidates, until, shared = [base], work.until, 0
    try:
        with interrupted_at(until):
            for one in question.collectives:
                asked.append((one, lower_bounds(base.topology, one, max_steps=0, until=until)))
            every = extensions(base.topology, asked)
            nodes = base.costs.nodes
            shared = nodes * (nodes - 1) // 2 - sum(pair.images for pair in every)
            for pair in every[:_MOST_LINKS]:
                candidates.append(replace(with_link(base, pair.ends), images=pair.images))
            rest = every[_MOST_LINKS:]
    except OutOfTimeError:
        if len(asked) < len(question.collectives):
            raise
    result = _assessed(candidates, question, work)
    least = {
        name: min(value for value in values if value is not None)
        for name in (collective.name for collective, _ in asked)
        for values in [[pair.at_least[name] for pair in rest]]
        if values and None not in values
    }
    return Design(
        question,
        tuple(result.assessed),
        {},
        result.complete,
        result.interrupted,
        time.perf_counter() - began,
        Others(sum(pair.images for pair in rest), least) if rest else None,
        shared,
    )
