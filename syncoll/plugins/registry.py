"""Registry: the records of one plug point by name, and the reason if a name is missing."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from syncoll.errors import PluginError, UnknownPluginError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_R = TypeVar("_R", bound=_Named)


@dataclass(frozen=True)
class Provenance:
    """Where a record comes from.

    Args:
        plugin: the plugin's name: that of its entry point, or the registered one.
        distribution: the installed distribution; empty, as the version, if registered from Python.
    """

    plugin: str
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        if not self.distribution:
            return f"plugin {self.plugin} (registered from Python)"
        return f"plugin {self.plugin} ({self.distribution} {self.version})"


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that was set aside.

    Args:
        plugin: its name.
        distribution: the installed distribution; empty for one registered from Python.
        error: the fault, in one line or a few.
        details: the traceback, if there is one.
    """

    plugin: str
    distribution: str
    error: str
    details: str = ""


class Registry(dict[str, _R]):
    """The records of one plug point by name: ``manager.backends["z3"]``.

    A missing name raises an `UnknownPluginError` with the reason.  No plugin has the name (the
    message suggests a similar one), its plugin is broken, now or later, or two plugins claim it.
    """

    def __init__(
        self, record_type: type[_R], noun: str, plural: str, broken: Sequence[BrokenPlugin]
    ) -> None:
        super().__init__()
        self.record_type = record_type
        self._noun, self._plural = noun, plural
        self._broken = broken
        self._owners: dict[str, list[Provenance]] = {}

    def __missing__(self, name: str) -> _R:
        raise UnknownPluginError(self._why_not(name))

    def _why_not(self, name: str) -> str:
        if name in self._owners:
            return self.claimed_twice(name)
        for broken in self._broken:
            if broken.plugin == name:
                origin = f" of {broken.distribution}" if broken.distribution else ""
                return (
                    f"{self._noun} {name} is not available, because plugin {name}{origin} "
                    f"is broken: {broken.error}"
                )
        known = sorted(self)
        aside = sorted({broken.plugin for broken in self._broken})
        return (
            f"there is no {self._noun} {name!r}{did_you_mean(name, known)}; "
            f"known {self._plural}: {', '.join(known) or 'none'}"
            + (f"; set aside as broken: {', '.join(aside)}" if aside else "")
        )

    def owner(self, record: _R) -> Provenance:
        """Where a record comes from; `PluginError` if it is not in this registry."""
        if self.get(record.name) is record:
            return self._owners[record.name][0]
        raise PluginError(f"{record.name} is not a record of this manager")

    def claimed(self, name: str) -> bool:
        """Whether one or more plugins have this name."""
        return name in self._owners

    def claimed_twice(self, name: str, *more: Provenance) -> str:
        """Error for a name that two plugins claim, with further claimants."""
        owners = " and by ".join(map(str, [*self._owners[name], *more]))
        return f"{self._noun} {name!r} is registered by {owners}; uninstall or rename one of them"

    def add(self, record: _R, owner: Provenance) -> bool:
        """Adds a record; False if its name is taken: neither plugin has the name then."""
        owners = self._owners.setdefault(record.name, [])
        owners.append(owner)
        if len(owners) > 1:
            self.pop(record.name, None)
            return False
        self[record.name] = record
        return True


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """``(did you mean z3?)`` with a space before it, or nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
