"""Settings: solvers, seeds, the store, and limits of threads and memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from syncoll import formula, memory
from syncoll.clock import is_counted
from syncoll.errors import UsageError
from syncoll.units import parse_memory
from syncoll.values import require_whole
from syncoll.wording import argument, meant

if TYPE_CHECKING:
    from syncoll import solving

STORE_VARIABLE = "SYNCOLL_STORE"
"""The environment variable that names the store, or ``none``."""

_LARGEST_SEED = (1 << 31) - 1
_MOST_JOBS = 1024
_OF_SOLVERS = "encoding encoding_options seeds jobs store threads memory_limit"
"""Settings that mean nothing without a solver."""


class SolverOptions(TypedDict, total=False):
    """The settings of a single question.

    Args:
        encoding: the encoding of the formula; ``auto`` for the usual one; None for auto.
        backend: the solver, or several as ``cpsat+pysat``: the first answer counts; or a seed,
            which is then asked alone; ``auto`` for the best installed ones; None for auto.
        encoding_options: options of the encoding by name, see ``syncoll plugins --options``.
        backend_options: options by name, or by ``backend.name`` where there are several backends.
        threads: of the solver, or of all solvers together; None for the cores, from 2 to 8.
        seed: of the random choices of the solver.
        memory_limit: of all processes of a command together, such as ``4GiB``; None for half
            of the free memory.
    """

    encoding: str | None
    backend: str | None
    encoding_options: Mapping[str, object]
    backend_options: Mapping[str, object]
    threads: int | None
    seed: int
    memory_limit: int | str | None


class SettingsOptions(SolverOptions, total=False):
    """The fields of `Settings` as keywords.

    Args:
        store: the file that keeps answers between searches, or ``none``; None for $SYNCOLL_STORE,
            else a file in your cache folder, see ``syncoll store``.
        seeds: names of seeds with commas between them, see ``syncoll plugins``, ``none`` or
            ``auto``; None for auto.
        jobs: number of (S, R, C) at the same time, each with its own solver; None for 1.
    """

    store: str | Path | None
    seeds: str | Iterable[str] | None
    jobs: int | None


@dataclass(frozen=True)
class Settings:
    """The settings of a search as `SettingsOptions` describes them; None stands for the default."""

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

    def __post_init__(self) -> None:
        for name, kind, expected in (
            ("encoding", str, "a name"),
            ("backend", str, "a name, or names joined with +"),
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
        if self.jobs is not None and self.jobs > _MOST_JOBS:
            raise UsageError(f"jobs is {self.jobs}; expected at most {_MOST_JOBS}")

    @classmethod
    def of(cls, options: SolverOptions | SettingsOptions) -> Settings:
        """Settings from keywords.  Raises `UsageError` on an unknown keyword, or an invalid memory
        limit."""
        known = [one.name for one in fields(cls)]
        for name in options:
            if name not in known:
                hint = f"{meant(name, known)} (known: {', '.join(known)})"
                raise UsageError(f"there is no setting {name!r}{hint}")
        given = dict(options)
        if isinstance(given.get("memory_limit"), str):
            given["memory_limit"] = parse_memory(str(given["memory_limit"]))
        return cls(**given)  # type: ignore[arg-type]

    def require_countable(self) -> None:
        """Passes settings with which work can be counted: nothing runs in parallel, and no store.
        Raises `UsageError` naming a setting that asks for more."""
        alone = "everything runs in one thread"
        for name, allowed, why in (
            ("threads", (None, 1), alone),
            ("jobs", (None, 1), alone),
            ("store", (None, "none"), "no earlier answers are used"),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise UsageError(
                    f"{argument(name, value)}: with {argument('work')} {why}, so that every run "
                    "is the same; leave one of them out"
                )

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
    ) -> solving.SolverSettings:
        """The settings of one solver, or of each solver of a pool.

        Args:
            encoding: of a search spec, as `backend`; the settings here take precedence.
            jobs: number of solvers that share the cores.

        Raises:
            UsageError: on a seed that solvers do not take.
        """
        from syncoll import solving
        from syncoll.solving.members import AUTO

        if not 0 <= self.seed <= _LARGEST_SEED:
            raise UsageError(f"seed {self.seed} is not from 0 to {_LARGEST_SEED}")
        memory.require_address_space()
        threads = 1 if is_counted() else self.threads or solving.default_threads(jobs)
        return solving.SolverSettings(
            encoding=self.encoding or encoding or AUTO,
            backend=self.backend or backend or AUTO,
            encoding_options=tuple((k, str(v)) for k, v in self.encoding_options.items()),
            backend_options=tuple((k, str(v)) for k, v in self.backend_options.items()),
            limits=formula.Limits(None, self.memory_limit, threads, self.seed),
        )

    def refuse_for_seed(self, seed: str) -> None:
        """Refuses settings that a seed alone does not use.  Raises `UsageError` naming a setting
        that a solver would need."""
        for name in _OF_SOLVERS.split():
            if getattr(self, name):
                raise UsageError(
                    f"{argument(name)} means nothing to the seed {seed}, which asks no solver"
                )
