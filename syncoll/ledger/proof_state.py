"""Derives claims from bounds and answers: the strongest proof for each S, and the open regions."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from math import ceil

from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.request import Strategy, is_small
from syncoll.results.evidence import BY_CUTTING, Distance, Evidence, ScaledShape, undefined_chunks
from syncoll.results.frontier import Frontier, OpenClaim, better_left, known_cost, open_regions
from syncoll.results.proof import Proof, Refuted, Scope, covers, most_covered

_NO_BOUND = "no time for a bound of its own"
_ONLY_CUTS = "no time for a bound beyond cuts"


def with_claims(
    frontier: Frontier,
    source: CandidateSource,
    steps: Iterable[int],
    why_open: Callable[[int | None], str],
) -> Frontier:
    """The frontier with its proofs and its open regions.

    Args:
        frontier: points and families, and the candidates that a solver ruled out.
        why_open: the reason why an S is open (None: the S beyond all others), in words.
    """
    evidence = evidence_of(source, frontier, steps)
    least, low = source.least_steps, source.bounds.bandwidth()

    claims = []
    for region in open_regions(frontier, evidence.proofs, least, low):
        s = None if region[1] is None else region[0]
        why = why_open(s)
        if s in source.bounds.skipped:
            why = f"{why}; {_ONLY_CUTS if s is None else _NO_BOUND}"
        claims.append(OpenClaim(*region, why))
    # Each C for which the collective is defined, but impossible to meet.
    left_out = sorted(source.bounds.left_out.items())
    bounds = {proof.steps: proof.bound for proof in evidence.proofs}
    return replace(
        frontier,
        points=tuple(p.bounded(bounds.get(p.steps, p.bound)) for p in frontier.points),
        open=tuple(claims),
        least_steps=least,
        least_bandwidth=low,
        left_out=tuple(
            (c, str(error).splitlines()[0]) for c, error in left_out if c <= source.max_chunks
        ),
        evidence=evidence,
    )


def evidence_of(source: CandidateSource, frontier: Frontier, steps: Iterable[int]) -> Evidence:
    """The proofs for points and families."""
    bounds, points = source.bounds, frontier.points
    admitted = list(source.admitted())
    answers = sorted(frontier.refuted, key=lambda one: (-one.steps, one.chunks, -one.rounds))
    # The points of a composition may have more chunks than the limit.
    known = {*admitted, *(point.chunks for point in points)}
    proofs = []
    for s in steps:
        best = known_cost(s, points, frontier.families)
        proofs.append(_Proving(source, s, answers).proof(best))
    shapes = (ScaledShape(bounds.shape, tuple(sorted(known)), BY_CUTTING),)
    return Evidence(
        shapes,
        source.max_chunks,
        undefined_chunks(shapes, source.max_chunks, bounds.admits),
        Distance.of(bounds.reach),
        (bounds.certificate(),),
        tuple(proofs),
    )


class _Proving:
    """The bounds and answers that rule out single candidates for one S, and the ones in use."""

    def __init__(self, source: CandidateSource, steps: int, refuted: Sequence[Refuted]) -> None:
        self.source, self.bounds, self.steps, self.refuted = source, source.bounds, steps, refuted
        # The paper's strategy has one bound for every S.
        self.any_steps = source.request.strategy is Strategy.PAPER
        asked = None if self.any_steps else steps
        self.needed = [self.bounds.certificate(asked)] if steps >= source.least_steps else []
        self.used: dict[Refuted, None] = {}

    def proof(self, best: Fraction | None) -> Proof:
        """The strongest proof about algorithms of at most S steps; `best` is their least R/C."""
        max_chunks = self.source.max_chunks
        bound = min((one.bandwidth for one in self.needed), default=Fraction(0))
        proof = Proof(self.steps, best, bound, tuple(self.needed), Scope.OPEN, None, None)
        if best is not None and best <= bound:
            return replace(proof, scope=Scope.ALL, low=best)
        most_rounds = self.source.most_rounds(self.steps)
        if best is None and most_rounds is None:
            return replace(proof, low=bound)
        # Claims depend only on C for which the bound leaves a candidate.
        low, closed, is_closed = better_left(
            self.source.admitted(), best, most_rounds, self._least, bound
        )
        proof = replace(
            proof,
            certificates=tuple(self.needed),
            refuted=tuple(sorted(self.used)),
            low=low,
            max_rounds=most_rounds,
        )
        if not closed:
            return proof
        most_chunks: int | None = max_chunks if is_closed else closed
        limited = best is not None and most_rounds is not None and bound > 0
        if is_closed and limited and Fraction(most_rounds or 0) / bound <= max_chunks:
            most_chunks = None  # a larger C would cost less than the bound
        return replace(proof, scope=Scope.CHUNKS, max_chunks=most_chunks)

    def _least(self, chunks: int, limit: int) -> int | None:
        """The least R up to the limit that nothing rules out; None when all are ruled out.

        An argument against R rounds holds for fewer rounds too, so the largest R that is ruled out
        decides.
        """
        if limit < 0 or self.bounds.least_steps > self.steps:
            return None  # no cost is negative, and no chunk arrives before its distance
        asked = None if self.any_steps else self.steps
        # From S rounds on one bound and the same answers hold, and there may be thousands of R.
        most = ceil(self.bounds.bandwidth(asked) * chunks) - 1
        answers = (most_covered(one, self.steps, chunks) for one in self.refuted)
        most = min(limit, max(most, *answers, -1))
        fewer = range(min(limit, self.steps - 1), -1, -1)
        for rounds in [most, *fewer] if most >= self.steps else fewer:
            if self._ruled_out(chunks, rounds):
                return None if rounds == limit else rounds + 1
        return 0

    def _ruled_out(self, chunks: int, rounds: int) -> bool:
        steps = min(self.steps, rounds)  # a step without rounds does nothing
        if self.bounds.least_steps > steps:
            return True
        # With fewer rounds than steps a bound for fewer steps would say more.  On a large machine
        # it takes long, and the time is better spent elsewhere.
        soon = steps < self.steps and not is_small(self.source.request.topology)
        with self.bounds.at_once() if soon else nullcontext():
            certificate = self.bounds.certificate(None if self.any_steps else steps)
        if Fraction(rounds, chunks) < certificate.bandwidth:
            if certificate not in self.needed:
                self.needed.append(certificate)
            return True
        for answer in self.refuted:
            if covers(answer, steps, rounds, chunks):
                self.used[answer] = None
                return True
        return False
