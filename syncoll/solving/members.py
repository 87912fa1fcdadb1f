"""The backends that a solver asks, by what was written after ``--backend``.

One name is one backend; names joined with ``+`` are a portfolio, asked in this order; ``auto`` is
the installed ones of those that are best together.  CP-SAT and a SAT solver on clauses are: on
collectives that only move data the former is often much faster and seldom much slower, but on most
combining ones, and where a broadcast is to be refuted, it is the other way around
(benchmarks/results/portfolio.md).  So the order of ``auto`` depends on the kind of instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syncoll.errors import OptionError, PluginError, UsageError
from syncoll.plugins import BackendRecord, OptionValue, PluginManager, resolve_options
from syncoll.solving.process import SolverProcess

__all__ = ["AUTO", "Member", "choose_backends", "member_options", "passed_over"]

AUTO = "auto"

_BEST = ("cpsat", "pysat")
"""The portfolio of ``auto``, for instances that only move data."""

_BEST_COMBINING = ("pysat", "cpsat")

_OTHERS = ("z3", "highs")
"""What ``auto`` is when none of the best is installed: the first of these that is."""


@dataclass(eq=False)
class Member:
    """A backend with its options and its worker.

    Args:
        record: the backend's entry.
        options: a value for every option of its table.
        process: its worker; replaced when it does not come back.
    """

    record: BackendRecord
    options: Mapping[str, OptionValue]
    process: SolverProcess

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.record.name


def choose_backends(
    manager: PluginManager, text: str
) -> tuple[list[BackendRecord], tuple[str, ...]]:
    """The backends that a text names, and the order of their names for combining instances.

    Raises:
        PluginError: on an unknown name, or a backend that is not installed or not licensed; for
            ``auto`` when none is.
        UsageError: on an empty name, one given twice, or ``auto`` beside others.
    """
    if text == AUTO:
        return _automatic(manager)
    names = [name.strip() for name in text.split("+")]
    for name in names:
        if not name:
            raise UsageError(f"backend {text!r} has an empty name in it; write cpsat+pysat")
        if names.count(name) > 1:
            raise UsageError(f"backend {text!r} names {name} twice")
        if name == AUTO and len(names) > 1:
            raise UsageError(f"backend {text!r}: {AUTO} chooses by itself; write it alone")
    records = [manager.backend(name) for name in names]
    for record in records:
        if reason := _missing(record):
            raise PluginError(f"backend {record.name} cannot run here: {reason}")
    return records, tuple(names)


def _automatic(manager: PluginManager) -> tuple[list[BackendRecord], tuple[str, ...]]:
    reasons = []
    found: list[BackendRecord] = []
    for names in (_BEST, *((name,) for name in _OTHERS)):
        for name in names:
            if name not in manager.backends:
                reasons.append(f"{name}: no such backend is installed")
            elif reason := _missing(manager.backend(name)):
                reasons.append(f"{name}: {reason}")
            else:
                found.append(manager.backend(name))
        if found:
            here = {record.name for record in found}
            combining = tuple(n for n in _BEST_COMBINING if n in here) or tuple(here)
            return found, combining
    raise PluginError(f"backend {AUTO} finds no solver here: {'; '.join(reasons)}")


def passed_over(manager: PluginManager) -> list[str]:
    """Which of the backends that ``auto`` would ask are broken, and how, in a line each.

    One that is merely not installed is not among them.
    """
    told = []
    broken = {plugin.plugin: plugin for plugin in manager.broken}
    for name in _BEST:
        if name in manager.backends:
            record = manager.backend(name)
            answers = (record.installed(), record.licensed())
            told += [f"backend {name}: {a.reason}" for a in answers if a.failed][:1]
        elif name in broken:
            told.append(f"backend {name}: plugin {name} is broken: {broken[name].error}")
    return told


def _missing(record: BackendRecord) -> str:
    """Why a backend cannot run here; empty when it can."""
    for answer in (record.installed(), record.licensed()):
        if not answer.ok:
            return answer.reason
    return ""


def member_options(
    records: Sequence[BackendRecord], given: Mapping[str, object], text: str
) -> dict[str, dict[str, OptionValue]]:
    """The options of every backend by its name: the given values, or the defaults.

    Args:
        records: the backends.
        given: values by name; ``cpsat.probing`` is the option of one backend, ``probing`` that of
            the only one that has it.
        text: what was written for the backends, for errors.

    Raises:
        OptionError: on a name that no backend has, that two have, or a bad value.
    """
    chosen: dict[str, dict[str, object]] = {record.name: {} for record in records}
    for name, value in given.items():
        owner, dot, short = name.partition(".")
        if dot and owner not in chosen:
            raise OptionError(
                f"option {name!r} is one of backend {owner}, which backend {text} does not ask; "
                f"it asks {', '.join(chosen)}"
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
        return records[0].name  # which knows best what is wrong with an unknown name
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
