"""Where tasks run, as a person writes it: ``local``, ``processes:4``, ``dask://host:8786``."""

import re
from dataclasses import dataclass

from syncoll.errors import UsageError

_MOST_JOBS = 1024


@dataclass(frozen=True)
class ExecutorName:
    """A parsed executor name: its kind, the number of concurrent tasks, 0 for a cluster, which
    knows its own size, and the address of a cluster's scheduler."""

    kind: str
    width: int
    address: str = ""

    @classmethod
    def of(cls, text: str, jobs: int = 1) -> "ExecutorName":
        """Parses a name; `jobs` is the width if it gives none.  Raises `UsageError` if it is
        invalid."""
        kind, colon, number = text.partition(":")
        if kind in ("local", "processes") and "//" not in text:
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
        host = r"(\[[0-9A-Fa-f:.]+\]|[^\s/:]+)"
        if match := re.fullmatch(rf"(dask|tcp|tls)://{host}:([0-9]{{1,5}})", text):
            scheme = "tcp" if match[1] == "dask" else match[1]
            return cls("dask", 0, f"{scheme}://{match[2]}:{match[3]}")
        raise UsageError(
            f"there is no executor {text!r}; write local, local:N, processes:N or dask://HOST:PORT"
        )


HERE = ExecutorName("local", 1)
"""One at a time."""
