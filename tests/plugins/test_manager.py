"""The plugin manager: with any plugins installed, every working plugin can be used."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.errors import PluginError
from syncoll.formula import Feature
from syncoll.plugins import (
    Answer,
    BackendRecord,
    BoundRecord,
    EncodingRecord,
    PluginManager,
    SeedRecord,
    SpecLibraryRecord,
)
from syncoll.plugins.code import NamedCode
from syncoll.plugins.manager import hookimpl


def backend(name: str) -> BackendRecord:
    def load() -> Any:
        raise AssertionError("not needed")

    features = frozenset({Feature.CLAUSE})
    return BackendRecord(name, f"backend {name}", load, features, lambda: Answer(True))


def plugin(*records: Any) -> Any:
    return types.SimpleNamespace(RECORDS=list(records))


def test_every_kind_of_plugin_has_its_hook() -> None:
    """An error recommends the hook that is nearest to one that syncoll does not know."""

    class Named:
        @hookimpl
        def syncoll_bounds(self) -> list[BoundRecord]:
            return [BoundRecord("own", "a bound of our own", lambda: ...)]

    manager = PluginManager()
    manager.register(Named(), "named")
    assert list(manager.bounds) == ["own"]
    hooks = {name for name in vars(manager._pluggy.hook) if name.startswith("syncoll_")}
    kinds = "backends seeds bounds encodings spec_libraries importers exporters records"
    assert hooks == {f"syncoll_{kind}" for kind in kinds.split()}


Installer = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    """Puts a distribution with one plugin module on the path, as an installer would."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("broken_plugin", "stranger_plugin", "usurper"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    def install(distribution: str, module: str, text: str, entry: str = "") -> None:
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / f"{distribution}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        (info / "entry_points.txt").write_text(f"[syncoll]\n{entry or module} = {module}\n")

    return install


GOOD = """\
from syncoll.formula import Feature
from syncoll.plugins import Answer, BackendRecord

RECORD = BackendRecord(
    NAME, "a good one", "nowhere:Backend", frozenset({Feature.CLAUSE}), lambda: Answer(True)
)
RECORDS = [RECORD]
"""

HOOKED = """\
from syncoll.formula import Feature
from syncoll.plugins import Answer, BackendRecord, hookimpl

def load():
    raise AssertionError

RECORD = BackendRecord(
    "broken", "a good one", load, frozenset({Feature.CLAUSE}), lambda: Answer(True)
)

@hookimpl
def syncoll_backends():
    return [RECORD]
"""
"""A plugin that implements a hook."""


def good(name: str) -> str:
    return GOOD.replace("NAME", repr(name))


class TestDiscovery:
    def test_shipped_plugins_are_found_like_any_other(self) -> None:
        manager = PluginManager.discover()
        assert set(manager.backends) >= {"cpsat", "gurobi", "highs", "pysat", "z3"}
        assert set(manager.encodings) >= {"path", "step"}
        ours: list[BackendRecord | EncodingRecord] = [*manager.backends.values()]
        ours += manager.encodings.values()
        for record in ours:
            provenance = manager.provenance(record)
            assert provenance.distribution == "syncoll"
            assert provenance.version
            assert provenance.plugin == record.name
        assert not [broken for broken in manager.broken if broken.plugin in manager.backends]

    @pytest.mark.parametrize("last", ["RECORDS = [RECORD]", ""])
    def test_a_foreign_plugin_is_found(self, install: Installer, last: str) -> None:
        text = good("stranger").replace("RECORDS = [RECORD]", last)
        install("stranger-dist", "stranger_plugin", text)
        manager = PluginManager.discover()
        record = manager.backends["stranger"]
        assert str(manager.provenance(record)) == "plugin stranger_plugin (stranger-dist 1.2)"

    @pytest.mark.parametrize("hook", ["syncoll_backends", "syncoll_records"])
    def test_one_with_hooks_works(self, install: Installer, hook: str) -> None:
        install("stranger-dist", "stranger_plugin", HOOKED.replace("syncoll_backends", hook))
        manager = PluginManager.discover()
        provenance = manager.provenance(manager.backends["broken"])
        assert str(provenance) == "plugin stranger_plugin (stranger-dist 1.2)"

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("import no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
            ("def (", "SyntaxError"),
            ("raise SystemExit(3)", "SystemExit"),
            ("1 / 0", "ZeroDivisionError"),
            ("", "has no records; its entry point must lead to a module with a list `RECORDS`"),
            ("def syncoll_backends(): return []", "has no records"),
            (good("broken").replace("[RECORD]", "RECORD"), "BackendRecord, not a list of records"),
            (good("broken").replace("[RECORD]", "['z3']"), "a str in it, not a record"),
            (good("broken").replace("[RECORD]", "[RECORD, RECORD]"), "'broken' twice"),
            (good("broken").replace("'broken'", "' '"), "a BackendRecord named ' '"),
            (HOOKED.replace("backends()", "backends(solver)"), "has a wrong hook"),
            (HOOKED.replace("backends()", "backend()"), "(did you mean syncoll_backends?)"),
            (HOOKED.replace("backends()", "seeds()"), "a BackendRecord in it, not a SeedRecord"),
            (HOOKED.replace("[RECORD]", "RECORD"), "syncoll_backends of plugin broken"),
            (HOOKED.replace("return [", "return 1 / 0 + ["), "division by zero"),
            (HOOKED.replace("return [RECORD]", "yield 1 / 0"), "division by zero"),
        ],
    )
    def test_a_broken_one_is_reported_and_harms_no_other(
        self, install: Installer, text: str, complaint: str
    ) -> None:
        install("broken-dist", "broken_plugin", text, entry="broken")
        install("stranger-dist", "stranger_plugin", good("stranger"))
        manager = PluginManager.discover()
        (broken,) = [broken for broken in manager.broken if broken.plugin == "broken"]
        assert broken.distribution == "broken-dist"
        assert complaint in broken.error
        assert {"cpsat", "z3", "stranger"} <= set(manager.backends)
        assert "broken" not in manager.backends
        with pytest.raises(PluginError, match=r"not available, because plugin broken of broken"):
            manager.backends["broken"]

    def test_a_module_that_is_not_there(self, install: Installer, tmp_path: Path) -> None:
        install("broken-dist", "broken_plugin", "")
        (tmp_path / "broken_plugin.py").unlink()
        assert "broken_plugin" in [broken.plugin for broken in PluginManager.discover().broken]

    def test_a_traceback_is_kept(self, install: Installer) -> None:
        install("broken-dist", "broken_plugin", "1 / 0", entry="broken")
        (broken,) = [b for b in PluginManager.discover().broken if b.plugin == "broken"]
        assert "broken_plugin.py" in broken.details

    def test_a_name_of_two_owners_belongs_to_neither(self, install: Installer) -> None:
        install("usurper-dist", "usurper", good("z3"))
        manager = PluginManager.discover()
        assert "z3" not in manager.backends
        assert "cpsat" in manager.backends
        with pytest.raises(PluginError) as caught:
            manager.backends["z3"]
        assert "plugin z3 (syncoll " in str(caught.value)
        assert "plugin usurper (usurper-dist 1.2)" in str(caught.value)
        assert any("usurper-dist" in broken.error for broken in manager.broken)

    def test_an_entry_point_of_the_same_name_is_reported(self, install: Installer) -> None:
        install("usurper-dist", "usurper", good("another"), entry="z3")
        manager = PluginManager.discover()
        broken = [broken for broken in manager.broken if broken.plugin == "z3"]
        assert len(broken) == 1
        assert "registered already" in broken[0].error


class TestLookup:
    def test_the_message_lists_known_names(self) -> None:
        manager = PluginManager()
        manager.register(plugin(backend("alpha"), backend("beta")), "mine")
        with pytest.raises(PluginError) as caught:
            manager.backends["alfa"]
        assert str(caught.value) == (
            "there is no backend 'alfa' (did you mean alpha?); known backends: alpha, beta"
        )

    @pytest.mark.parametrize("point", ["encodings", "backends", "spec_libraries"])
    def test_an_empty_manager_knows_nothing(self, point: str) -> None:
        with pytest.raises(PluginError, match=r"known .*: none"):
            getattr(PluginManager(), point)["step"]

    def test_mappings_cannot_be_changed(self) -> None:
        backends: Any = PluginManager().backends
        with pytest.raises(TypeError):
            backends["x"] = 1

    def test_managers_are_independent(self) -> None:
        first, second = PluginManager(), PluginManager()
        first.register(plugin(backend("alpha")), "mine")
        assert not second.backends

    def test_a_foreign_record_has_no_provenance(self) -> None:
        with pytest.raises(PluginError, match="not a record of this manager"):
            PluginManager().provenance(backend("alpha"))


class TestRegister:
    def test_records_of_every_kind(self, tmp_path: Path) -> None:
        manager = PluginManager()
        library = SpecLibraryRecord("mine", "my specs", tmp_path)
        manager.register(plugin(backend("alpha"), library), "both")
        assert manager.backends["alpha"].summary == "backend alpha"
        assert manager.spec_libraries["mine"].folder == tmp_path
        provenance = manager.provenance(manager.backends["alpha"])
        assert str(provenance) == "plugin both (registered from Python)"

    def test_a_taken_name_is_an_error_and_adds_nothing(self) -> None:
        manager = PluginManager()
        manager.register(plugin(backend("alpha")), "first")
        with pytest.raises(PluginError, match=r"plugin first .* and by plugin second"):
            manager.register(plugin(backend("beta"), backend("alpha")), "second")
        assert set(manager.backends) == {"alpha"}
        assert not manager.broken
        manager.register(plugin(backend("beta")), "second")

    @pytest.mark.parametrize(
        "module",
        [types.SimpleNamespace(RECORDS=7), plugin(backend("x"), "y"), types.ModuleType("empty")],
    )
    def test_a_broken_one_is_an_error_and_adds_nothing(self, module: Any) -> None:
        manager = PluginManager()
        for _ in range(2):
            with pytest.raises(PluginError):
                manager.register(module, "mine")
        manager.register(plugin(backend("alpha")), "mine")

    def test_the_same_name_or_module_twice(self) -> None:
        manager, module = PluginManager(), plugin(backend("alpha"))
        manager.register(module, "mine")
        with pytest.raises(PluginError, match="registered already"):
            manager.register(plugin(backend("beta")), "mine")
        with pytest.raises(PluginError, match="registered already"):
            manager.register(module, "again")
        assert set(manager.backends) == {"alpha"}


def test_a_registry_is_a_mapping() -> None:
    manager = PluginManager()
    manager.register(plugin(backend("alpha"), backend("beta")), "mine")
    backends = manager.backends
    assert (list(backends), len(backends)) == (["alpha", "beta"], 2)
    assert dict(backends) == {"alpha": backends["alpha"], "beta": backends["beta"]}
    assert "gamma" not in backends
    assert backends.get("gamma") is None
    with pytest.raises(KeyError) as caught:
        backends["alpa"]
    assert isinstance(caught.value, PluginError)
    assert str(caught.value) == (
        "there is no backend 'alpa' (did you mean alpha?); known backends: alpha, beta"
    )


class TestNamedCode:
    def test_a_record_finds_a_function_a_class_and_an_object_by_name(self) -> None:
        record = SeedRecord(
            "x", "a seed", "syncoll_classics.seed:RING", fits="syncoll_classics.seed:RING.fits"
        )
        assert callable(record.load().propose)
        assert replace(record, name="y").load is not None
        packer = SeedRecord("x", "a seed", "nowhere:X", forest="fractions:Fraction")
        assert packer.forest is not None
        with pytest.raises(PluginError, match="seed x failed in `load`: ModuleNotFoundError"):
            packer.load()
        with pytest.raises(PluginError, match="seed x failed in `load`: AttributeError"):
            replace(packer, load="fractions:Seed").load()

    def test_it_can_be_pickled_and_compared(self) -> None:
        load = NamedCode("fractions", "Fraction")
        assert pickle.loads(pickle.dumps(load)) == load
        assert load(1, 2) == Fraction(1, 2)

    @pytest.mark.parametrize("field", ["load", "features", "installed"])
    def test_a_field_without_default_is_required(self, field: str) -> None:
        given = {"load": "a:b", "features": frozenset(Feature), "installed": "a:c"}
        del given[field]
        with pytest.raises(TypeError, match=field):
            BackendRecord("x", "a backend", **given)  # type: ignore[arg-type]
