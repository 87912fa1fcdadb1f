"""Verified files, and exports that were executed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncoll.documents import StoredFile
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.pages.page import PageParts, paged
from syncoll.runtime.exported import VerifiedExports
from syncoll.runtime.values import added_in_words
from syncoll.verbs.result import Result
from syncoll.verification import Verified, verification_document
from syncoll.wording import counted

_MOST_SENDS = 200_000
"""Larger algorithms are replayed, but the order of their sums is not followed; limits work."""


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedResult(Result):
    """The verified contents of a file; of exports also errors.

    Args:
        expected: the name of the expected collective, if one was given.
    """

    found: Verified
    file: Path
    expected: str | None = None

    def document(self) -> dict[str, Any]:
        """The verified algorithms or files."""
        return verification_document(self.file, self.found, self.expected)

    @paged
    def page(self) -> PageParts:
        """A line for each algorithm that was replayed, each export, or the refuted instance."""
        found = self.found
        if isinstance(found, VerifiedExports):
            yield from _exports(found)
            return
        if not isinstance(found, StoredFile):
            yield f"refutation: {found.claim}"
            lemmas = counted(found.proof.lemmas_checked, "lemma")
            yield f"  proved: {lemmas} checked, encoding {found.encoding}"
            return
        yield f"{found.kind}: {found.collective} on {found.topology.name}"
        for one in found.algorithms:
            instance = one.instance
            yield (
                f"  {one.where}: verified, C = {instance.chunks}, S = {instance.steps}, "
                f"R = {instance.rounds}, {counted(one.algorithm.num_sends, 'send')}"
                + (f"; {words}" if (words := added(instance, one.algorithm)) else "")
            )
        if not found.algorithms:
            yield "  the file has no algorithm to verify"


def added(instance: Instance, algorithm: Algorithm) -> str:
    """Whether sums are reproducible, in words; empty for algorithms that are too large."""
    if algorithm.num_sends > _MOST_SENDS:
        return ""
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.expanded()
    return added_in_words(instance, algorithm)


def _exports(found: VerifiedExports) -> Iterator[str]:
    for where, one in found.checked:
        placement = {None: "", True: ", in place", False: ", out of place"}[one.in_place]
        facts = ", ".join(f"{name} {value}" for name, value in one.facts.items())
        done = "executed" if one.result_checked else "read, but its result was NOT checked"
        meant = f", as {found.meant} asks" if found.meant is not None else ""
        yield (
            f"{where}: {done}, {one.format}: {one.collective} of {one.num_nodes} "
            f"ranks{placement}{meant}" + "".join(f"; {text}" for text in (facts, one.added) if text)
        )
