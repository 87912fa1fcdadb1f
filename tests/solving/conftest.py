"""Small instances, and a manager whose backends are fakes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from syncoll.model import Instance, Topology
from syncoll.plugins import BackendRecord, PluginManager

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def racers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the racing backends; workers find it as they inherit the path."""
    monkeypatch.syspath_prepend(str(FAKES))
    import racers  # type: ignore[import-not-found]

    return racers


@pytest.fixture
def manager(racers: Any) -> Callable[..., PluginManager]:
    """A manager of the usual encodings and only these backends."""

    def make(*records: BackendRecord) -> PluginManager:
        import syncoll_partial
        import syncoll_step

        manager = PluginManager()
        manager.register(syncoll_step, "step")
        manager.register(syncoll_partial, "partial")
        manager.register(racers.Racers(*records), "racers")
        return manager

    return make


@pytest.fixture
def ring() -> Topology:
    links = {pair: 1 for i in range(4) for pair in ((i, (i + 1) % 4), ((i + 1) % 4, i))}
    return Topology.from_links("ring(4)", 4, links)


@pytest.fixture
def allgather(ring: Topology) -> Instance:
    """Has an algorithm."""
    return Instance(ring, "allgather", 1, 2, 2, np.eye(4, dtype=bool), np.ones((4, 4), dtype=bool))


@pytest.fixture
def impossible(ring: Topology) -> Instance:
    """Has none: a node has two links for its three chunks."""
    return Instance(ring, "allgather", 1, 3, 1, np.eye(4, dtype=bool), np.ones((4, 4), dtype=bool))


@pytest.fixture
def allreduce(ring: Topology) -> Instance:
    """Combining."""
    one = np.ones((1, 4), dtype=bool)
    return Instance(ring, "allreduce", 1, 2, 2, one, one, combining=True)


@pytest.fixture
def no_children() -> Iterator[None]:
    """The test leaves no worker behind, and no zombie."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    deadline = time.monotonic() + 3
    while (left := _children(before)) and time.monotonic() < deadline:
        time.sleep(0.05)  # a worker whose parent was a process of a pool may be about to end
    assert left == []


def _children(known: set[int]) -> list[str]:
    left = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(child.cmdline())
            zombie = child.status() == psutil.STATUS_ZOMBIE
            if child.pid not in known and ("syncoll.solving.worker" in command or zombie):
                left.append(f"{child.pid} {child.status()} {command}")
    return left
