"""Other Python processes with the path of this one, whether they live, and their cores."""

import json
import os
import sys
from dataclasses import dataclass

import psutil

_SAME_PATH = "import json, sys\nsys.path[:] = json.loads(sys.argv.pop(1))\n"


def python_command(code: str, *arguments: str) -> list[str]:
    """The command of another Python that runs some code, with arguments in ``sys.argv[1:]``.

    It has this process's path, so that every plugin that can be imported here can be imported
    there; and -P, so that no file in the current folder can replace a library.
    """
    path = json.dumps([os.path.abspath(entry) for entry in sys.path])  # noqa: PTH100
    return [sys.executable, "-P", "-c", _SAME_PATH + code, path, *arguments]


@dataclass(frozen=True)
class LivingProcess:
    """A process of this machine with its start time, since process ids are reused."""

    pid: int
    born: float

    @classmethod
    def this(cls) -> "LivingProcess":
        """The calling process."""
        return cls(os.getpid(), psutil.Process().create_time())

    def lives(self) -> bool:
        """Whether it still exists."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.born) < 1.0
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False


def available_cores() -> int:
    """Number of processor cores that the system lets this process use; at least 1."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
