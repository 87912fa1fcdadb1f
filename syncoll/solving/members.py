"""The encodings and backends chosen by ``--encoding`` and ``--backend``.

One name is one backend; names joined with ``+`` are a portfolio, asked in this order.  ``auto``
asks the two installed and licensed backends of highest rank for the kind of instance; one that says
it should not run a formula comes last.

By default these are CP-SAT and a SAT solver on clauses.  CP-SAT is often much faster on collectives
that only move data; on most combining ones, and to refute broadcasts, the SAT solver is
(`benchmarks/portfolio.py`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from syncoll.clock import is_counted
from syncoll.errors import OptionError, PluginError, UsageError
from syncoll.formula import Limits
from syncoll.plugins import BackendRecord, EncodingRecord, PluginManager
from syncoll.plugins.options import Options, OptionValue, resolve_options
from syncoll.processes import available_cores
from syncoll.solving.process import SolverProcess

AUTO = "auto"

_AT_ONCE = 2
"""Number of backends that ``auto`` runs on a formula at the same time."""


def default_threads(jobs: int = 1) -> int:
    """Default number of threads of a solver: its share of the cores, from 2 to 8.  CP-SAT searches
    for solutions and proofs in different threads, so one is too few."""
    return max(2, min(8, available_cores() // max(1, jobs)))


@cache
def installed() -> PluginManager:
    """The installed plugins, discovered once in a process."""
    return PluginManager.discover()


@dataclass(frozen=True)
class SolverSettings:
    """Everything that makes a `Solver`, by name.

    Args:
        encoding: encoding of collectives that only move data, or ``auto``.
        combining_encoding: encoding of combining instances, or ``auto``.
        backend: one, several joined with ``+``, or ``auto``; see `members` and `portfolio`.
        encoding_options: values by name, or pairs of these, which can be compared.
        backend_options: likewise; ``cpsat.probing`` where several backends have one.
        limits: limits of each run; concurrent backends share the threads.  None for
            `default_threads`.
    """

    encoding: str = AUTO
    combining_encoding: str = AUTO
    backend: str = AUTO
    encoding_options: Mapping[str, object] | Iterable[tuple[str, object]] = ()
    backend_options: Mapping[str, object] | Iterable[tuple[str, object]] = ()
    limits: Limits | None = None

    def named(self, manager: PluginManager | None = None) -> "SolverSettings":
        """The settings with encodings in place of ``auto``; errors as `choose_encoding`."""
        if AUTO not in (self.encoding, self.combining_encoding):
            return self
        plugins = manager or installed()
        return replace(
            self,
            encoding=choose_encoding(plugins, self.encoding, combining=False).name,
            combining_encoding=choose_encoding(
                plugins, self.combining_encoding, combining=True
            ).name,
        )


@dataclass(eq=False)
class Member:
    """A backend with its options and its worker."""

    record: BackendRecord
    options: Options
    process: SolverProcess

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.record.name


@dataclass(frozen=True)
class BackendChoice:
    """Backends in the order in which they are asked.

    Args:
        at_once: the number of backends that run at the same time; backends that should not run a
            formula come last.  None for all, in the given order.
        passed_over: a line for each broken backend that ``auto`` would use; plugins that cannot be
            imported only if it has fewer backends than it runs at once.
    """

    moving: tuple[BackendRecord, ...]
    combining: tuple[BackendRecord, ...]
    at_once: int | None = None
    passed_over: tuple[str, ...] = ()


def choose_encoding(manager: PluginManager, name: str, *, combining: bool) -> EncodingRecord:
    """The encoding of a name for a kind of instance; ``auto`` takes the highest rank.  Raises
    `PluginError` for an unknown name, or if none has a rank, and `UsageError` for the other
    kind."""
    kind = "combining" if combining else "non-combining"
    if name != AUTO:
        record = manager.encodings[name]
        if record.combining != combining:
            other = "combining" if record.combining else "non-combining"
            unasked = "" if combining else ", which use it without the option"
            raise UsageError(f"encoding {record.name} takes only {other} collectives{unasked}")
        return record
    able = [r for r in manager.encodings.values() if r.combining == combining]
    ranked = sorted((-r.rank, r.name) for r in able if r.rank is not None)
    if not ranked:
        known = ", ".join(sorted(r.name for r in able)) or "none"
        raise PluginError(f"no encoding for {kind} collectives has a rank; by name: {known}")
    return manager.encodings[ranked[0][1]]


def choose_prover(manager: PluginManager, *, combining: bool) -> BackendRecord:
    """The backend of highest rank that writes proofs.  Raises `PluginError` if none here does."""
    able = [record for record in manager.backends.values() if record.writes_proofs]
    reasons = [f"{record.name}: {why}" for record in able if (why := _missing(record))]
    here = [record for record in able if not _missing(record)]
    if not here:
        raise PluginError("; ".join(["no backend here writes proofs", *reasons]))
    return _best_first(here, combining)[0]


def choose_backends(manager: PluginManager, text: str) -> BackendChoice:
    """The backends that a text names.  Raises `PluginError` for one that is unknown, not installed
    or not licensed, or if ``auto`` finds none.  Raises `UsageError` for an empty or repeated name,
    or ``auto`` together with others."""
    if text == AUTO:
        return _automatic(manager)
    names = [name.strip() for name in text.split("+")]
    for name in names:
        if not name:
            raise UsageError(f"backend {text!r} has an empty name in it; write cpsat+pysat")
        if names.count(name) > 1:
            raise UsageError(f"backend {text!r} names {name} twice")
        if name == AUTO and len(names) > 1:
            raise UsageError(f"backend {text!r}: {AUTO} chooses by itself; write only {AUTO}")
        if name not in manager.backends and name in manager.seeds:
            raise UsageError(
                f"{name!r} is a seed: it constructs algorithms and cannot decide; use `syncoll "
                f"pareto --backend {name}`"
            )
    records = [manager.backends[name] for name in names]
    for record in records:
        if reason := _missing(record):
            raise PluginError(f"backend {record.name} cannot run here: {reason}")
    return BackendChoice(tuple(records), tuple(records))


def _automatic(manager: PluginManager) -> BackendChoice:
    """The installed backends with a rank; spares only if there is no other."""
    reasons, broken = [], []
    for spare in (False, True):
        here = []
        for record in manager.backends.values():
            if record.rank is None or record.rank.spare != spare:
                continue
            if reason := _missing(record):
                reasons.append(f"{record.name}: {reason}")
                failed = record.installed().failed or record.licensed().failed
                broken += [f"backend {reasons[-1]}"] if failed and not spare else []
            else:
                here.append(record)
        if not spare and len(here) < _AT_ONCE:
            broken += [
                f"plugin {one.plugin}, which is broken: {one.error}" for one in manager.broken
            ]
        if here:
            most = 1 if spare else len(here)
            moving, combining = (_best_first(here, combining)[:most] for combining in (False, True))
            return BackendChoice(moving, combining, _AT_ONCE, tuple(broken))
    why = "; ".join(reasons) or "no plugin has a backend with a rank"
    raise PluginError(f"backend {AUTO} finds no solver here: {why}")


def _best_first(records: Iterable[BackendRecord], combining: bool) -> tuple[BackendRecord, ...]:
    kind = "combining" if combining else "moving"
    ranked = sorted((-getattr(r.rank, kind, -math.inf), r.name, r) for r in records)
    return tuple(record for *_, record in ranked)


def _missing(record: BackendRecord) -> str:
    """Why a backend cannot run here; empty if it can."""
    for answer in (record.installed(), record.licensed()):
        if not answer.ok:
            return answer.reason
    if is_counted() and not record.counts_work:
        return "it does not count its work, so no work limit would end it"
    return ""


def member_options(
    records: Sequence[BackendRecord], given: Mapping[str, object], text: str
) -> dict[str, dict[str, OptionValue]]:
    """The options of each backend, by its name: the given values, else the defaults.  The name
    ``cpsat.probing`` is for one backend, ``probing`` for the only one that has it.  Raises
    `OptionError`, with the text of the backends, for a bad value or any other name."""
    chosen: dict[str, dict[str, object]] = {record.name: {} for record in records}
    for name, value in given.items():
        owner, dot, short = name.partition(".")
        if dot and owner not in chosen:
            raise OptionError(
                f"option {name!r} belongs to backend {owner}, which backend {text} does not "
                f"include; it includes {', '.join(chosen)}"
            )
        if not dot:
            owner, short = _owner_of(records, name, text), name
        if short in chosen[owner]:
            raise OptionError(f"option {short} of backend {owner} is set twice")
        chosen[owner][short] = value
    return {
        record.name: resolve_options(record.options, chosen[record.name], f"backend {record.name}")
        for record in records
    }


def _owner_of(records: Sequence[BackendRecord], name: str, text: str) -> str:
    if len(records) == 1:
        return records[0].name  # its error explains an unknown name best
    owners = [r.name for r in records if any(option.name == name for option in r.options)]
    if not owners:
        known = sorted(f"{r.name}.{option.name}" for r in records for option in r.options)
        raise OptionError(
            f"backend {text} has no option {name!r}; it has: {', '.join(known) or 'none'}"
        )
    if len(owners) > 1:
        both = " or ".join(f"{owner}.{name}" for owner in owners)
        raise OptionError(f"{' and '.join(owners)} have an option {name!r}; write {both}")
    return owners[0]
