"""Settings: who answers a question, where answers are kept, and what that may take."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from syncoll.clock import is_counted
from syncoll.errors import UsageError
from syncoll.units import parse_memory
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.solving import SolverSettings

__all__ = ["STORE_VARIABLE", "Settings", "SettingsOptions", "require_whole"]

STORE_VARIABLE = "SYNCOLL_STORE"
"""The environment variable that names the store, or ``none``."""

_LARGEST_SEED = (1 << 31) - 1


def require_whole(name: str, value: object, least: int = 0) -> None:
    """Passes a whole number that is large enough.

    Raises:
        UsageError: on anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} is {value!r}; expected a whole number of at least {least}")


class SettingsOptions(TypedDict, total=False):
    """The fields of `Settings` as keywords; a memory limit may be a text such as ``4GiB``."""

    encoding: str | None
    backend: str | None
    encoding_options: Mapping[str, object]
    backend_options: Mapping[str, object]
    threads: int | None
    seed: int
    memory_limit: int | str | None
    store: str | Path | None
    seeds: str | Iterable[str] | None
    jobs: int | None
    executor: str | None


@dataclass(frozen=True)
class Settings:
    """Everything about a search but the question; None stands for the default.

    Args:
        encoding: how an instance that only moves data becomes a formula.
        backend: the solver; several at once joined with ``+``; ``auto`` for the best installed
            ones; or a seed, which is then asked alone.
        encoding_options: values by name.
        backend_options: values by name, or by ``backend.name``.
        threads: of the solver, or of all at once together; None for the cores, from 2 to 8.
        seed: of the solver's choices.
        memory_limit: bytes that all processes may have together; None for half of what is free.
        store: a file where answers are kept; ``none`` for nowhere; None for what the environment
            variable `STORE_VARIABLE` says, else a file in the user's cache folder.
        seeds: names of heuristics that a search starts from, a text with commas between them,
            ``none``, or ``auto`` (None too) for those that are asked by default.
        jobs: so many (S, R, C) at once, each with a solver of its own; None for 1.
        executor: where the solvers run: ``local``, ``processes``, or ``dask://HOST:PORT``.
    """

    encoding: str | None = None
    backend: str | None = None
    encoding_options: Mapping[str, object] = field(default_factory=dict)
    backend_options: Mapping[str, object] = field(default_factory=dict)
    threads: int | None = None
    seed: int = 0
    memory_limit: int | None = None
    store: str | Path | None = None
    seeds: str | Iterable[str] | None = None
    jobs: int | None = None
    executor: str | None = None

    def __post_init__(self) -> None:
        for name, kind, expected in (
            ("encoding", str, "a name"),
            ("backend", str, "a name, or names joined with +"),
            ("executor", str, "local, processes or dask://HOST:PORT"),
            ("encoding_options", Mapping, "values by name"),
            ("backend_options", Mapping, "values by name"),
            ("seeds", (str, Iterable), "names, auto or none"),
            ("store", (str, Path), "the name of a file, or none"),
        ):
            value = getattr(self, name)
            if (value is not None and not isinstance(value, kind)) or value == "":
                raise UsageError(f"{name} is {value!r}; expected {expected}")
        for name, least in (("threads", 1), ("jobs", 1), ("seed", 0), ("memory_limit", 1)):
            value = getattr(self, name)
            if value is not None:
                require_whole(name, value, least)

    @classmethod
    def of(cls, options: SettingsOptions) -> Settings:
        """Settings from keywords.

        Raises:
            UsageError: on a keyword that there is not, or a memory limit that is not one.
        """
        known = [one.name for one in fields(cls)]
        for name in options:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise UsageError(f"there is no setting {name!r}{hint} (known: {', '.join(known)})")
        given = dict(options)
        if isinstance(given.get("memory_limit"), str):
            given["memory_limit"] = parse_memory(str(given["memory_limit"]))
        return cls(**given)  # type: ignore[arg-type]

    def require_countable(self) -> None:
        """Passes settings with which work can be counted: nothing runs in parallel, and no store.

        Raises:
            UsageError: naming a setting that asks for more.
        """
        alone = "everything runs in one thread"
        for name, allowed, why in (
            ("threads", (None, 1), alone),
            ("jobs", (None, 1), alone),
            ("executor", (None, "local"), alone),
            ("store", (None, "none"), "no earlier answers are used"),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise UsageError(
                    f"{argument(name, value)}: with {argument('work')} {why}, so that every run "
                    "is the same; leave one of them out"
                )

    @property
    def num_jobs(self) -> int:
        """How many solvers share this machine: N of `jobs`, or of ``processes:N``.

        Raises:
            UsageError: when the two say different numbers.
        """
        numbered = re.fullmatch(r"(?:local|processes):([0-9]{1,4})", self.executor or "")
        if numbered is None:
            return self.jobs or 1
        if self.jobs not in (None, int(numbered[1])):
            raise UsageError(
                f"{argument('jobs', self.jobs)} and {argument('executor', self.executor)} say "
                "different numbers; give one of them"
            )
        return int(numbered[1])

    @property
    def seed_names(self) -> Sequence[str] | None:
        """The seeds that were named; None for the usual ones."""
        if self.seeds is None or self.seeds == "auto":
            return None
        if isinstance(self.seeds, str):
            return [] if self.seeds == "none" else [s.strip() for s in self.seeds.split(",")]
        return list(self.seeds)

    @property
    def store_name(self) -> str | None:
        """The store that was named here or by the environment; None where no store was named."""
        named = str(self.store) if self.store is not None else os.environ.get(STORE_VARIABLE)
        return named or None

    def solver(
        self, encoding: str | None = None, backend: str | None = None, jobs: int = 1
    ) -> SolverSettings:
        """What these settings say about solvers, for one or a pool of them.

        Args:
            encoding: what a search spec asks for, as `backend`, where nothing is said here.
            jobs: how many solvers share this machine's cores.

        Raises:
            UsageError: on a seed that solvers do not take.
        """
        from syncoll.formula import Limits
        from syncoll.memory import budget, require_address_space
        from syncoll.solving import SolverSettings, default_threads
        from syncoll.solving.members import AUTO

        if not 0 <= self.seed <= _LARGEST_SEED:
            raise UsageError(f"seed {self.seed} is not from 0 to {_LARGEST_SEED}")
        require_address_space()
        threads = 1 if is_counted() else self.threads or default_threads(jobs)
        return SolverSettings(
            encoding=self.encoding or encoding or AUTO,
            backend=self.backend or backend or AUTO,
            encoding_options=tuple((k, str(v)) for k, v in self.encoding_options.items()),
            backend_options=tuple((k, str(v)) for k, v in self.backend_options.items()),
            limits=Limits(None, self.memory_limit, threads, self.seed),
            memory=budget(),
        )

    def refuse_for_seed(self, seed: str) -> None:
        """What has no meaning for a seed alone must not be passed over in silence.

        Raises:
            UsageError: naming a setting that a solver would need.
        """
        for name in (
            "encoding",
            "encoding_options",
            "seeds",
            "jobs",
            "executor",
            "store",
            "threads",
            "memory_limit",
        ):
            if getattr(self, name):
                raise UsageError(
                    f"{argument(name)} means nothing to the seed {seed}, which asks no solver"
                )
