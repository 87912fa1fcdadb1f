"""Forests of optimal throughput."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.documents.forest import forest_document
from syncoll.pages.forest import forest_page
from syncoll.results import Forests
from syncoll.verbs.result import Result

__all__ = ["ForestsResult"]


@dataclass(frozen=True, eq=False, repr=False)
class ForestsResult(Result, Forests):
    """Forests of optimal throughput, checked edge by edge."""

    page = forest_page
    document = forest_document
