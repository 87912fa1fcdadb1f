"""Where tasks run, as a person writes it: ``local`` or ``processes:4``."""

import re
from dataclasses import dataclass

from syncoll.errors import UsageError

_MOST_JOBS = 1024


@dataclass(frozen=True)
class ExecutorName:
    """A parsed executor name: its kind, and the number of concurrent tasks."""

    kind: str
    width: int

    @classmethod
    def of(cls, text: str, jobs: int = 1) -> "ExecutorName":
        """Parses a name; `jobs` is the width if it gives none.  Raises `UsageError` if it is
        invalid."""
        kind, colon, number = text.partition(":")
        if kind not in ("local", "processes") or "//" in text:
            raise UsageError(f"there is no executor {text!r}; write local, local:N or processes:N")
        width = jobs
        if colon:
            if not re.fullmatch("[0-9]{1,4}", number):
                raise UsageError(
                    f"executor {text!r}: write {kind}:N, with N from 1 to {_MOST_JOBS}"
                )
            width = int(number)
        if not 1 <= width <= _MOST_JOBS:
            raise UsageError(
                f"executor {text!r}: {width} jobs; they must be from 1 to {_MOST_JOBS}"
            )
        return cls(kind, width)


HERE = ExecutorName("local", 1)
"""One at a time."""
