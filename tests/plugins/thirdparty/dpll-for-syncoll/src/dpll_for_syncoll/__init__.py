"""A tiny SAT solver as a backend of syncoll: the record."""

from syncoll.formula import Feature
from syncoll.plugins import Answer, Backend, BackendRecord, Option, hookimpl


def load() -> Backend:
    """Imports the solver."""
    from dpll_for_syncoll.backend import DpllBackend

    return DpllBackend()


def _installed() -> Answer:
    return Answer(True, "comes with the plugin")


RECORD = BackendRecord(
    name="dpll",
    summary="Davis, Putnam, Logemann and Loveland in Python: for small formulas",
    load=load,
    features=frozenset({Feature.CLAUSE}),
    installed=_installed,
    options=(Option("first", "true", "the value tried first", choices=("true", "false")),),
)


@hookimpl
def syncoll_backends() -> list[BackendRecord]:
    """This backend."""
    return [RECORD]
