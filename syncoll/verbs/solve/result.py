"""The answer to one (S, R, C)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import syncoll
from syncoll.documents.outcome import outcome_document
from syncoll.errors import UsageError
from syncoll.formula import StopReason, Verdict
from syncoll.model.grains import in_rounds
from syncoll.pages.algorithm import algorithm_page
from syncoll.pages.page import PageParts, paged
from syncoll.results import Solution
from syncoll.session import Session
from syncoll.verbs.asking import deadline_of, session_of, verb
from syncoll.verbs.result import Result
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.proofs.refute import Refuting


@dataclass(frozen=True, eq=False, repr=False)
class SolutionResult(Result, Solution):
    """The answer to one (S, R, C), with its session; true if there is an algorithm."""

    session: Session | None = None

    document = outcome_document

    @paged
    def page(self) -> PageParts:
        """The answer to one (S, R, C), with the encoding, the backend and the seconds."""
        instance, outcome = self.instance, self.outcome
        question = (
            f"{instance.collective} on {instance.topology.name} with C = {instance.chunks}, "
            f"S = {instance.steps}, R = {instance.rounds}"
        )
        if self.algorithm is not None:
            yield algorithm_page(instance, self.algorithm)
            yield ""
            yield f"sat: {question}; verified."
            if self.restriction is not None:
                order = self.restriction.order
                yield f"Found among the algorithms that a group of order {order} preserves."
        elif outcome.verdict is Verdict.UNSAT:
            yield f"unsat: {question} has no algorithm."
            least, grains = instance.least_steps, instance.topology.grains
            if min(instance.steps, instance.rounds * grains) < least:
                lacking = counted(least, "step")
                if instance.steps >= least:  # each step takes a grain
                    lacking = counted(in_rounds(least, grains), "round")
                yield f"No algorithm with C = {instance.chunks} has fewer than {lacking}."
                return
        elif outcome.reason is StopReason.NOT_SYMMETRIC:
            yield f"unknown: {question} has no symmetric algorithm; others may exist."
            yield outcome.message
        else:
            yield f"unknown: {question} was not decided ({outcome.reason})."
            if outcome.message:  # the document has all of it, such as the stack of a crash
                yield outcome.message.partition("\n")[0]
        yield f"Encoding {self.encoding}, backend {self.backend}{self._effort()}."

    def _effort(self) -> str:
        size = ""
        if self.size.variables or self.size.constraints:
            size = (
                f": {counted(self.size.variables, 'variable')}, "
                f"{counted(self.size.constraints, 'constraint')}"
            )
        phases = [(name, f"{value:.2f}") for name, value in self.seconds.items()]
        parts = ", ".join(f"{name} {value}" for name, value in phases if float(value))
        if self.restriction is not None:
            whole = self.restriction.whole
            size += f" (without symmetry {whole.variables} and {whole.constraints})"
        total = sum(self.seconds.values())
        return f"{size}; {total:.2f} seconds" + (f" ({parts})" if parts else "")

    @property
    def found(self) -> "syncoll.StoredResult":
        """The algorithm, to export or run.  Raises `UsageError` if there is no algorithm."""
        if self.algorithm is None:
            raise UsageError(
                f"{self.instance.collective} on {self.instance.topology.name} has no algorithm "
                f"here: the answer is {self.verdict}"
            )
        return syncoll.StoredResult(
            self.instance, self.algorithm, "algorithm", session=self.session
        )

    def __bool__(self) -> bool:
        return self.algorithm is not None

    @verb
    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> "Refuting":
        """Writes a checkable proof that there is no such algorithm; solves once more.

        Returns the file, or the reason why there is no file.  Raises `UsageError` if the answer is
        not unsat, or the folder cannot be written.
        """
        if self.verdict is not Verdict.UNSAT:
            raise UsageError(f"the answer is {self.verdict}; there is nothing to refute")
        question, until = (self.instance, self.encoding), deadline_of(time_limit)
        return session_of(self).refute(*question, Path(folder), until)

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; raises as `found` does."""
        return self.found.sends
