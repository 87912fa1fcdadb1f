"""Registry: the records of one plug point by name, and why a name is not among them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from syncoll.errors import PluginError, UnknownPluginError

__all__ = ["BrokenPlugin", "Provenance", "Registry", "did_you_mean"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_R = TypeVar("_R", bound=_Named)


@dataclass(frozen=True)
class Provenance:
    """Where a record comes from.

    Args:
        plugin: the plugin's name: its entry point's, or the one it was registered under.
        distribution: the installed one; empty, as the version, for one registered from Python.
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
        error: what is wrong with it, in one line or a few.
        details: the traceback, where there is one.
    """

    plugin: str
    distribution: str
    error: str
    details: str = ""


class Registry(dict[str, _R]):
    """The records of one plug point by name: ``manager.backends["z3"]``.

    A name that is not there is an `UnknownPluginError` that says why: nobody has it (perhaps there
    is a similar one), its plugin is broken, or two claim it, in which case it belongs to neither.

    Args:
        record_type: of the records.
        noun: for one of them, in messages.
        plural: for several.
        broken: the plugins that were set aside, also later.
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
        """Where a record comes from; `PluginError` when it is not one of these."""
        if self.get(record.name) is record:
            return self._owners[record.name][0]
        raise PluginError(f"{record.name} is not a record of this manager")

    def claimed(self, name: str) -> bool:
        """Whether any plugin has this name, be it twice."""
        return name in self._owners

    def claimed_twice(self, name: str, *more: Provenance) -> str:
        """The error of a name that two plugins claim, with those who do not have it yet."""
        owners = " and by ".join(map(str, [*self._owners[name], *more]))
        return f"{self._noun} {name!r} is registered by {owners}; uninstall or rename one of them"

    def add(self, record: _R, owner: Provenance) -> bool:
        """Adds a record; False where its name is taken, which then belongs to neither."""
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
