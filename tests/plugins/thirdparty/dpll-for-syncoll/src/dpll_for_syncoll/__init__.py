"""A tiny SAT solver as a backend of syncoll: the record."""

from syncoll.formula import Feature, FormulaSize
from syncoll.plugins import Answer, BackendRecord, Option, Rank


def _installed() -> Answer:
    return Answer(True, "comes with the plugin")


def _should_run(size: FormulaSize) -> Answer:
    if size.variables > 60:
        return Answer(False, f"{size.variables} variables are too many for plain backtracking")
    return Answer(True, "done before another solver is imported")


RECORD = BackendRecord(
    name="dpll",
    summary="Davis, Putnam, Logemann and Loveland in Python: for small formulas",
    load="dpll_for_syncoll.backend:DpllBackend",
    features=frozenset({Feature.CLAUSE}),
    installed=_installed,
    options=(Option("first", "true", "the value tried first", choices=("true", "false")),),
    should_run=_should_run,
    rank=Rank(moving=30, combining=30),
)
RECORDS = [RECORD]
