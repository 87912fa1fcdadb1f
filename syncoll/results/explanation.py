"""Explanation: what a solver would be asked about an instance, without asking it."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.formula import FormulaSize
from syncoll.model import Instance

__all__ = ["ExplainedStage", "Explanation"]


@dataclass(frozen=True)
class ExplainedStage:
    """The formula after the encoding, or after a lowering.

    Args:
        name: of the encoding or lowering.
        summary: what it does.
        size: of the formula after it.
        seconds: that it took.
    """

    name: str
    summary: str
    size: FormulaSize
    seconds: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a solver would be asked.

    Args:
        instance: that was asked about.
        note: why another instance is decided in its place; empty where none is.
        encoding: its name.
        backend: the name of the one that is asked first.
        summary: of the backend.
        features: that the backend takes.
        stages: the encoding, then each lowering.
        answers: whether the backend can and should run this: the question, yes or no, the reason.
    """

    instance: Instance
    note: str
    encoding: str
    backend: str
    summary: str
    features: tuple[str, ...]
    stages: tuple[ExplainedStage, ...]
    answers: tuple[tuple[str, bool, str], ...]
