"""The plugin manager: finds plugins, keeps the errors of broken ones, hands out records by name.

It hides pluggy, whose stock behaviour does not fit a command line tool: there, one plugin that
cannot be imported ends the discovery of all, and two records of one name go unnoticed.  Here

* a plugin that is broken in any way (import or syntax error, an exception or an exit in a hook, a
  misspelt hook, a record of the wrong type) is set aside with its error, and the others work on;
* a name that two plugins claim belongs to neither: asking for it is an error naming both.

There is no global manager: whoever needs one makes it, or is given it.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import re
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import pluggy

from syncoll.errors import PluginError, SyncollError
from syncoll.plugins.exporters import ExporterRecord
from syncoll.plugins.guard import calling
from syncoll.plugins.hooks import PROJECT, HookSpecs
from syncoll.plugins.importers import ImporterRecord
from syncoll.plugins.records import BackendRecord, EncodingRecord, SeedRecord, SpecLibraryRecord

__all__ = ["BrokenPlugin", "PluginManager", "Provenance"]

Record = (
    EncodingRecord
    | BackendRecord
    | SeedRecord
    | SpecLibraryRecord
    | ImporterRecord
    | ExporterRecord
)
_R = TypeVar(
    "_R",
    EncodingRecord,
    BackendRecord,
    SeedRecord,
    SpecLibraryRecord,
    ImporterRecord,
    ExporterRecord,
)


@dataclass(frozen=True)
class Provenance:
    """Where a record comes from.

    Args:
        plugin: the plugin's name: its entry point's, or the one it was registered under.
        distribution: the installed distribution; empty for one registered from Python.
        version: of the distribution.
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


@dataclass
class _Registry(Generic[_R]):
    """The records of one plug point, with their owners."""

    noun: str
    plural: str
    record_type: type[_R]
    records: dict[str, _R] = field(default_factory=dict)
    owners: dict[str, list[Provenance]] = field(default_factory=dict)


class PluginManager:
    """Encodings, backends, seeds, spec libraries, importers and exporters by name.

    An empty one knows nothing; `discover` finds what is installed.
    """

    def __init__(self) -> None:
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(HookSpecs)
        self._encodings = _Registry("encoding", "encodings", EncodingRecord)
        self._backends = _Registry("backend", "backends", BackendRecord)
        self._seeds = _Registry("seed", "seeds", SeedRecord)
        self._spec_libraries = _Registry("spec library", "spec libraries", SpecLibraryRecord)
        self._importers = _Registry("importer", "importers", ImporterRecord)
        self._exporters = _Registry("exporter", "exporters", ExporterRecord)
        self._broken: list[BrokenPlugin] = []

    @classmethod
    def discover(cls) -> PluginManager:
        """A manager of every installed plugin; imports no solver and never fails on a plugin."""
        manager = cls()
        points = importlib.metadata.entry_points(group=PROJECT)
        # Each look at a distribution's name parses all its metadata, a README included.
        known: dict[int, tuple[str, str]] = {}
        for point in sorted(points, key=lambda p: (p.name, p.value)):
            dist = point.dist
            if dist is not None and id(dist) not in known:
                known[id(dist)] = dist.name, dist.version
            manager._load(point, *known.get(id(dist), ("", "")))
        return manager

    @property
    def encodings(self) -> Mapping[str, EncodingRecord]:
        """Every encoding by name."""
        return MappingProxyType(self._encodings.records)

    @property
    def backends(self) -> Mapping[str, BackendRecord]:
        """Every backend by name."""
        return MappingProxyType(self._backends.records)

    @property
    def seeds(self) -> Mapping[str, SeedRecord]:
        """Every seed by name."""
        return MappingProxyType(self._seeds.records)

    @property
    def spec_libraries(self) -> Mapping[str, SpecLibraryRecord]:
        """Every spec library by name."""
        return MappingProxyType(self._spec_libraries.records)

    @property
    def importers(self) -> Mapping[str, ImporterRecord]:
        """Every importer by name."""
        return MappingProxyType(self._importers.records)

    @property
    def exporters(self) -> Mapping[str, ExporterRecord]:
        """Every exporter by name."""
        return MappingProxyType(self._exporters.records)

    @property
    def broken(self) -> tuple[BrokenPlugin, ...]:
        """Plugins that were set aside, and names that two plugins claim."""
        return tuple(self._broken)

    def encoding(self, name: str) -> EncodingRecord:
        """The encoding of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._encodings, name)

    def backend(self, name: str) -> BackendRecord:
        """The backend of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._backends, name)

    def seed(self, name: str) -> SeedRecord:
        """The seed of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._seeds, name)

    def spec_library(self, name: str) -> SpecLibraryRecord:
        """The spec library of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._spec_libraries, name)

    def importer(self, name: str) -> ImporterRecord:
        """The importer of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._importers, name)

    def exporter(self, name: str) -> ExporterRecord:
        """The exporter of this name.

        Raises:
            PluginError: when there is none, it is broken, or two plugins claim the name.
        """
        return self._find(self._exporters, name)

    def provenance(self, record: Record) -> Provenance:
        """Where a record comes from.

        Raises:
            PluginError: when this manager does not know the record.
        """
        registry = self._registry_of(record)
        if registry.records.get(record.name) is record:
            return registry.owners[record.name][0]
        raise PluginError(f"{record.name} is not a record of this manager")

    def is_ours(self, record: Record) -> bool:
        """Whether a record comes with syncoll itself.

        Raises:
            PluginError: when this manager does not know the record.
        """
        return self.provenance(record).distribution == PROJECT

    def register(self, plugin: object, name: str) -> None:
        """Adds a plugin from Python: a module or any object with hook implementations.

        Args:
            plugin: its functions or methods marked with `hookimpl` are the hooks.
            name: of the plugin, for messages.

        Raises:
            PluginError: when it is broken, or a name of its records is taken; nothing is added.
        """
        with calling(f"plugin {name}"):
            records = self._collect(plugin, name)
        owner = Provenance(name)
        for record in records:
            registry = self._registry_of(record)
            if record.name in registry.owners:
                self._pluggy.unregister(plugin)
                raise PluginError(
                    _claimed_twice(registry, record.name, [*registry.owners[record.name], owner])
                )
        for record in records:
            self._add(record, owner)

    def _load(self, point: importlib.metadata.EntryPoint, distribution: str, version: str) -> None:
        owner = Provenance(point.name, distribution, version)
        try:
            with calling(f"plugin {point.name}"):
                records = self._collect(point.load(), point.name)
        # A plugin's own exit must not end the program; an interrupt is the user's.
        except (SyncollError, MemoryError) as error:
            cause = error.__cause__ or error
            details = "" if cause is error else "".join(traceback.format_exception(cause))
            # Wherever this is told the plugin is named already.
            named = f"plugin {point.name}"
            told = str(error).removeprefix(f"{named} failed: ").removeprefix(f"{named}: ")
            self._set_aside(owner, told or type(error).__name__, details)
        else:
            for record in records:
                self._add(record, owner)

    def _collect(self, plugin: object, name: str) -> list[Record]:
        """Registers with pluggy and calls the plugin's hooks.

        Raises:
            PluginError: when anything about it is wrong; it is not registered then.
        """
        if self._pluggy.has_plugin(name):
            raise PluginError(f"a plugin named {name} is registered already")
        try:
            self._pluggy.register(plugin, name)
        except ValueError as error:
            raise PluginError(f"plugin {name} is registered already: {error}") from error
        except pluggy.PluginValidationError as error:
            if self._pluggy.is_registered(plugin):  # older versions leave it half registered
                self._pluggy.unregister(plugin)
            raise PluginError(f"plugin {name} has a wrong hook: {error}") from error
        try:
            self._check_hooks(plugin, name)
            return self._call_hooks(plugin, name)
        except BaseException:
            self._pluggy.unregister(plugin)
            raise

    def _check_hooks(self, plugin: object, name: str) -> None:
        known = [hook for hook in vars(HookSpecs) if hook.startswith(f"{PROJECT}_")]
        try:
            self._pluggy.check_pending()
        except pluggy.PluginValidationError:
            callers = self._pluggy.get_hookcallers(plugin) or []
            wrong = [caller.name for caller in callers if caller.name not in known]
            raise PluginError(
                f"plugin {name} implements {', '.join(wrong)}, which is no hook"
                f"{_did_you_mean(wrong[0] if wrong else '', known)}; the hooks are: "
                + ", ".join(known)
            ) from None
        if not self._pluggy.get_hookcallers(plugin):
            raise PluginError(
                f"plugin {name} implements no hook; mark its functions with "
                f"syncoll.plugins.hookimpl; the hooks are: {', '.join(known)}"
            )

    def _call_hooks(self, plugin: object, name: str) -> list[Record]:
        others = [other for other in self._pluggy.get_plugins() if other is not plugin]
        result: list[Record] = []
        for caller in self._pluggy.get_hookcallers(plugin) or []:
            one = self._pluggy.subset_hook_caller(caller.name, others)
            expected = _RECORD_TYPES[caller.name]
            with calling(f"plugin {name}", caller.name):
                # One plugin has one implementation; pluggy leaves out a result that is None.
                returned = [_listed(records) for records in one()] or [None]
            for records in returned:
                if not isinstance(records, Iterable):
                    raise PluginError(
                        f"{caller.name} of plugin {name} returned "
                        f"{type(records).__name__}, not a list of {expected.__name__}"
                    )
                for record in records:
                    if not isinstance(record, expected):
                        raise PluginError(
                            f"{caller.name} of plugin {name} returned a "
                            f"{type(record).__name__} in its list, not a {expected.__name__}"
                        )
                    if not _NAME.fullmatch(record.name):
                        raise PluginError(
                            f"{caller.name} of plugin {name} returned a {expected.__name__} "
                            f"named {record.name!r}; a name starts with a letter or digit, and "
                            "goes on with these or any of _ . -"
                        )
                    result.append(record)
        names = [(type(record), record.name) for record in result]
        for record in result:
            if names.count((type(record), record.name)) > 1:
                raise PluginError(f"plugin {name} registers {record.name!r} twice")
        return result

    def _add(self, record: Record, owner: Provenance) -> None:
        registry = self._registry_of(record)
        owners = registry.owners.setdefault(record.name, [])
        owners.append(owner)
        if len(owners) == 1:
            registry.records[record.name] = record
        else:
            registry.records.pop(record.name, None)
            self._set_aside(owner, _claimed_twice(registry, record.name, owners))

    def _registry_of(self, record: Record) -> _Registry[Any]:
        registries: tuple[_Registry[Any], ...] = (
            self._encodings,
            self._backends,
            self._seeds,
            self._spec_libraries,
            self._importers,
            self._exporters,
        )
        return next(r for r in registries if isinstance(record, r.record_type))

    def _set_aside(self, owner: Provenance, error: str, details: str = "") -> None:
        self._broken.append(BrokenPlugin(owner.plugin, owner.distribution, error, details))

    def _find(self, registry: _Registry[_R], name: str) -> _R:
        if name in registry.records:
            return registry.records[name]
        if name in registry.owners:
            raise PluginError(_claimed_twice(registry, name, registry.owners[name]))
        for broken in self._broken:
            if broken.plugin == name:
                origin = f" of {broken.distribution}" if broken.distribution else ""
                raise PluginError(
                    f"{registry.noun} {name} is not available, because plugin {name}{origin} "
                    f"is broken: {broken.error}"
                )
        known = sorted(registry.records)
        aside = sorted({broken.plugin for broken in self._broken})
        raise PluginError(
            f"there is no {registry.noun} {name!r}{_did_you_mean(name, known)}; "
            f"known {registry.plural}: {', '.join(known) or 'none'}"
            + (f"; set aside as broken: {', '.join(aside)}" if aside else "")
        )


_RECORD_TYPES: dict[str, type[Record]] = {
    "syncoll_encodings": EncodingRecord,
    "syncoll_backends": BackendRecord,
    "syncoll_seeds": SeedRecord,
    "syncoll_spec_libraries": SpecLibraryRecord,
    "syncoll_importers": ImporterRecord,
    "syncoll_exporters": ExporterRecord,
}


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _claimed_twice(registry: _Registry[Any], name: str, owners: list[Provenance]) -> str:
    return (
        f"{registry.noun} {name!r} is registered by {' and by '.join(map(str, owners))}; "
        "uninstall or rename one of them"
    )


def _did_you_mean(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _listed(records: object) -> object:
    """A hook's result, run through where it is lazy: what it raises on the way is the plugin's."""
    return list(records) if isinstance(records, Iterable) else records
