"""The end of a portfolio's workers when their parent is interrupted or dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

FAKES = Path(__file__).parent / "fakes"

SCRIPT = """\
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import racers
import syncoll_partial, syncoll_step
from syncoll.model import Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.solving import Solver

manager = PluginManager()
manager.register(syncoll_step, "step")
manager.register(syncoll_partial, "partial")
records = racers.record("one", "sleep"), racers.record("two", "hold")
manager.register(racers.Racers(*records), "racers")
ring = Topology.from_links("line(2)", 2, {(0, 1): 1, (1, 0): 1})
everything = np.ones((2, 2), dtype=bool)
instance = Instance(ring, "allgather", 1, 1, 1, np.eye(2, dtype=bool), everything)
solver = Solver(manager, backend="one+two", head_start=0.1)
print("ready", flush=True)
try:
    solver.solve(instance)
except KeyboardInterrupt:
    print("interrupted", [m.process.pid for m in solver._members.values()], flush=True)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a pipe's end")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_is_left(how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(FAKES)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 60
    workers: list[psutil.Process] = []
    while len(workers) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        workers = psutil.Process(parent.pid).children()
    time.sleep(0.7)  # both have begun
    assert len(workers) == 2
    assert all(worker.is_running() for worker in workers)
    parent.send_signal(how)
    output, _ = parent.communicate(timeout=10)
    assert output == ("interrupted [None, None]\n" if how is signal.SIGINT else "")
    _, alive = psutil.wait_procs(workers, timeout=5)
    for worker in alive:
        if worker.status() != psutil.STATUS_ZOMBIE:  # a dead worker without a parent to reap it
            worker.kill()
            pytest.fail(f"worker {worker.pid} outlived its parent")
