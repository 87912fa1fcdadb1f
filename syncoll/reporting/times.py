"""How long everything takes for which size: what the page draws, and what was assumed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syncoll.planning import CostModel, MessageMeasure, message_of
from syncoll.reporting.subject import Entry, Subject
from syncoll.units import format_bandwidth, format_time

__all__ = ["ASSUMED_ALPHA", "ASSUMED_BANDWIDTH", "Classic", "Simulated", "Times"]

ASSUMED_ALPHA = Fraction(1, 10**6)
ASSUMED_BANDWIDTH = Fraction(25 * 10**9)
"""Where nobody says how fast the machine is."""


@dataclass(frozen=True, eq=False)
class Classic:
    """A well-known algorithm on the same machine.

    Args:
        name: such as ``ring``.
        steps: S.
        rounds: R.
        chunks: C.
    """

    name: str
    steps: int
    rounds: int
    chunks: int

    @property
    def bandwidth(self) -> Fraction:
        """R/C."""
        return Fraction(self.rounds, self.chunks)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Times out of the simulator.

    Args:
        words: how it was simulated.
        sizes: of one node's data, in bytes.
        seconds: for each entry of the report, then for each classic, a time for each size.
    """

    words: str
    sizes: tuple[int, ...]
    seconds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Times:
    """The model of a report, and times out of it.

    Args:
        model: alpha and beta.
        alpha_from: who says alpha, in words: "given", "as the machine is described" or "assumed".
        beta_from: the same of beta.
        message: what the collective's message is.
        classics: that run on this machine.
        simulated: None where nothing was simulated.
    """

    model: CostModel
    alpha_from: str
    beta_from: str
    message: MessageMeasure
    classics: tuple[Classic, ...] = ()
    simulated: Simulated | None = None

    @classmethod
    def of(
        cls,
        subject: Subject,
        model: CostModel,
        alpha_from: str,
        beta_from: str,
        classics: Sequence[Classic] = (),
        simulated: Simulated | None = None,
    ) -> Times:
        """The times of everything in a report."""
        message = message_of(one.stored.instance for one in subject.entries)
        return cls(model, alpha_from, beta_from, message, tuple(classics), simulated)

    @property
    def words(self) -> str:
        """The model in a sentence."""
        return (
            f"alpha = {format_time(self.model.alpha)} a step ({self.alpha_from}); a link of one "
            f"chunk per round carries {format_bandwidth(self.model.bandwidth)} ({self.beta_from})"
        )

    def entry(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """For the page; times are in seconds, bandwidths in bytes per second."""
        simulated = None
        if self.simulated is not None:
            seconds = [list(row) for row in self.simulated.seconds]
            simulated = {
                "words": self.simulated.words,
                "sizes": list(self.simulated.sizes),
                "entries": seconds[: len(entries)],
                "classics": seconds[len(entries) :],
            }
        return {
            "alpha": float(self.model.alpha),
            "bandwidth": float(self.model.bandwidth),
            "alpha_from": self.alpha_from,
            "beta_from": self.beta_from,
            "per_node": float(self.message.per_node),
            "message": self.message.words if self.message.measured else "",
            "classics": [
                {
                    "name": one.name,
                    "steps": one.steps,
                    "cost": str(one.bandwidth),
                }
                for one in self.classics
            ],
            "simulated": simulated,
        }
