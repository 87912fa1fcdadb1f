"""Theorems that were written, and the claims that the verified program accepted."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from syncoll.pages.page import PageParts, paged
from syncoll.proofs.theorem import TheoremText
from syncoll.results import Refuted
from syncoll.verbs.result import Result
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class TheoremResult(Result):
    """A frontier as a theorem.

    Args:
        file: the file of the frontier.
        folder: the folder of the text, the proofs and the Makefile.
        refuted: refutations whose clauses and proofs are in the folder.
        claims: the claims that the verified program accepted; None without a check.
    """

    file: Path
    folder: Path
    text: TheoremText
    refuted: tuple[Refuted, ...]
    claims: tuple[str, ...] | None

    def document(self) -> dict[str, Any]:
        """The claims."""
        return {
            "schema": "syncoll/theorem/1",
            "file": str(self.file),
            "folder": str(self.folder),
            "checked": self.claims is not None,
            "claims": self.text.claims if self.claims is None else list(self.claims),
            "optimal": list(self.text.optimal),
            "refuted": [
                {"steps": one.steps, "rounds": str(one.rounds), "chunks": one.chunks}
                for one in self.refuted
            ],
            "left_out": list(self.text.left_out),
        }

    @property
    def exit_code(self) -> int:
        """Of the shell: 4 if a checked theorem has assumptions or leaves claims out."""
        return 4 if self.claims is not None and (self.refuted or self.text.left_out) else 0

    @paged
    def page(self) -> PageParts:
        """A line for each claim; claims that are left out."""
        claims = counted(self.text.claims + len(self.refuted), "claim")
        if self.claims is None:
            command = f"make -C {quote(str(self.folder))}"
            yield f"{claims} written to {self.folder}; `{command}` checks them."
        else:
            yield f"{claims}, written to {self.folder} and accepted by the verified program:"
            yield from (f"  {claim}" for claim in self.claims)
        for i, one in enumerate(self.refuted):
            steps = counted(one.steps, "step")
            costs = f"at most {steps}, R = {one.rounds} and C = {one.chunks}"
            yield f"Assumed: an algorithm with {costs} is a model of refuted-{i}.cnf."
        if self.text.left_out:
            yield f"Left out: {', '.join(self.text.left_out)}."
