"""RoundsBound: a proved lower bound on R."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.partition import PartitionCertificate
from syncoll.certificates.prices import PriceCertificate
from syncoll.certificates.shape import Reading
from syncoll.certificates.trees import TreeCertificate

__all__ = ["ProofObject", "RoundsBound"]


ProofObject = PriceCertificate | CutCertificate | PartitionCertificate | TreeCertificate


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
    reading: Reading = Reading.MOVING
    node: int | None = None

    @property
    def argument(self) -> str:
        """Why the bound holds, in words."""
        if self.certificate is None:
            return "nothing"
        if isinstance(self.certificate, PartitionCertificate):
            return "the sends between parts of the machine, for which a round has only so much room"
        whose = {
            Reading.SPREAD: f"what node {self.node} contributes must reach every node that needs "
            "it: ",
            Reading.COLLECT: f"node {self.node} must get every contribution: ",
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
        return self.reading.mirrored and not isinstance(self.certificate, PartitionCertificate)
