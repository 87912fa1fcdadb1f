"""The end of the processes of a pool's solvers when their parent is interrupted or dies."""

from __future__ import annotations

import os
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
from syncoll.formula import Limits
from syncoll.model import Instance, Topology
from syncoll.solving import SolverPool, SolverSettings

def main():
    import asking
    line = Topology.from_links("line(2)", 2, {(0, 1): 1, (1, 0): 1})
    everything = np.ones((2, 2), dtype=bool)
    instance = Instance(line, "allgather", 1, 1, 1, np.eye(2, dtype=bool), everything)
    settings = SolverSettings(backend="pysat", limits=Limits(threads=2))
    with SolverPool(settings, 2) as pool:
        try:
            for future in [pool.submit(instance) for _ in range(4)]:
                assert future.result().verdict == "sat"
            futures = [pool.submit(instance, how=asking.hang) for _ in range(4)]
            print("ready", flush=True)
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            pool.cancel_all()
            print({str(future.result().outcome.reason) for future in futures}, flush=True)

if __name__ == "__main__":
    main()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a pipe's end")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(FAKES)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    time.sleep(0.3)
    others = psutil.Process(parent.pid).children(recursive=True)
    assert len(others) >= 2
    if how is signal.SIGINT:  # as a terminal does, to all of the group
        os.killpg(parent.pid, how)
    else:
        parent.send_signal(how)
    output, _ = parent.communicate(timeout=20)
    assert output == ("{'interrupted'}\n" if how is signal.SIGINT else "")
    _, alive = psutil.wait_procs(others, timeout=5)
    left = [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        process.kill()
    assert left == []
