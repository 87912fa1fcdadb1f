"""The symmetry of a topology."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.pages.symmetry import symmetry_page, symmetry_record
from syncoll.symmetry import Symmetry
from syncoll.verbs.result import Result

__all__ = ["SymmetryResult"]


@dataclass(frozen=True, eq=False, repr=False)
class SymmetryResult(Result, Symmetry):
    """The symmetry of a topology, alone or with a collective."""

    page = symmetry_page
    document = record = symmetry_record
