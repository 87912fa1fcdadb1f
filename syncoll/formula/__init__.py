"""The language between encodings and backends: formulas, assignments, outcomes."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.formula.builder import FormulaBuilder
    from syncoll.formula.features import Feature, FormulaSize
    from syncoll.formula.formula import (
        NO_HIGH,
        NO_LOW,
        Assignment,
        CardinalityRow,
        ClauseRow,
        DifferenceRow,
        Formula,
        LinearRow,
    )
    from syncoll.formula.labels import Labels
    from syncoll.formula.outcome import Limits, Outcome, StopReason, Verdict
else:
    __getattr__ = lazily(
        __name__,
        {
            "builder": "FormulaBuilder",
            "features": "Feature FormulaSize",
            "formula": "NO_HIGH NO_LOW Assignment CardinalityRow ClauseRow DifferenceRow Formula "
            "LinearRow",
            "labels": "Labels",
            "outcome": "Limits Outcome StopReason Verdict",
        },
    )

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
    "Labels",
    "Limits",
    "LinearRow",
    "Outcome",
    "StopReason",
    "Verdict",
]
