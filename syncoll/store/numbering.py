"""The numbers of one way to state a question in those of another, and what is moved across."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.prices import PriceCertificate, Share
from syncoll.certificates.trees import TreeCertificate
from syncoll.errors import FileFormatError
from syncoll.model import Algorithm
from syncoll.store.answers import BoundCertificate

__all__ = ["IntArray", "Numbering", "inverse"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Numbering:
    """For each node, link, bound and member its number elsewhere; each a permutation.

    Args:
        nodes: ``[P]``.
        links: ``[L]``.
        bounds: ``[|B|]``.
        members: ``[G]`` chunks of an instance, or ``[K]`` demands of a bound.
    """

    nodes: IntArray
    links: IntArray
    bounds: IntArray
    members: IntArray

    def inverse(self) -> Numbering:
        """The way back."""
        return Numbering(
            inverse(self.nodes), inverse(self.links), inverse(self.bounds), inverse(self.members)
        )

    def algorithm(self, algorithm: Algorithm) -> Algorithm:
        """An algorithm with the numbers from elsewhere; still to be verified.

        Raises:
            FileFormatError: when it names chunks or nodes that there are not.
        """
        sends, carried = algorithm.sends, algorithm.contributions
        most = np.array((len(self.members), len(self.nodes), len(self.nodes)))
        if (sends[:, :3] < 0).any() or (sends[:, :3] >= most).any():
            raise FileFormatError("a stored algorithm is not one of its question")
        if carried is not None and carried.shape[1] != len(self.nodes):
            raise FileFormatError("a stored algorithm has contributions of other nodes")
        moved = np.stack(
            [self.members[sends[:, 0]], *self.nodes[sends[:, 1:3]].T, sends[:, 3]], axis=1
        )
        return Algorithm(
            algorithm.rounds_per_step,
            moved,
            None if carried is None else carried[:, inverse(self.nodes)],
        )

    def certificate(self, certificate: BoundCertificate) -> BoundCertificate:
        """A certificate with the numbers from elsewhere; still to be checked.

        Raises:
            FileFormatError: when it names bounds, links, nodes or demands that there are not.
        """
        try:
            if isinstance(certificate, CutCertificate):
                return CutCertificate(
                    tuple(sorted(_at(self.nodes, n) for n in certificate.nodes)),
                    tuple(sorted(_at(self.bounds, i) for i in certificate.cover)),
                )
            totals = {
                (_at(self.bounds, i), step): price
                for (i, step), price in certificate.totals.items()
            }
            if isinstance(certificate, TreeCertificate):
                return TreeCertificate(certificate.steps, totals)
            shares = tuple(
                Share(
                    _at(self.nodes, share.destination),
                    tuple(_at(self.members, k) for k in share.demands),
                    {
                        (_at(self.links, link), s): price
                        for (link, s), price in share.prices.items()
                    },
                )
                for share in certificate.shares
            )
        except IndexError as error:
            raise FileFormatError("a stored certificate is not one of its question") from error
        return PriceCertificate(certificate.steps, totals, shares)


def inverse(order: IntArray) -> IntArray:
    """The inverse of a permutation."""
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.arange(len(order))
    return result


def _at(numbers: IntArray, position: int) -> int:
    if position < 0:  # an array would count it from its end
        raise IndexError(position)
    return int(numbers[position])
