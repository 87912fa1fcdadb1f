from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import hypothesis
import pytest

from syncoll.clock import counting, now

# A job that a shell started in the background, or nohup, inherits signals that are ignored, and so
# would the processes of the tests that send them one.  A handler here is the default there.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True, scope="session")
def _both_checkers() -> Iterator[None]:
    """Both checkers, `syncoll check` and syncoll_check, agree on every file of any test."""
    from .both_checkers import compared

    with compared():
        yield


@pytest.fixture(autouse=True, scope="module")
def _environment_is_kept() -> Iterator[None]:
    """Tests of a module leave variables as they were: later ones in this process start others."""
    before = dict(os.environ)
    yield
    # Pytest's own names the test that runs; libraries set theirs when they are loaded first.
    names = {n for n in before.keys() | os.environ.keys() if n.startswith(_OURS)}
    changed = {name for name in names if before.get(name) != os.environ.get(name)}
    assert not changed, f"left changed: {sorted(changed)}"


_OURS = ("SYNCOLL", "COUNTED", "PYTHON", "PATH", "HOME", "GLOO", "COLUMNS", "TERM", "LC_")


@pytest.fixture
def counted_work() -> Iterator[Callable[[], float]]:
    """Work is counted: a limit of seconds is a limit of work, the same on every machine under any
    load.  Gives the clock; reading it counts, too.
    """
    with counting():
        yield now


# The time of an example, and the time of making it, have no meaning on a busy machine.
# The examples are the same in every run, so that one without a change does not fail by luck.
hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")

# Results of a test must not come from the user's cache of an earlier run.
os.environ["SYNCOLL_STORE"] = "none"

# Nor depend on the width of the terminal; runners of tests set this for their workers.
os.environ.pop("COLUMNS", None)

BUDGET_SECONDS = 1150.0
"""Processor seconds that the whole suite may take, of all its processes together: two cores are
busy with them for less than ten minutes.  Make tests cheaper before you add more."""

_LISTED = 25
_CPU = "cpu_seconds"


def _cpu_seconds() -> float:
    """Processor time of this process and of those children that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes the cost of each test, with its set-up, which the first user of a fixture pays."""
    item.stash[_BEGAN] = _cpu_seconds()
    return (yield)


_BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[pytest.TestReport]:
    report: pytest.TestReport = yield
    if report.when == "teardown":
        report.user_properties.append((_CPU, _cpu_seconds() - item.stash[_BEGAN]))
    return report


class _Costs:
    """Adds up the costs of tests, and names failures at once: the end of a long run may never
    come."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal
        self.cpu: dict[str, float] = {}
        self.wall: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        self.wall[name] = self.wall.get(name, 0.0) + report.duration
        costs = [float(value) for key, value in report.user_properties if key == _CPU]
        self.cpu.update((name, value) for value in costs)
        if report.failed:
            self.terminal.write_line("")
            self.terminal.write_line(f"FAILED {name} ({report.when})", red=True)

    def pytest_terminal_summary(self) -> None:
        if len(self.cpu) <= _LISTED:
            return
        total = sum(self.cpu.values())
        self.terminal.section(f"the {_LISTED} tests that cost most")
        self.terminal.write_line("processor      wall  test (seconds)")
        for name in sorted(self.cpu, key=self.cpu.__getitem__, reverse=True)[:_LISTED]:
            self.terminal.write_line(f"{self.cpu[name]:9.2f} {self.wall[name]:9.2f}  {name}")
        over = "; OVER THE BUDGET" if total > BUDGET_SECONDS else ""
        self.terminal.write_line(
            f"{len(self.cpu)} tests took {total:.0f} processor seconds of a budget of "
            f"{BUDGET_SECONDS:.0f}{over}"
        )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Costs(terminal), "costs")
