"""The language between encodings and backends: formulas, assignments, outcomes."""

from syncoll.formula.builder import FormulaBuilder
from syncoll.formula.formula import (
    NO_HIGH,
    NO_LOW,
    Assignment,
    CardinalityRow,
    ClauseRow,
    DifferenceRow,
    Feature,
    Formula,
    FormulaSize,
    LinearRow,
)
from syncoll.formula.outcome import Limits, Outcome, StopReason, Verdict

__all__ = [
    "NO_HIGH",
    "NO_LOW",
    "Assignment",
    "CardinalityRow",
    "ClauseRow",
    "DifferenceRow",
    "Feature",
    "Formula",
    "FormulaBuilder",
    "FormulaSize",
    "Limits",
    "LinearRow",
    "Outcome",
    "StopReason",
    "Verdict",
]
