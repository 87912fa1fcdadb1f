"""The checks of this project: ``python -m tasks [quick|lint|types|tests|docs]``."""

from __future__ import annotations

import os
import subprocess
import sys

_LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
_TYPES = [["mypy"]]
_TESTS = [["pytest", "-q", "-n", "auto"]]
_QUICK = [["pytest", "-q", "-n", "auto", "-m", "not slow"]]
_DOCS = [["mkdocs", "build", "--strict", "--quiet"]]

_TASKS = {
    "lint": _LINT,
    "types": _TYPES,
    "tests": _TESTS,
    "docs": _DOCS,
    "quick": [*_LINT, *_TYPES, *_QUICK],
    "all": [*_LINT, *_TYPES, *_DOCS, *_TESTS],
}


def main() -> int:
    """Runs a task's commands until one fails; its exit code."""
    name = sys.argv[1] if len(sys.argv) > 1 else "all"
    if name not in _TASKS:
        sys.stderr.write(f"no task {name!r}; there are: {', '.join(_TASKS)}\n")
        return 2
    # Some machines tell Python to keep no compiled modules.  The tests start hundreds of processes,
    # each of which would compile the whole package again: a third of the suite's time.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "NO_MKDOCS_2_WARNING": "1"}
    for command in _TASKS[name]:
        sys.stderr.write(f"+ {' '.join(command)}\n")
        whole = [sys.executable, "-m", *command]
        code = subprocess.run(whole, check=False, env=environment).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
