"""Proved lower bounds, on R for one C and on R/C for every C, checked without any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.certificates.classes import ChunkClasses, DemandView
from syncoll.certificates.completions import CompletionCertificate
from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.gossip import GossipCertificate
from syncoll.certificates.partition import PartitionCertificate
from syncoll.certificates.prices import PriceCertificate
from syncoll.certificates.switches import SwitchCertificate
from syncoll.certificates.trees import TreeCertificate
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Topology

__all__ = ["Certificate", "ProofObject", "RoundsBound"]


ProofObject = (
    PriceCertificate
    | CutCertificate
    | PartitionCertificate
    | TreeCertificate
    | CompletionCertificate
    | GossipCertificate
    | SwitchCertificate
)

_ABOUT_CHUNKS = PartitionCertificate, CompletionCertificate, GossipCertificate, SwitchCertificate
"""Those that speak of what is combined as it is, not of demands."""

_MOST_STEPS = 1 << 16
"""What a proof about more steps takes to check has no limit that a reader can see in the file."""


@dataclass(frozen=True)
class RoundsBound:
    """A proved lower bound on R.

    Args:
        rounds: every algorithm (of at most `steps` steps) needs at least so many.
        steps: S, or None when the bound holds for any number of steps.
        certificate: the proof; None for the bound 0, which needs none.
        reading: which demands the certificate speaks of, and on which topology.
        node: for a reading that is about one node.
    """

    rounds: Fraction
    steps: int | None
    certificate: ProofObject | None
    reading: DemandView = DemandView.MOVING
    node: int | None = None

    @property
    def argument(self) -> str:
        """Why the bound holds, in words."""
        if self.certificate is None:
            return "nothing"
        if isinstance(self.certificate, PartitionCertificate):
            return "the sends between parts of the machine, for which a round has only so much room"
        if isinstance(self.certificate, CompletionCertificate):
            return "prices on the links, whichever node knows a sum first"
        if isinstance(self.certificate, GossipCertificate):
            return "prices on the links, paid by trees that share sends"
        if isinstance(self.certificate, SwitchCertificate):
            return "prices on what leaves and enters nodes, however switches copy and add up"
        whose = {
            DemandView.SPREAD: f"what one node contributes (node {self.node} where it does) must "
            "reach every node that needs it: ",
            DemandView.COLLECT: f"one node (node {self.node} where it needs it) must get every "
            "contribution: ",
        }
        what = {
            CutCertificate: "what must cross a cut",
            TreeCertificate: "prices on the links, paid by trees",
        }
        by = what.get(type(self.certificate), "prices on the links")
        return f"{whose.get(self.reading, '')}{by}"

    @property
    def mirrored(self) -> bool:
        """Whether the certificate speaks of the reversed topology, backwards in time."""
        return self.reading.mirrored and not isinstance(self.certificate, _ABOUT_CHUNKS)

    def renumbered(self, bounds: Sequence[int]) -> RoundsBound:
        """The same on a topology that differs in the positions of its bounds only.

        Args:
            bounds: for each of them the position there.
        """
        proof = self.certificate
        if isinstance(proof, CutCertificate):
            proof = replace(proof, cover=tuple(sorted(bounds[i] for i in proof.cover)))
        elif isinstance(proof, PartitionCertificate):
            proof = replace(proof, prices={bounds[i]: p for i, p in proof.prices.items()})
        elif proof is not None:
            totals = {(bounds[i], step): price for (i, step), price in proof.totals.items()}
            proof = replace(proof, totals=totals)
        return replace(self, certificate=proof)


@dataclass(frozen=True)
class Certificate:
    """Proves that R/C is at least `bandwidth` for every C whose chunks are of this shape.

    Args:
        shape: what is asked, for one C.
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
        """It holds for algorithms of at most so many steps; None: of any number."""
        return self.bound.steps

    def check(self, topology: Topology) -> None:
        """Passes when the proof proves exactly the stated bound.

        Raises:
            VerificationError: when it breaks a rule, or proves another number.
        """
        proof = self.bound.certificate
        try:
            if proof is None:
                proved = Fraction(0)
            elif isinstance(proof, PartitionCertificate):
                proved = self._partition(topology, proof)
            elif isinstance(proof, CompletionCertificate | GossipCertificate | SwitchCertificate):
                self._require_about(proof.steps)
                if not self.shape.combining:
                    raise VerificationError("a proof about sums, where nothing is combined")
                proved = proof.check(topology, self.shape.classes)
            else:
                where = topology.reversed() if self.bound.reading.mirrored else topology
                demands = self.shape.demands(self.bound.reading, self.bound.node)
                self._require_about(None if isinstance(proof, CutCertificate) else proof.steps)
                proved = proof.check(where, demands)
        except ModelError as error:
            raise VerificationError(str(error)) from error
        if proved != self.bound.rounds:
            raise VerificationError(
                f"the certificate proves R >= {proved} for C = {self.shape.chunks}, not "
                f"R >= {self.bound.rounds}"
            )

    def _require_about(self, steps: int | None) -> None:
        if steps != self.steps:
            raise VerificationError(
                f"the proof is about {steps} steps, the claim about {self.steps}"
            )
        if steps is not None and steps > _MOST_STEPS:
            raise VerificationError(f"it is about {steps} steps, more than {_MOST_STEPS}")

    def _partition(self, topology: Topology, proof: PartitionCertificate) -> Fraction:
        if not self.shape.combining:
            raise VerificationError("counting sends proves nothing where nothing is combined")
        if self.steps is not None:
            raise VerificationError("counting sends proves nothing about steps")
        return proof.check(topology, self.shape.classes)

    def inverse(self, chunks: int) -> Certificate:
        """The same about the inverse collective on the reversed topology, whose C is `chunks`.

        Raises:
            ModelError: when chunks of it have several roots.
        """
        turned = {DemandView.MOVING: DemandView.INVERSE, DemandView.INVERSE: DemandView.MOVING}
        proof = self.bound.certificate
        if isinstance(proof, _ABOUT_CHUNKS) or (
            proof is not None and self.bound.reading not in turned
        ):
            raise ModelError(f"the bound by {self.bound.argument} has no inverse")
        reading = turned.get(self.bound.reading, DemandView.MOVING)
        return Certificate(self.shape.inverse(chunks), replace(self.bound, reading=reading))
