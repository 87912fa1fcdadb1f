"""Proofs that charge a chunk for several of its sends, which a switch may carry as one."""

from __future__ import annotations

from collections.abc import Iterable

from syncoll.errors import VerificationError
from syncoll.model import Counting, Topology

__all__ = ["require_every_send"]


def require_every_send(topology: Topology, priced: Iterable[int]) -> None:
    """Passes where every send counts for the bounds that have a price: it is for them that there is
    only so much room, and whatever switches do elsewhere only moves less.

    Args:
        priced: positions of bounds; of those that there are not nothing is said.

    Raises:
        VerificationError: where a switch copies or adds up what is sent for one of them.
    """
    for i in priced:
        if 0 <= i < len(topology.bounds) and topology.bounds[i].counts is not Counting.SENDS:
            raise VerificationError(
                f"a proof that counts every send, and a price for bound {i}, of which a switch "
                "copies or adds up what is sent"
            )
