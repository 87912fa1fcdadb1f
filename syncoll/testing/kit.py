"""The common part of all kits: named checks, as a list of failures or as pytest tests.

A check is a function of its subject; its docstring states its demand.  It raises
`ConformanceError`, through `demand`, if the subject violates it.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from syncoll.errors import OptionError, SyncollError
from syncoll.plugins import Option, resolve_options
from syncoll.plugins.code import NamedCode
from syncoll.processes import python_command

_S = TypeVar("_S")
_Check = Callable[[Any], None]


class ConformanceError(AssertionError):
    """A plugin violates the demand of a check."""


def demand(holds: bool, message: str) -> None:
    """Fails the check unless a condition holds; raises `ConformanceError` with the message."""
    if not holds:
        raise ConformanceError(message)


class Failure(NamedTuple):
    """A failed check: its name, its demand, and the actual behaviour."""

    check: str
    demand: str
    message: str


def checks_of(module: str, *shared: _Check, **named: _Check) -> dict[str, _Check]:
    """Shared checks, and the module's own above this call, by name: the function's name after
    ``check_``, or the given one."""
    defined = (one for name, one in vars(sys.modules[module]).items() if name.startswith("check_"))
    every = [*shared, *(one for one in defined if one.__module__ == module)]
    return {check.__name__.removeprefix("check_"): check for check in every} | named


def failures(checks: Mapping[str, Callable[[_S], None]], subject: _S) -> list[Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    found: list[Failure] = []
    for name, check in checks.items():
        try:
            check(subject)
        except (ConformanceError, SyncollError) as error:
            found.append(Failure(name, (check.__doc__ or "").strip(), str(error)))
    return found


class Conformance:
    """Checks as a class of tests for pytest: subclass the kit's and set `record`.

    Every check is a method ``test_…``; `skips` excuses a plugin from checks, with the reason.
    """

    skips: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The names of the excused checks, by reason."""

    record: ClassVar[Any]
    """The plugin's."""

    def subject(self) -> Any:
        """The subject of the checks."""
        return self.record

    def __init_subclass__(
        cls, checks: Mapping[str, Callable[[Any], None]] | None = None, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        for name, check in (checks or {}).items():
            setattr(cls, f"test_{name}", _as_method(name, check))


def _as_method(name: str, check: Callable[[Any], None]) -> Callable[[Conformance], None]:
    def method(self: Conformance) -> None:
        for reason, names in self.skips.items():
            if name in names:
                importlib.import_module("pytest").skip(reason)
        check(self.subject())

    method.__name__ = f"test_{name}"
    method.__doc__ = check.__doc__
    return method


# Checks of any record --------------------------------------------------------------------------


def check_options(subject: Any) -> None:
    """A one-line summary, and an option table without unknown names, whose options explain
    themselves."""
    record = getattr(subject, "record", subject)
    options = getattr(record, "options", ())
    demand(bool(record.summary) and "\n" not in record.summary, "its summary is not one line")
    try:
        resolve_options(options, {"no-such-option": 1}, record.name)
    except OptionError:
        pass
    else:
        raise ConformanceError("it has an option named no-such-option")
    for option in options:
        demand(bool(option.summary), f"option {option.name} has no summary")


def values(option: Option) -> list[object]:
    """The values of an option worth testing: default, choices, ends of the range."""
    if isinstance(option.default, bool):
        return [True, False]
    if isinstance(option.default, str):
        return list(option.choices) or [option.default]
    return [option.default, *(end for end in (option.low, option.high) if end is not None)]


_LIGHT_SCRIPT = """\
import syncoll.plugins
before = set(sys.modules)
import importlib
importlib.import_module(sys.argv[1])
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def check_light(subject: Any) -> None:
    """Importing the record's module only imports syncoll, its own package, and Python's.

    Every start of the program imports every record; solvers and readers wait for `load`.
    """
    load = getattr(subject, "record", subject).load
    load = getattr(load, "function", load)  # as the record guards it
    module = load.module if isinstance(load, NamedCode) else load.__module__
    own = module.partition(".")[0]
    run = subprocess.run(
        python_command(_LIGHT_SCRIPT, own), capture_output=True, text=True, timeout=120, check=False
    )
    demand(run.returncode == 0, f"importing {own} alone fails:\n{run.stderr}")
    names = {name.partition(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}
    heavy = names - {own, "syncoll"} - set(sys.stdlib_module_names)
    demand(not heavy, f"importing {own} imports {', '.join(sorted(heavy))}; let its `load` do that")
