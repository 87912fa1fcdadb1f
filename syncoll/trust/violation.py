"""Violation: one thing that is wrong with an algorithm."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Violation"]


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with an algorithm.

    Args:
        kind: ``shape``, ``send``, ``causality``, ``reduction``, ``order``, ``bandwidth`` or
            ``post``.
        message: what is wrong, with the send, step or link set in question.
    """

    kind: str
    message: str
