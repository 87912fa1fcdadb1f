"""The answer to one (S, R, C)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from syncoll.documents.outcome import outcome_document
from syncoll.errors import UsageError
from syncoll.formula import Verdict
from syncoll.pages.algorithm import solution_page
from syncoll.results import Solution
from syncoll.session import Session
from syncoll.verbs.asking import deadline_of, session_of, verb
from syncoll.verbs.result import Result

if TYPE_CHECKING:
    from syncoll.proofs.refute import Refuting
    from syncoll.verbs.frontier import StoredResult

__all__ = ["SolutionResult"]


@dataclass(frozen=True, eq=False, repr=False)
class SolutionResult(Result, Solution):
    """The answer to one (S, R, C), with its session; true if there is an algorithm."""

    session: Session | None = None

    page = solution_page
    document = outcome_document

    @property
    def found(self) -> StoredResult:
        """The algorithm, to export or run.  Raises `UsageError` if there is no algorithm."""
        from syncoll.verbs.frontier import StoredResult

        if self.algorithm is None:
            raise UsageError(
                f"{self.instance.collective} on {self.instance.topology.name} has no algorithm "
                f"here: the answer is {self.verdict}"
            )
        return StoredResult(self.instance, self.algorithm, "algorithm", self.session)

    def __bool__(self) -> bool:
        return self.algorithm is not None

    @verb
    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> Refuting:
        """Writes a checkable proof that there is no such algorithm; solves once more.

        Args:
            folder: for the files.
            time_limit: of all of it, such as ``2min``.

        Returns:
            The file, or the reason why there is no file.

        Raises:
            UsageError: if the answer is not unsat, or the folder cannot be written.
        """
        if self.verdict is not Verdict.UNSAT:
            raise UsageError(f"the answer is {self.verdict}; there is nothing to refute")
        return session_of(self).refute(self, Path(folder), deadline_of(time_limit))

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; raises as `found` does."""
        return self.found.sends
