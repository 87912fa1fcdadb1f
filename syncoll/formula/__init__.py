"""The language between encodings and backends: formulas, assignments, outcomes."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.formula.builder import FormulaBuilder as FormulaBuilder
    from syncoll.formula.features import Feature as Feature, FormulaSize as FormulaSize
    from syncoll.formula.formula import *
    from syncoll.formula.outcome import *
else:
    __getattr__ = lazily(__name__)
