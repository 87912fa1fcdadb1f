"""Every registered backend passes the conformance kit, and the required ones are installed."""

from __future__ import annotations

import pytest

import syncoll_cpsat
import syncoll_gurobi
import syncoll_highs
import syncoll_pysat
import syncoll_z3
from syncoll.plugins import PluginManager
from syncoll.testing import BACKEND_CHECKS, BackendConformance

REQUIRED = {"cpsat", "highs", "pysat", "z3"}


class TestCpSat(BackendConformance):
    record = syncoll_cpsat.RECORD


class TestHighs(BackendConformance):
    record = syncoll_highs.RECORD


class TestPySat(BackendConformance):
    record = syncoll_pysat.RECORD


class TestZ3(BackendConformance):
    record = syncoll_z3.RECORD


@pytest.mark.skipif(
    not syncoll_gurobi.RECORD.licensed().ok,
    reason=f"an extra, and not required: {syncoll_gurobi.RECORD.licensed().reason}",
)
class TestGurobi(BackendConformance):
    record = syncoll_gurobi.RECORD


TESTED = {
    test.record.name: test.record for test in (TestCpSat, TestHighs, TestPySat, TestZ3, TestGurobi)
}


def test_every_backend_of_the_project_is_tested() -> None:
    manager = PluginManager.discover()
    ours = {
        name: record
        for name, record in manager.backends.items()
        if manager.provenance(record).distribution == "syncoll"
    }
    assert ours == TESTED


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_required_backend_is_installed(name: str) -> None:
    answer = PluginManager.discover().backends[name].installed()
    assert answer.ok, answer.reason


def test_every_check_is_a_test_with_a_docstring() -> None:
    for name, check in BACKEND_CHECKS.items():
        assert check.__doc__, name
        assert getattr(TestCpSat, f"test_{name}").__doc__ == check.__doc__


def test_no_check_is_skipped() -> None:
    assert not any(test.skips for test in (TestCpSat, TestHighs, TestPySat, TestZ3, TestGurobi))
