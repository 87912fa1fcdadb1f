"""Arithmetic that failed, as an error at its place that names the cell."""

from __future__ import annotations

import numpy as np

from syncoll.errors import SpecError
from syncoll.spec.arithmetic import Fault
from syncoll.spec.source import Span
from syncoll.spec.values import NameScope, written

__all__ = ["describe_cell", "fault_error"]


def describe_cell(cell: tuple[tuple[int, ...], tuple[int, ...]] | None, scope: NameScope) -> str:
    """The values that the variables have in a cell: `` (with c = 3, n = 0)``."""
    if cell is None:
        return ""
    position, shape = cell
    shown = []
    for name, value in scope.names.items():
        if isinstance(value, np.ndarray):
            try:
                shown.append(f"{name} = {written(np.broadcast_to(value, shape)[position])}")
            except ValueError:  # a variable that the fault does not depend on
                continue
    return f" (with {', '.join(shown)})" if shown else ""


def fault_error(fault: Fault, span: Span, scope: NameScope) -> SpecError:
    """A fault of arithmetic as an error at its place, naming the cell."""
    return span.error(fault.message + describe_cell(fault.cell, scope), fault.expected)
