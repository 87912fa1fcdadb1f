"""Proofs that charge a chunk for several of its sends, which a switch may carry as one."""

from __future__ import annotations

from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["require_every_send"]


def require_every_send(topology: Topology) -> None:
    """Passes where every send counts.

    Raises:
        VerificationError: where switches copy or add up what is sent.
    """
    if topology.counts_copies:
        raise VerificationError(
            "a proof that counts every send, where switches copy or add up what is sent"
        )
