"""Bounds are proved in this process, in several, or by workers of a cluster, here threads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.designing import assessing, workers
from syncoll.designing.assessing import DesignFolder
from syncoll.errors import UsageError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.results import LowerBounds
from syncoll.solving import dask_pool
from syncoll.solving.executor_name import ExecutorName

ADDRESS = "dask://somewhere:8786"
COMMAND = ["design", "ring(n)", "allgather", "--most", "5", "--executor", ADDRESS]


class DiedError(Exception):
    """The exception of a task whose worker has died."""


class Cluster:
    """A cluster whose workers are threads."""

    made: list[Cluster]
    threads = 2

    def __init__(self, address: str) -> None:
        self.address, self.losses = address, (DiedError,)
        self.executor: Executor = ThreadPoolExecutor(2)
        self.made.append(self)

    def workers(self) -> dict[str, int]:
        return {"worker": self.threads} if self.threads else {}

    def is_lost(self) -> str:
        return "" if self.workers() else f"the cluster at {self.address} has had no worker for 20 s"

    def close(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = None  # type: ignore[assignment]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Cluster]]:
    Cluster.made = []
    monkeypatch.setattr(dask_pool, "DaskCluster", Cluster)
    yield Cluster
    assert all(one.executor is None for one in Cluster.made), "left open"


def test_it_finds_the_same(
    cluster: type[Cluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for where in ([], ["--executor", ADDRESS]):
        assert main([*COMMAND[:-2], *where, "--steps", "2", "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert [one.address for one in cluster.made] == ["tcp://somewhere:8786"]
    assert main([*COMMAND, "-o", str(tmp_path / "made")]) == 0
    assert main([*COMMAND, "-o", str(tmp_path / "made")]) == 0
    assert len(cluster.made) == 2, "all was there, and nobody is asked"


def test_bounds_proved_before_a_worker_died_are_kept(
    cluster: type[Cluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done, asked = threading.Event(), list[str]()

    def dying(topology: syncoll.Topology, *given: Any, **how: Any) -> LowerBounds:
        asked.append(topology.name)
        if topology.name == "ring(5)":
            assert done.wait(30)
            raise DiedError
        return lower_bounds(topology, *given, **how)

    folder, usual = tmp_path / "made", DesignFolder.keep

    def keep(*given: Any) -> None:
        usual(*given)
        if len(list(folder.glob("allgather-*.json"))) == 4:
            done.set()

    monkeypatch.setattr(assessing, "lower_bounds", dying)
    monkeypatch.setattr(DesignFolder, "keep", keep)
    assert main([*COMMAND, "-o", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "a task of the Dask cluster at tcp://somewhere:8786 is lost" in told
    assert "continues from there" in told
    assert sorted(asked) == [f"ring({n})" for n in range(1, 6)]
    asked.clear()
    monkeypatch.setattr(assessing, "lower_bounds", lower_bounds)
    assert main([*COMMAND, "-o", str(folder)]) == 0
    assert main(["check", str(folder)]) == 0
    assert "Checked: 5 files" in capsys.readouterr().out


def test_a_cluster_without_workers_is_given_up(
    cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(cluster, "threads", 0)
    monkeypatch.setattr(workers, "_WATCH_SECONDS", 0.01)

    def hang(task: object) -> None:
        ended.wait(5)

    given = workers.answers(hang, [1], ExecutorName.of(ADDRESS), NEVER)
    with pytest.raises(UsageError, match="has had no worker for"):
        next(given)
    ended.set()


def test_time_runs_out_while_workers_are_busy(cluster: type[Cluster]) -> None:
    ended = threading.Event()
    until = Deadline.after(0.05)
    given = workers.answers(lambda _: ended.wait(5), [1], ExecutorName.of(ADDRESS), until)
    with pytest.raises(OutOfTimeError):
        next(given)
    ended.set()


@pytest.mark.parametrize(
    ("where", "why"),
    [("lokal", "there is no executor 'lokal'"), ("processes:0", "they must be from 1 to")],
)
def test_invalid_executors_are_refused(
    where: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["design", "ring(4)", "allgather", "--executor", where]) == 2
    assert why in capsys.readouterr().err
    with pytest.raises(UsageError, match="different numbers"):
        syncoll.design("ring(4)", "allgather", executor="processes:2", jobs=3)


def test_few_tasks_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(workers, "spawned_processes")
    for named, tasks in (("local:4", [1]), ("processes:1", [1, 2]), ("dask://nowhere:1", [])):
        found = workers.answers(abs, tasks, ExecutorName.of(named), NEVER)
        assert list(found) == [(one, one) for one in tasks]
