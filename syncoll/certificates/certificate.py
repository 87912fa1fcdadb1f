"""Certificate: a lower bound on R/C together with what proves it, checked without any solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.partition import PartitionCertificate
from syncoll.certificates.rounds import RoundsBound
from syncoll.certificates.shape import Reading, Shape
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Topology

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """Proves that R/C is at least `bandwidth` for every C whose chunks are of this shape.

    Args:
        shape: what is asked, for one C.
        bound: a bound on R for that C, with its proof.
    """

    shape: Shape
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
            else:
                where = topology.reversed() if self.bound.reading.mirrored else topology
                demands = self.shape.demands(self.bound.reading, self.bound.node)
                about = None if isinstance(proof, CutCertificate) else proof.steps
                if about != self.steps:
                    raise VerificationError(
                        f"the proof is about {about} steps, the claim about {self.steps}"
                    )
                proved = proof.check(where, demands)
        except ModelError as error:
            raise VerificationError(str(error)) from error
        if proved != self.bound.rounds:
            raise VerificationError(
                f"the certificate proves R >= {proved} for C = {self.shape.chunks}, not "
                f"R >= {self.bound.rounds}"
            )

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
        turned = {Reading.MOVING: Reading.INVERSE, Reading.INVERSE: Reading.MOVING}
        proof = self.bound.certificate
        if isinstance(proof, PartitionCertificate) or (
            proof is not None and self.bound.reading not in turned
        ):
            raise ModelError(f"the bound by {self.bound.argument} has no inverse")
        reading = turned.get(self.bound.reading, Reading.MOVING)
        return Certificate(self.shape.inverse(chunks), replace(self.bound, reading=reading))
