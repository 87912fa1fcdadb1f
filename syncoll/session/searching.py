"""A search from its first bound to its proof files, whatever ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.plugins import PluginManager
from syncoll.proofs.refute import refute_with_proof
from syncoll.results import Frontier, OpenClaim, Refuted, refuted_instance, with_files
from syncoll.searching import OUT_OF_MEMORY, AnswerSource, Observer, SearchRequest, search

__all__ = ["SHARE_BEFORE_PROOFS", "search_to_the_end", "with_proofs"]

SHARE_BEFORE_PROOFS = 0.7
"""The part of a time limit after which a search ends whose refutations are to get proofs."""

_PROOF_SECONDS = 120.0
"""For each proof file, solving and checking, unless a limit for each point says otherwise."""

Keep = Callable[[Frontier], None]


def search_to_the_end(
    request: SearchRequest,
    answers: AnswerSource,
    observer: Observer,
    keep: Keep | None,
    until: Deadline,
) -> Frontier:
    """The search; when it is stopped even before its first bound, a frontier that says so.

    So too where memory ran out beyond what the search itself can do without.
    """
    began = time.perf_counter()
    kept: list[Frontier] = []

    def keep_too(frontier: Frontier) -> None:
        kept[:] = [frontier]
        if keep is not None:
            keep(frontier)

    interrupted, reason = True, "interrupted"
    try:
        return search(request, answers, observer, on_points=keep_too, deadline=until)
    except KeyboardInterrupt:
        pass
    except OutOfTimeError:
        interrupted, reason = False, "time limit"
    except MemoryError as error:  # outside of what the search itself could go on without
        interrupted, reason = False, OUT_OF_MEMORY
        answers.lost(f"{reason}: {error}")
    if kept:
        return replace(kept[0], complete=False, interrupted=interrupted)
    return Frontier(
        request.topology,
        request.collective.name,
        (),
        (OpenClaim(0, None, Fraction(0), None, reason),),
        "nothing yet",
        {"strategy": str(request.strategy)},
        complete=False,
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
    )


def with_proofs(
    frontier: Frontier,
    folder: Path,
    plugins: PluginManager,
    tell: Callable[[str], None],
    until: Deadline,
    *,
    encoding_options: Mapping[str, object],
    point_limit: float | None,
    memory_bytes: int | None,
    seed: int,
) -> Frontier:
    """The same with a proof file for each refutation that a claim rests on, where there is one.

    Args:
        tell: is told, in words, which proofs there are not, and why.

    Raises:
        UsageError: when the folder cannot be written.
    """
    evidence = frontier.evidence
    if evidence is None:
        return frontier

    def refute(one: Refuted) -> str | None:
        instance = refuted_instance(evidence, one, frontier.topology, frontier.collective)
        combining = instance.combining
        try:
            until.check()
            with interrupted_at(until):
                done = refute_with_proof(
                    instance,
                    folder,
                    plugins,
                    encoding=None if combining else one.encoding,
                    encoding_options={} if combining else encoding_options,
                    seconds=min(point_limit or _PROOF_SECONDS, until.left()),
                    memory_bytes=memory_bytes,
                    seed=seed,
                )
        except OutOfTimeError:
            reason = "the time limit was reached"
        else:
            if done.file is not None:
                return done.file.name
            reason = done.reason
        tell(f"no proof for S = {one.steps}, R = {one.rounds}, C = {one.chunks}: {reason}")
        return None

    try:
        return replace(frontier, evidence=with_files(evidence, refute))
    except KeyboardInterrupt:
        tell("interrupted: the proofs are left out")
        return frontier
