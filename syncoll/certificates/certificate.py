"""Proved lower bounds, on R for one C and on R/C for every C, checked without any solver."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.certificates.chunk_classes import ChunkClasses, DemandView
from syncoll.certificates.priced import Priced
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Topology

_MOST_STEPS = 1 << 16
"""Limit on S, because a file of any size may name any S, and the check takes time for each step."""


@dataclass(frozen=True)
class RoundsBound:
    """A proved lower bound on R.

    Args:
        rounds: the bound.
        steps: it holds for algorithms of at most S steps; None: for any number of steps.
        certificate: the proof; None for the bound 0, which needs none.
        reading: the demands of the certificate, and their topology.
        node: for a reading that is about one node.
    """

    rounds: Fraction
    steps: int | None
    certificate: Priced | None
    reading: DemandView = DemandView.MOVING
    node: int | None = None

    @property
    def method(self) -> str:
        """The word for the method of the proof in files."""
        return "nothing" if self.certificate is None else self.certificate.argument.method

    @property
    def argument(self) -> str:
        """Why the bound holds, in words."""
        if self.certificate is None:
            return "nothing"
        words = self.certificate.argument.words
        if self.certificate.argument.of_sums:
            return words
        whose = {
            DemandView.SPREAD: f"the contribution of one node (node {self.node} if it contributes) "
            "must reach every node that needs it: ",
            DemandView.COLLECT: f"one node (node {self.node} if it needs the sum) must get every "
            "contribution: ",
        }
        return whose.get(self.reading, "") + words

    @property
    def mirrored(self) -> bool:
        """Whether the certificate is about the reversed topology, backwards in time."""
        of_sums = self.certificate is not None and self.certificate.argument.of_sums
        return self.reading.mirrored and not of_sums

    def link_prices(self, topology: Topology) -> list[tuple[int, int | None, Fraction]]:
        """Position of the link set, step (None where one price is for all steps) and total price.

        A cut is a price for each link set that covers it, such that they cost 1 together.
        """
        prices = {} if self.certificate is None else self.certificate.prices
        if self.method == "cut":
            room = sum((topology.bounds[i].chunks_per_round for i, _ in prices), Fraction(0))
            prices = {place: price / room for place, price in prices.items()}

        def in_time(step: int) -> int | None:
            if self.steps is None:
                return None
            # A mirrored proof is about the algorithm run backwards.
            return self.steps - 1 - step if self.mirrored else step

        return [(i, in_time(step), price) for (i, step), price in sorted(prices.items())]

    def renumbered(self, bounds: Sequence[int]) -> "RoundsBound":
        """The same on a topology whose bounds have other positions: `bounds[i]` for i."""
        proof = self.certificate
        return self if proof is None else replace(self, certificate=proof.renumbered(bounds))

    def scaled(self, factor: Fraction) -> "RoundsBound":
        """The same with `factor` times the rounds, on a topology of as much less bandwidth."""
        proof = self.certificate
        scaled = None if proof is None else proof.scaled(factor)
        return replace(self, rounds=self.rounds * factor, certificate=scaled)


@dataclass(frozen=True)
class Certificate:
    """Proves that R/C is at least `bandwidth` for every C whose chunks are of this shape.

    Args:
        shape: the demands for one C.
        bound: a bound on R for that C, with its proof.
    """

    shape: ChunkClasses
    bound: RoundsBound

    @property
    def bandwidth(self) -> Fraction:
        """The lower bound on R/C."""
        return self.bound.rounds / self.shape.chunks

    @property
    def steps(self) -> int | None:
        """It holds for algorithms of at most S steps; None: of any number."""
        return self.bound.steps

    def scaled(self, factor: Fraction) -> "Certificate":
        """The same with `factor` times the rounds, on a topology of as much less bandwidth."""
        return replace(self, bound=self.bound.scaled(factor))

    def check(self, topology: Topology) -> None:
        """Passes when the proof proves exactly the stated bound.  Raises `VerificationError` when
        it breaks a rule, or proves another number."""
        try:
            proved = self._proved(topology)
        except ModelError as error:
            raise VerificationError(str(error)) from error
        if proved != self.bound.rounds:
            raise VerificationError(
                f"the certificate proves R >= {proved} for C = {self.shape.chunks}, not "
                f"R >= {self.bound.rounds}"
            )

    def _proved(self, topology: Topology) -> Fraction:
        proof, reading = self.bound.certificate, self.bound.reading
        if proof is None:
            return Fraction(0)
        if proof.steps != self.steps:
            raise VerificationError(
                f"the proof is about {_counted(proof.steps)}, the claim about "
                f"{_counted(self.steps)}"
            )
        if self.steps is not None and self.steps > _MOST_STEPS:
            raise VerificationError(f"a proof about {self.steps} steps, more than {_MOST_STEPS}")
        if not proof.argument.of_sums:
            where = topology.reversed() if reading.mirrored else topology
            return proof.check(where, self.shape.demands(reading, self.bound.node))
        if not self.shape.combining:
            raise VerificationError("a proof about sums, but the collective combines nothing")
        return proof.check(topology, self.shape.classes)

    def inverse(self, chunks: int) -> "Certificate":
        """The same about the inverse collective with C = `chunks` on the reversed topology.  Raises
        `ModelError` when chunks of it have several roots."""
        turned = {DemandView.MOVING: DemandView.INVERSE, DemandView.INVERSE: DemandView.MOVING}
        proof, reading = self.bound.certificate, self.bound.reading
        if proof is not None and (proof.argument.of_sums or reading not in turned):
            raise ModelError(f"the bound by {self.bound.argument} has no inverse")
        bound = replace(self.bound, reading=turned.get(reading, DemandView.MOVING))
        return Certificate(self.shape.inverse(chunks), bound)


def _counted(steps: int | None) -> str:
    return "any number of steps" if steps is None else f"{steps} steps"
