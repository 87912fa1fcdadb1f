"""Answers to single questions in the hands of a user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from syncoll.api.algorithm import StoredResult
from syncoll.api.sessions import session_of
from syncoll.api.shown import Shown
from syncoll.api.units import deadline_of
from syncoll.documents import outcome_document, write_document
from syncoll.errors import UsageError
from syncoll.formula import Verdict
from syncoll.pages import Page
from syncoll.pages.bounds import bounds_page
from syncoll.pages.forest import forest_page
from syncoll.pages.solution import solution_page
from syncoll.results import Forests, LowerBounds, Solution

if TYPE_CHECKING:
    from syncoll.proofs.refute import Refuting
    from syncoll.session import Session

__all__ = ["BoundsResult", "ForestsResult", "SolutionResult"]


@dataclass(frozen=True, eq=False, repr=False)
class SolutionResult(Shown, Solution):
    """The answer to one (S, R, C).

    Args:
        session: that asked.
    """

    session: Session | None = None

    def page(self) -> Page:
        """The algorithm step by step, or that there is none."""
        return solution_page(self)

    @property
    def found(self) -> StoredResult:
        """The algorithm, to export or run.

        Raises:
            UsageError: when none was found.
        """
        if self.algorithm is None:
            raise UsageError(
                f"{self.instance.collective} on {self.instance.topology.name} has no algorithm "
                f"here: the answer is {self.verdict}"
            )
        return StoredResult(self.instance, self.algorithm, "algorithm", self.session)

    def __bool__(self) -> bool:
        """Whether there is an algorithm."""
        return self.algorithm is not None

    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> Refuting:
        """Writes a proof that others can check that there is no such algorithm; solves once more.

        Args:
            folder: for the files.
            time_limit: seconds for all of it, or a text such as ``2min``.

        Returns:
            The file, or in words why there is none.

        Raises:
            UsageError: when the answer is not unsat, or the folder cannot be written.
        """
        if self.verdict is not Verdict.UNSAT:
            raise UsageError(f"the answer is {self.verdict}; there is nothing to refute")
        return session_of(self).refute(self, Path(folder), deadline_of(time_limit))

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; raises as `found` does."""
        return self.found.sends

    def save(self, path: str | Path) -> None:
        """Writes it as JSON.

        Raises:
            UsageError: when the file cannot be written.
        """
        write_document(Path(path), outcome_document(self))


@dataclass(frozen=True, eq=False, repr=False)
class BoundsResult(Shown, LowerBounds):
    """Proved lower bounds."""

    def page(self) -> Page:
        """The bounds."""
        return bounds_page(self)


@dataclass(frozen=True, eq=False, repr=False)
class ForestsResult(Shown, Forests):
    """Forests of optimal throughput, checked edge by edge."""

    def page(self) -> Page:
        """How fast they are, and the cuts that prove it."""
        return forest_page(self)
