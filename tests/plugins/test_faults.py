"""A faulty plugin is named and set aside, and no other command changes.

Every fault is planted in every function of a plugin.  All of them are installed at once.  Commands
that need none of them must answer as before, and a command that names one must print its name and
its error.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields as fields_of, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main
from syncoll.errors import OutOfTimeError, PluginError
from syncoll.formula import Feature
from syncoll.model import Algorithm, Fabric
from syncoll.plugins import (
    Answer,
    BackendRecord,
    BoundRecord,
    CheckedExport,
    EncodingRecord,
    ExportCounts,
    Exported,
    ExporterRecord,
    Imported,
    ImporterRecord,
    NetworkCard,
    Option,
    PluginManager,
    Proposal,
    Rank,
    SeedRecord,
    SpecLibraryRecord,
    exporters,
    hookimpl,
    importers,
    options,
    records,
)
from syncoll.plugins.guard import GuardedQuestion

sys.path.insert(0, str(Path(__file__).parent / "fakes"))  # a worker process finds it there too

from faults import FAULTS  # type: ignore[import-not-found]

Fault = Callable[..., Any]
RUNNING = "ring(2)", "broadcast", "-C", "1", "-S", "1", "-R", "1"


@dataclass(frozen=True)
class Point:
    """An entry point that no installer wrote."""

    name: str
    load: Callable[[], Any]
    value: str = "strange"
    dist: Any = None


@dataclass(frozen=True)
class Place:
    """Where a fault is planted.

    Args:
        make: the records of a plugin of this name with this fault.
        chosen: the command that uses it.
    """

    make: Callable[[str, Fault], Any]
    chosen: tuple[str, ...]


def yes(*_: object) -> Answer:
    return Answer(True)


def known(*_: object) -> bool:
    return True


class Loaded:
    """A plugin's object; some of its methods have the chosen fault."""

    def __init__(self, **methods: Fault) -> None:
        for name, fault in methods.items():
            setattr(self, name, lambda *_, fault=fault, **__: fault())


def backend(field: str) -> Callable[[str, Fault], Any]:
    def make(name: str, fault: Fault) -> Any:
        act: Any = fault if field == "load" else lambda *_: fault()
        fields: dict[str, Any] = {"load": FAULTS["text"][0], "installed": yes, field: act}
        every = frozenset(Feature)
        return BackendRecord(name, "a backend", features=every, **fields)

    return make


def seed(field: str, method: str = "") -> Callable[[str, Fault], Any]:
    def make(name: str, fault: Fault) -> Any:
        act = (lambda: Loaded(**{method: fault})) if method else (lambda *_: fault())
        fields: dict[str, Any] = {"load": FAULTS["text"][0], field: act}
        return SeedRecord(name, "a seed", **fields)

    return make


def importer(field: str, method: str = "") -> Callable[[str, Fault], Any]:
    def make(name: str, fault: Fault) -> Any:
        act = (lambda: Loaded(**{method: fault})) if method else (lambda *_: fault())
        fields: dict[str, Any] = {"load": FAULTS["text"][0], field: act}
        return ImporterRecord(name, "an importer", **fields)

    return make


def exporter(field: str, method: str = "") -> Callable[[str, Fault], Any]:
    def make(name: str, fault: Fault) -> Any:
        act = (lambda: Loaded(**{method: fault})) if method else (lambda *_: fault())
        load = lambda: Loaded(export=lambda: Exported({"a": b""}))  # noqa: E731
        fields: dict[str, Any] = {"load": load, "load_checker": load, field: act}
        return ExporterRecord(name, "an exporter", **fields)

    return make


def encoding(method: str = "") -> Callable[[str, Fault], Any]:
    def make(name: str, fault: Fault) -> Any:
        act = (lambda: Loaded(**{method: fault})) if method else fault
        return EncodingRecord(name, "an encoding", act)

    return make


SOLVE = ("solve", *RUNNING, "--backend", "{name}")
SEARCH = ("pareto", "ring(2)", "broadcast", "--backend", "{name}")
EXPORT = ("export", "{frontier}", "--to", "{name}", "-o", "{folder}/out")
VERIFY = ("verify", "{frontier}", "--as", "{name}")
IMPORT = ("import", "{name}", "{frontier}")
EXPLAIN = ("explain", *RUNNING, "--encoding", "{name}")
FOREST = ("forest", "ring(2)", "--backend", "{name}")

PLACES: dict[str, Place] = {
    "backend-installed": Place(backend("installed"), SOLVE),
    "backend-licensed": Place(backend("licensed"), SOLVE),
    "backend-can_run": Place(backend("can_run"), SOLVE),
    "backend-load": Place(backend("load"), SOLVE),
    "seed-installed": Place(seed("installed"), SEARCH),
    "seed-fits": Place(seed("fits"), SEARCH),
    "seed-load": Place(seed("load"), SEARCH),
    "seed-propose": Place(seed("load", "propose"), SEARCH),
    "seed-forest": Place(seed("forest"), FOREST),
    "seed-pack": Place(seed("forest", "pack"), FOREST),
    "importer-load": Place(importer("load"), IMPORT),
    "importer-read": Place(importer("load", "read"), IMPORT),
    "importer-recognises": Place(importer("recognises"), ("plugins",)),
    "exporter-installed": Place(exporter("installed"), EXPORT),
    "exporter-load": Place(exporter("load"), EXPORT),
    "exporter-export": Place(exporter("load", "export"), EXPORT),
    "exporter-load_checker": Place(exporter("load_checker"), VERIFY),
    "exporter-check": Place(exporter("load_checker", "check"), VERIFY),
    "exporter-recognises": Place(exporter("recognises"), ("plugins",)),
    "encoding-load": Place(encoding(), EXPLAIN),
    "encoding-encode": Place(encoding("encode"), EXPLAIN),
}
MATRIX = [(place, fault) for place in PLACES for fault in FAULTS]


def plugin(*records: Any) -> Any:
    return types.SimpleNamespace(RECORDS=records)


def hooked(hook: Callable[[], Any]) -> Any:
    """A plugin that implements a hook."""
    return types.SimpleNamespace(syncoll_records=hookimpl(lambda: hook()))


def name_of(place: str, fault: str) -> str:
    return f"{fault}-in-{place}"


def strangers(folder: Path) -> Iterator[Point]:
    """Every broken plugin."""
    for place, fault in MATRIX:
        name, act = name_of(place, fault), FAULTS[fault][0]
        record = PLACES[place].make(name, act)
        yield Point(name, lambda record=record: plugin(record))
    for fault, (act, _) in FAULTS.items():
        yield Point(name_of("import", fault), act)
        yield Point(name_of("hook", fault), lambda act=act: hooked(act))
    library = SpecLibraryRecord("house", "machines", folder / "house")
    gone = SpecLibraryRecord("gone", "machines", folder / "gone")
    yield Point("a-house", lambda: plugin(library, gone))

    def noisy() -> Any:
        sys.stdout.write("noise at import\n")
        return hooked(lambda: sys.stdout.write("noise") and [loud])

    def chatty(*_: object) -> Any:
        sys.stdout.write("noise in an answer\n")
        return Answer(True)

    def gossip() -> Any:
        sys.stdout.write("noise while loading\n")
        return Loaded(propose=lambda: [] if sys.stdout.write("noise") else None)

    loud = SeedRecord("loud", "a seed", gossip, installed=chatty, fits=chatty)
    yield Point("noisy", noisy)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frontier, an export of it, a spec of a machine, and a library full of faults."""
    folder = tmp_path_factory.mktemp("faults")
    frontier = str(folder / "frontier.json")
    assert main(["pareto", "ring(2)", "broadcast", "--store", "none", "-o", frontier]) == 0
    export = ["export", frontier, "--to", "msccl-xml", "--point", "0", "-o"]
    assert main([*export, str(folder / "export.xml")]) == 0
    house = folder / "house"
    house.mkdir()
    (house / "broken.syncoll").write_text(
        "topology ring(n) {\n    nodes n n\n}\ntopology wreck { nodes 2 }\ncollective allgather {\n"
    )
    (house / "shadow.syncoll").write_text(
        "topology dgx1 { nodes 2 }\ncollective broadcast(root = 0) { chunks C pre All post All }\n"
    )
    (house / "bytes.syncoll").write_bytes(b"\xff\xfetopology line(n) {}\x00")
    (house / "folder.syncoll").mkdir()
    (house / "right.syncoll").write_text(
        "topology cottage { nodes 2 link (0, 1) both ways bandwidth 1 }\n"
    )
    return folder


@pytest.fixture(scope="module")
def everything(folder: Path) -> PluginManager:
    """The records that are found with every broken plugin installed next to ours."""
    with pytest.MonkeyPatch.context() as patch:
        points = [*importlib.metadata.entry_points(group="syncoll"), *strangers(folder)]
        patch.setattr(importlib.metadata, "entry_points", lambda group: points)
        return PluginManager.discover()


@pytest.fixture
def installed(everything: PluginManager, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Installs every broken plugin at once."""
    monkeypatch.setenv("SYNCOLL_STORE", "none")

    def install() -> None:
        monkeypatch.setattr(PluginManager, "discover", classmethod(lambda _: everything))

    return install


_WHO_AND_WHEN = re.compile(
    r"[0-9.]+ s\b|\b[0-9]+[.][0-9]{3}\b|^Encoding.*|─+|"
    r"\b(?:start|build|encode|lower|load|solve|check) [0-9.]+,?",
    re.MULTILINE,
)


def words(text: str) -> list[str]:
    """The words of an output, without the names of plugins, times, and the widths of columns."""
    if text.startswith("{"):
        document = json.loads(text)
        points = [[p["steps"], p["rounds"], p["chunks"]] for p in document.get("points", [])]
        return [document["schema"], *map(str, [points, document.get("open")])]
    return _WHO_AND_WHEN.sub("", text).split()


COMMANDS = {
    "pareto": ("pareto", "ring(2)", "broadcast", "--format", "json"),
    "auto": ("solve", *RUNNING),
    "solve": ("solve", *RUNNING, "--backend", "pysat"),
    "show": ("show", "dgx1"),
    "spec list": ("spec", "list"),
    "spec check": ("spec", "check", "{folder}/house/right.syncoll"),
    "export": ("export", "{frontier}", "--to", "msccl-xml", "-o", "{folder}/again"),
    "import": ("import", "msccl-topology", "{folder}/none"),
    "explain": ("explain", *RUNNING),
    "verify": ("verify", "{frontier}"),
    "verify an export": ("verify", "{folder}/export.xml"),
    "check": ("check", "{frontier}"),
    "forest": ("forest", "ring(2)"),
    "bounds": ("bounds", "ring(2)", "broadcast"),
    "store": ("store",),
    "help": ("--help",),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_needs_none_of_them_answers_as_before(
    command: str, folder: Path, installed: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        word.format(folder=folder, frontier=folder / "frontier.json") for word in COMMANDS[command]
    ]

    def answer() -> tuple[int, list[str], str]:
        try:
            code = main(arguments)
        except SystemExit as end:  # of --help
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, words(said.out), said.err

    before = answer()
    installed()
    code, out, err = answer()
    assert "Traceback" not in err
    assert "noise" not in out
    if command == "spec list":
        assert "cottage" in out
        assert err.count("broken.syncoll:2") == 1
        return
    assert (code, out) == before[:2], err
    notes = [line for line in err.splitlines() if line.startswith("syncoll: ")]
    assert len(set(notes)) == len(notes), "a note is given once"


@pytest.mark.parametrize(("place", "fault"), MATRIX, ids=lambda value: str(value))
def test_the_one_that_was_chosen_gives_its_name_and_its_error(
    place: str,
    fault: str,
    folder: Path,
    installed: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, (_, says) = name_of(place, fault), FAULTS[fault]
    installed()
    frontier = str(folder / "frontier.json")
    chosen = PLACES[place].chosen
    code = main([word.format(name=name, folder=folder, frontier=frontier) for word in chosen])
    said = capsys.readouterr()
    text = " ".join((said.out if chosen == ("plugins",) else said.err).split())
    assert "Traceback" not in said.err
    assert name in text
    assert says in text
    assert code == (0 if chosen == ("plugins",) else 2)


def test_each_is_listed_with_its_error(
    installed: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    installed()
    assert main(["plugins", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    broken = {one["plugin"]: one["error"] for one in document["broken"]}
    assert set(broken) == {name_of(place, f) for place in ("import", "hook") for f in FAULTS}
    for place in ("import", "hook"):
        for fault, (_, says) in FAULTS.items():
            assert (says if place == "hook" else "") in broken[name_of(place, fault)]
    entries = {one["name"]: one for one in document["plugins"]}
    for place in ("backend-installed", "seed-installed", "exporter-installed"):
        for fault, (_, says) in FAULTS.items():
            entry = entries[name_of(place, fault)]
            assert not entry["able"]
            assert says in entry["installed"]["reason"]
    assert "broken.syncoll:2" in entries["house"]["problem"]
    assert "there is no folder" in entries["gone"]["problem"]


@pytest.mark.parametrize(
    ("reference", "code", "says"),
    [
        ("ring(4)", 0, "passed over a file that may also define `ring`"),
        ("dgx1", 0, "topology `dgx1` is already defined in"),
        ("cottage", 0, ""),
        ("wreck", 2, "broken.syncoll:2"),
    ],
)
def test_a_library_takes_no_name_from_another(
    reference: str,
    code: int,
    says: str,
    installed: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed()
    assert main(["show", reference]) == code
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("syncoll: ")]
    assert len(notes) == (1 if says else 0)
    assert says in "".join(notes)


def test_the_user_sees_where_an_error_came_from(
    folder: Path,
    installed: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed()
    monkeypatch.setenv("SYNCOLL_TRACEBACK", "1")
    name = name_of("importer-read", "raises")
    assert main(["import", name, str(folder / "frontier.json")]) == 2
    said = capsys.readouterr().err
    assert "faults.py" in said
    assert said.index("Traceback") < said.index(f"syncoll: importer {name} failed")


def test_only_the_thread_of_the_plugin_is_led_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    began, spoke = threading.Event(), threading.Event()

    def noisy() -> Answer:
        began.set()
        assert spoke.wait(30)
        sys.stdout.write("of the plugin\n")
        return Answer(True)

    thread = threading.Thread(target=GuardedQuestion(noisy, "installed"))
    thread.start()
    assert began.wait(30)
    sys.stdout.write("of the command\n")
    spoke.set()
    thread.join()
    sys.stdout.write("later\n")
    assert capsys.readouterr() == ("of the command\nlater\n", "of the plugin\n")


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, OutOfTimeError])
def test_errors_without_a_faulty_plugin_are_no_answers(error: type[BaseException]) -> None:
    def stopped() -> Answer:
        raise error("stop")

    with pytest.raises(error):
        GuardedQuestion(stopped, "installed")()


def test_auto_says_which_of_its_backends_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = importlib.metadata.entry_points(group="syncoll")
    broken = [Point("cpsat", FAULTS["raises"][0]), *(p for p in points if p.name != "cpsat")]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: broken)
    assert main(["explain", *RUNNING]) == 0
    said = capsys.readouterr()
    assert "backend pysat" in said.out
    assert said.err.count("going on without plugin cpsat, which is broken: ") == 1
    assert "ValueError: boom" in said.err
    assert main(["explain", *RUNNING, "--backend", "cpsat"]) == 2
    assert "ValueError: boom" in capsys.readouterr().err


def load() -> Any:
    """A loader of the right type."""


FABRIC = Fabric("f", 1, 0, ())


def of(kind: Any, **fields: Any) -> Callable[[], Any]:
    right: dict[Any, dict[str, Any]] = {
        BackendRecord: {"features": frozenset(Feature), "installed": yes},
        ExporterRecord: {"load_checker": load},
    }
    common = {"name": "x", "summary": "x", "load": load}
    return lambda: kind(**{**common, **right.get(kind, {}), **fields})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (of(BackendRecord, name=7), "`name` is 7 (int); it must be text"),
        (of(BackendRecord, features=["clause"]), "`features` is ['clause'] (list)"),
        (of(BackendRecord, features=frozenset({"clause"})), "a frozenset of Feature"),
        (of(BackendRecord, rank=3), "`rank` is 3 (int); it must be Rank or None"),
        (lambda: Rank("1", 2), "`moving` is '1' (str); it must be a number"),  # type: ignore[arg-type]
        (of(BackendRecord, writes_proofs=1), "`writes_proofs` is 1 (int)"),
        (
            of(BackendRecord, features=frozenset({Feature.LINEAR}), writes_proofs=True),
            "takes no clauses, so it can write no proofs",
        ),
        (of(EncodingRecord, rank="1"), "`rank` is '1' (str); it must be a number or None"),
        (of(BackendRecord, installed=True), "`installed` is True (bool); it must be a function"),
        (of(BackendRecord, options=Option("a", 1, "b")), "it must be a tuple of Option"),
        (of(EncodingRecord, combining="no"), "it must be True or False"),
        (of(EncodingRecord, load=None), "EncodingRecord 'x': `load` is None"),
        (of(SeedRecord, by_default=None), "`by_default`"),
        (of(SeedRecord, forest=3), "a function or the name of one, as package.module:name or None"),
        (of(SeedRecord, fits="x.y"), "`fits` is 'x.y' (str); it must be a function or the name"),
        (of(SeedRecord, first_seconds="1"), "`first_seconds` is '1' (str)"),
        (of(SeedRecord, weight=0.0), "its weight is 0.0; it must be above 0"),
        (of(SeedRecord, first_seconds=float("nan")), "a number of at least 0"),
        (lambda: NetworkCard("nic", [1]), "a tuple of int"),  # type: ignore[arg-type]
        (lambda: NetworkCard("nic", (1,), "25"), "a number or None"),  # type: ignore[arg-type]
        (lambda: Imported(FABRIC, cards=("nic",)), "NetworkCard"),  # type: ignore[arg-type]
        (lambda: Imported(FABRIC, boxes=0), "a whole number of at least 1"),
        (lambda: Imported(FABRIC, hubs=None), "`hubs`"),  # type: ignore[arg-type]
        (lambda: CheckedExport("f", "c", 2, None, {}, steps=1.5), "`steps`"),  # type: ignore[arg-type]
        (lambda: CheckedExport("f", "c", 2, None, {}, links=[(0, 1)]), "pairs of ranks"),  # type: ignore[arg-type]
        (lambda: CheckedExport("f", "c", 2, None, {}, instance=3), "Instance or None"),  # type: ignore[arg-type]
        (of(SeedRecord, options=(Option("a", 1, "b"), Option("a", 2, "b"))), "two options named"),
        (of(SeedRecord, options=(Option("a", 1, "b", low=2),)), "default is not allowed"),
        (
            of(SeedRecord, options=(Option("ab", 1, "b", flag=True),)),
            "only exporters can have flags",
        ),
        (of(ExporterRecord, options=(Option("a_b", 1, "b", flag=True),)), "cannot be a flag"),
        (of(ImporterRecord, recognises="yes"), "`recognises`"),
        (of(ExporterRecord, folder=1), "`folder`"),
        (lambda: SpecLibraryRecord("x", "x", "a/folder"), "pathlib.Path"),  # type: ignore[arg-type]
        (lambda: Option("a", [], "b"), "bool or int or float or str"),  # type: ignore[arg-type]
        (lambda: Option("a", "b", "c", choices="bc"), "a tuple of str"),  # type: ignore[arg-type]
        (lambda: Proposal(1.5, Algorithm((), [])), "a whole number"),  # type: ignore[arg-type]
        (lambda: Imported("machine"), "Fabric or Topology"),  # type: ignore[arg-type]
        (lambda: Exported({"a": "text"}), "from str to bytes"),  # type: ignore[dict-item]
        (lambda: Exported({"../a": b""}), "not the plain name of a file"),
    ],
)
def test_a_record_says_which_of_its_fields_is_wrong(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(PluginError, match=re.escape(says)):
        make()


@pytest.mark.parametrize("fault", sorted({*FAULTS} - {"none"}))
def test_faults_in_counts_name_the_exporter(fault: str) -> None:
    act, words = FAULTS[fault]
    record = exporter("counts")("counted", act)
    with pytest.raises(PluginError, match="exporter counted") as caught:
        record.counts(None, {})
    assert words in str(caught.value)


def test_an_exporter_need_not_count() -> None:
    assert exporter("counts")("counted", FAULTS["none"][0]).counts(None, {}) is None


def test_every_field_of_a_record_is_checked() -> None:
    made = [
        *(of(kind)() for kind in (BackendRecord, EncodingRecord, ExporterRecord, ImporterRecord)),
        of(SeedRecord)(),
        of(BoundRecord)(),
        SpecLibraryRecord("x", "x", Path()),
        Proposal(1, Algorithm((), [])),
        Option("a", 1, "b"),
        Rank(1, 2),
        NetworkCard("nic", (1,)),
        Imported(FABRIC),
        ExportCounts(),
        Exported({}),
        CheckedExport("f", "c", 2, None, {}),
    ]
    own = {exporters.ExportRequest, records.SeedLimits}  # which plugins get and do not make
    kinds = {
        kind
        for module in (exporters, importers, options, records)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
        if not name.startswith("_")
    }
    assert {type(record) for record in made} == kinds - own
    for record in made:
        for field in fields_of(record):
            with pytest.raises(PluginError, match=f"`{field.name}` is "):
                replace(record, **{field.name: object()})
