"""The solver of a single question."""

from __future__ import annotations

from collections.abc import Callable

from syncoll.plugins import PluginManager
from syncoll.session.settings import Settings
from syncoll.solving import Solver
from syncoll.solving.members import AUTO, passed_over

__all__ = ["open_solver", "tell_of_broken"]

Tell = Callable[[str], None]


def open_solver(settings: Settings, plugins: PluginManager, tell: Tell) -> Solver:
    """The solver of a single question."""
    solvers = settings.solver()
    tell_of_broken(plugins, solvers.backend, tell)
    return Solver(plugins, solvers)


def tell_of_broken(plugins: PluginManager, backend: str, tell: Tell) -> None:
    """Says which backends ``auto`` goes without because they are broken."""
    if backend == AUTO:
        for text in passed_over(plugins):
            tell(f"going on without {text}")
