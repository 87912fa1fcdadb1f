from __future__ import annotations

from collections.abc import Iterator

import pytest

from syncoll.formula import Limits
from syncoll.plugins import PluginManager
from syncoll.solving import Solver


@pytest.fixture(scope="session")
def solver() -> Iterator[Solver]:
    with Solver(PluginManager.discover(), limits=Limits(threads=2)) as solver:
        yield solver
