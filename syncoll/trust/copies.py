"""Which chunks each node holds, for collectives that only move data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from syncoll.model import Instance
from syncoll.trust.violation import Violation

__all__ = ["Copies"]

IntArray = npt.NDArray[np.int64]


class Copies:
    """The paper's V_s: ``[G, P]``, starting at pre.

    Args:
        instance: whose pre it starts from.
    """

    def __init__(self, instance: Instance) -> None:
        self._holds = instance.pre.copy()

    def missing(self, step: int, sends: IntArray, first: int) -> Iterator[Violation]:
        """The sends of a step whose chunk the sender does not hold when the step begins."""
        chunk, source, destination, _ = sends.T
        for i in np.flatnonzero(~self._holds[chunk, source]):
            yield Violation(
                "causality",
                f"step {step} sends chunk {chunk[i]} from node {source[i]} to node "
                f"{destination[i]}, but node {source[i]} does not hold it then",
            )

    def arrive(self, sends: IntArray, first: int) -> None:
        """What the sends of a step bring is held when the step has ended."""
        self._holds[sends[:, 0], sends[:, 2]] = True

    def unmet(self, instance: Instance) -> Iterator[Violation]:
        """What post demands and no node holds at the end."""
        for c, n in np.argwhere(instance.post & ~self._holds).tolist():
            yield Violation("post", f"chunk {c} never reaches node {n}")
