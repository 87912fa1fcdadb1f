"""What follows from bounds and answers: the strongest proof for each number of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from syncoll.certificates import Certificate
from syncoll.results.evidence import BY_CUTTING, Distance, Evidence, ScaledShape, undefined_chunks
from syncoll.results.frontier import OpenClaim, Point
from syncoll.results.proof import Proof, Refuted, Scope, covers
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.request import Strategy

__all__ = ["evidence_of", "open_claims", "prove", "with_bounds"]


def prove(
    source: CandidateSource, steps: int, best: Fraction | None, refuted: Sequence[Refuted]
) -> Proof:
    """The strongest proof about algorithms of at most S steps that the answers so far allow.

    Args:
        source: limits and bounds.
        steps: S.
        best: the least R/C found with at most S steps; None when nothing was found.
        refuted: what a solver ruled out.
    """
    run = _Proving(source, steps, refuted)
    regular = not source.bounds.irregular
    every = None if regular else source.max_chunks
    proof = Proof(steps, best, run.bound, run.certificates, Scope.OPEN, None, every)
    if best is not None and best <= run.bound and regular:
        return replace(proof, scope=Scope.ALL, low=best)
    most_rounds = source.most_rounds(steps)
    if best is None and most_rounds is None:
        return replace(proof, low=run.bound)
    admitted = list(source.admitted())
    closed, is_closed = 0, True
    low = best
    for chunks in admitted:
        limit = most_rounds
        if best is not None:
            worse = ceil(best * chunks) - 1
            limit = worse if limit is None else min(limit, worse)
        assert limit is not None
        rounds = run.least(chunks, limit)
        if rounds is not None:
            ratio = Fraction(rounds, chunks)
            low = ratio if low is None else min(low, ratio)
            is_closed = False
        elif is_closed:
            closed = chunks
    proof = replace(
        proof,
        certificates=run.certificates,
        refuted=tuple(sorted(run.used)),
        low=low,
        max_rounds=most_rounds,
    )
    if not closed:
        return proof
    most_chunks: int | None = closed
    if is_closed:
        most_chunks = source.max_chunks
        if best is None:
            return replace(proof, scope=Scope.CHUNKS, max_chunks=most_chunks)
        if (
            regular
            and run.bound
            and most_rounds is not None
            and (most_rounds / run.bound <= most_chunks)
        ):
            most_chunks = None  # a larger C would cost less than the bound allows
    return replace(proof, scope=Scope.CHUNKS, max_chunks=most_chunks)


class _Proving:
    """What rules out single candidates for one S, and which of it was used."""

    def __init__(self, source: CandidateSource, steps: int, refuted: Sequence[Refuted]) -> None:
        self.bounds, self.steps, self.refuted = source.bounds, steps, refuted
        # The paper's strategy has one bound for every S.
        self.any_steps = source.request.strategy is Strategy.PAPER
        asked = None if self.any_steps else steps
        self.needed = list(self.bounds.certificates(source.admitted(), asked))
        self.bound = min((one.bandwidth for one in self.needed), default=Fraction(0))
        self.used: dict[Refuted, None] = {}

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Those for S, and others that rule out a candidate with fewer rounds than S."""
        return tuple(self.needed)

    def least(self, chunks: int, limit: int) -> int | None:
        """The least R up to the limit that nothing rules out; None when all are ruled out.

        What is ruled out with R rounds is ruled out with fewer, so the largest R that something
        rules out settles it.
        """
        if limit < 0 or self.bounds.least_steps(chunks) > self.steps:
            return None  # nothing is cheaper than nothing, or comes sooner than it can
        asked = None if self.any_steps else self.steps
        bandwidth = self.bounds.certificate(self.bounds.shape(chunks), asked).bandwidth
        # Nothing rules out more rounds than these, and there may be thousands above them.
        refuted = (one.rounds for one in self.refuted)
        most = max(self.steps, ceil(bandwidth * chunks), *refuted)
        for rounds in range(min(limit, most), -1, -1):
            if self._ruled_out(chunks, rounds):
                return None if rounds == limit else rounds + 1
        return 0

    def _ruled_out(self, chunks: int, rounds: int) -> bool:
        steps = min(self.steps, rounds)  # a step without rounds does nothing
        if self.bounds.least_steps(chunks) > steps:
            return True
        certificate = self.bounds.certificate(
            self.bounds.shape(chunks), None if self.any_steps else steps
        )
        if Fraction(rounds, chunks) < certificate.bandwidth:
            if certificate not in self.needed:
                self.needed.append(certificate)
            return True
        for answer in self.refuted:
            if covers(answer, steps, rounds, chunks, scaling=not self.bounds.irregular):
                self.used[answer] = None
                return True
        return False


def evidence_of(
    source: CandidateSource,
    points: Sequence[Point],
    refuted: Iterable[Refuted],
    steps: Iterable[int],
) -> Evidence:
    """Everything that is proved.

    Args:
        source: limits and bounds.
        points: what was found.
        refuted: what a solver ruled out.
        steps: the S that were searched.
    """
    bounds = source.bounds
    admitted = list(source.admitted())
    answers = sorted(refuted, key=lambda one: (-one.steps, one.chunks, -one.rounds))
    # The points of a composition may have more chunks than the limit.
    known = {*admitted, *(point.chunks for point in points)}
    for chunks in sorted(known):
        bounds.shape(chunks)
    proofs = []
    for s in steps:
        best = min((p.bandwidth for p in points if p.steps <= s), default=None)
        proofs.append(prove(source, s, best, answers))
    scales = None if bounds.irregular else BY_CUTTING
    shapes = tuple(
        ScaledShape(shared.shape, tuple(sorted(known & set(shared.compared))), scales)
        for shared in bounds.shapes
        if known & set(shared.compared)
    )
    return Evidence(
        shapes,
        source.max_chunks,
        undefined_chunks(shapes, source.max_chunks, bounds.admits),
        _distance(bounds, admitted, source.least_steps),
        bounds.certificates(admitted, None),
        tuple(proofs),
    )


def with_bounds(points: Iterable[Point], evidence: Evidence) -> list[Point]:
    """The points, each with the bound that is proved for its S."""
    bounds = {proof.steps: proof.bound for proof in evidence.proofs}
    return [replace(p, bound=bounds.get(p.steps, p.bound)) for p in points]


def open_claims(
    evidence: Evidence, least_steps: int, reason: Callable[[int], str]
) -> list[OpenClaim]:
    """For each S where something better than what was found may exist, what exactly may.

    Args:
        evidence: about some S; what it says of larger ones holds for those in between.
        least_steps: the distance bound, from which on something may exist.
        reason: why S was not settled.
    """
    claims = []
    next_steps, best = least_steps, None
    for proof in evidence.proofs:
        if proof.steps > next_steps and (best is None or proof.bound < best):
            claims.append(
                OpenClaim(next_steps, proof.steps - 1, proof.bound, best, reason(next_steps))
            )
        if proof.low is not None and not proof.is_closed:
            claims.append(
                OpenClaim(proof.steps, proof.steps, proof.low, proof.best, reason(proof.steps))
            )
        next_steps, best = proof.steps + 1, proof.best
    return claims


def _distance(bounds: BoundsTable, admitted: Sequence[int], least: int) -> Distance | None:
    chunks = next(c for c in admitted if bounds.least_steps(c) == least)
    return Distance.of(bounds.instance(chunks, least, 0))
