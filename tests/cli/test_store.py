"""Answers of a search are stored for the next one, for any end of the search."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.documents import read_file
from syncoll.model import Topology
from syncoll.store import Store, StoreDescription
from syncoll.store.schema import VERSION
from tests.oracles import classics

Run = Callable[..., Any]

SEARCH = ("--strategy", "paper", "--k", "2", "--max-chunks", "6", "--max-steps", "4")
COUNTED = ("--backend", "counted", "--seeds", "none")
BROADCAST = ("pareto", "dgx1", "broadcast", *SEARCH, *COUNTED)
"""Needs eleven answers, mostly refutations; each takes hundredths of a second."""


def costs(document: dict[str, Any]) -> list[object]:
    """The costs of a frontier, without engines and times."""
    points = [
        (p["steps"], p["rounds"], p["chunks"], p["bandwidth"], p["proof"]["scope"])
        for p in document["points"]
    ]
    return [*points, *(json.dumps(claim) for claim in document["open"])]


def described(store: Path) -> StoreDescription:
    """Describes the content of a store."""
    with Store.open(store) as opened:
        return opened.describe()


def spec_of(topology: Topology) -> str:
    """A spec file's text with a topology whose bounds have one link each."""
    lines = []
    for bound in topology.bounds:
        ((source, destination),) = bound.links
        lines.append(f"    link ({source}, {destination}) bandwidth {bound.chunks_per_round}")
    return "\n".join([f"topology again {{ nodes {topology.num_nodes}", *lines, "}", ""])


def test_asked_again_no_solver_is_asked(run: Run, counted: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = run(*BROADCAST, "--store", store, "--format", "json")
    assert first.code == 0
    assert counted.questions() == 11
    assert (described(store).sat, described(store).unsat) == (2, 9)
    again = run(*BROADCAST, "--store", store, "--format", "json")
    assert counted.questions() == 0
    assert costs(again.json) == costs(first.json)
    assert again.json["points"] == first.json["points"]
    # Names and labels are no part of a question.
    (tmp_path / "again.syncoll").write_text(spec_of(classics.dgx1()))
    same = ("pareto", "again.syncoll:again", "broadcast(root=0)", *SEARCH, *COUNTED)
    named = run(*same, "--store", store, "--format", "json", "-o", "named.json")
    assert named.code == 0, named.err
    assert counted.questions() == 0
    assert costs(named.json) == costs(first.json)
    assert run("verify", "named.json").code == 0
    assert run("check", "named.json", "--topology", "again.syncoll:again").code in (0, 4)
    run(*same, "--store", "none")
    assert counted.questions() == 11


def test_a_store_takes_no_point_from_the_seeds(run: Run, tmp_path: Path) -> None:
    command = ("pareto", "ring(4)", "allgather", "--format", "json")
    found = []
    for store in ("none", tmp_path / "store", tmp_path / "store"):
        points = run(*command, "--store", store).json["points"]
        found.append([(p["steps"], p["bandwidth"], p["encoding"], p["backend"]) for p in points])
    assert found[0]
    assert found == [found[0]] * 3


def test_another_backend_does_not_trust_its_answers(run: Run, counted: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run(
        "pareto",
        "dgx1",
        "broadcast",
        *SEARCH,
        "--backend",
        "pysat",
        "--seeds",
        "none",
        "--store",
        store,
    )
    assert counted.questions() == 0
    run(*BROADCAST, "--store", store)
    assert counted.questions() == 11


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--jobs", "2")])
def test_a_killed_search_goes_on_where_it_was(
    how: tuple[str, ...],
    run: Run,
    background: Run,
    counted: Any,
    all_end: Callable[[Any], None],
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    scratch = run(*BROADCAST, "--format", "json")
    assert counted.questions() == 11
    running = background(*BROADCAST, *how, "--store", store, "-o", "saved.json", COUNTED_SLEEPS="1")
    saved = tmp_path / "saved.json"
    running.wait_until(lambda: saved.exists() and described(store).answers >= 5)
    children = running.children()
    assert children  # of two at once, one may have been ended if its answer was not needed
    running.kill()
    all_end(children)
    kept = described(store)
    assert 5 <= kept.answers <= 11  # all of them on a machine that is too slow to kill in time
    assert read_file(saved).algorithms
    counted.questions()
    resumed = run(*BROADCAST, "--store", store, "--format", "json")
    asked = counted.questions()
    # Two at once may have stored answers that a single solver does not need.
    assert 11 - kept.answers <= asked <= (11 - kept.answers if not how else 9)
    assert costs(resumed.json) == costs(scratch.json)
    assert resumed.json["complete"]
    run(*BROADCAST, "--store", store)
    assert counted.questions() == 0


@pytest.mark.slow
def test_two_searches_share_a_store(
    run: Run, background: Run, counted: Any, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    both = [
        background(*BROADCAST, "--store", store, "--format", "json", COUNTED_SLEEPS="0.1")
        for _ in range(2)
    ]
    results = [one.result() for one in both]
    assert [r.code for r in results] == [0, 0]
    assert [r.err for r in results] == ["", ""]
    assert costs(results[0].json) == costs(results[1].json)
    assert 11 <= counted.questions() <= 22
    again = run(*BROADCAST, "--store", store, "--format", "json")
    assert counted.questions() == 0
    assert costs(again.json) == costs(results[0].json)


class TestWhatIsNotKnown:
    """Only questions that a solver refuted are stored as refuted."""

    QUESTION = ("pareto", "dgx1", "broadcast", *COUNTED, "--strategy", "paper", "--k", "0")
    LIMITS = ("--max-steps", "2", "--max-chunks", "3")
    """R = 2 with C = 3, which has no algorithm, and with C = 2 and 1, which have one."""

    def test_interrupted(self, background: Run, run: Run, counted: Any, tmp_path: Path) -> None:
        store = tmp_path / "store"
        running = background(*BROADCAST, "--store", store, COUNTED_SLEEPS="100")
        running.wait_until(counted.note.exists)
        result = running.interrupt()
        assert result.code == 130
        assert described(store).answers == 0
        saved = read_file(tmp_path / "dgx1-broadcast.frontier.json")
        assert saved.frontier is not None
        assert saved.frontier.refuted == ()
        assert saved.frontier.evidence is not None
        assert all(not proof.refuted for proof in saved.frontier.evidence.proofs)
        low, high = saved.document["open"][0]["bandwidth"]
        assert Fraction(low) < 1
        assert high is None
        assert run("check", "dgx1-broadcast.frontier.json").code == 0

    def test_out_of_time(
        self, run: Run, counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = tmp_path / "store"
        limited = (*self.QUESTION, *self.LIMITS, "--store", store, "--format", "json")
        monkeypatch.setenv("COUNTED_OUT_OF_TIME", "1")
        result = run(*limited, "--point-limit", "500", "-o", "unknown.json")
        asked = counted.questions()
        assert asked >= 1
        assert result.code == 3
        assert result.json["points"] == []
        low, high = result.json["open"][0]["bandwidth"]
        assert Fraction(low) < 1
        assert high is None
        assert (described(store).unknown, described(store).answers) == (asked, asked)
        assert run("check", "unknown.json").code == 0
        # The same time would have the same result; more time may help.
        monkeypatch.delenv("COUNTED_OUT_OF_TIME")
        assert run(*limited, "--point-limit", "500").code == 3
        assert counted.questions() == 0
        longer = run(*limited, "--point-limit", "5000")
        assert counted.questions() >= 1
        assert [p["bandwidth"] for p in longer.json["points"]] == ["1"]
        assert described(store).unsat >= 1

    def test_crashed(
        self, run: Run, counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = tmp_path / "store"
        monkeypatch.setenv("COUNTED_CRASHES", "1")
        result = run(*self.QUESTION, *self.LIMITS, "--store", store, "--format", "json")
        assert counted.questions() >= 1
        assert result.code == 3
        assert result.json["points"] == []
        ended = "the process of backend counted ended with exit code 1"
        assert ended in result.json["open"][0]["reason"]
        assert described(store).answers == 0


class TestWhichStore:
    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The user's cache folder, if no other store is named."""
        monkeypatch.delenv("SYNCOLL_STORE")
        monkeypatch.setattr(
            "syncoll.store.store.platformdirs.user_cache_path",
            lambda name, **_: tmp_path / "c" / name,
        )
        return tmp_path / "c" / "syncoll"

    SMALL = ("pareto", "ring(4)", "allgather")

    def test_the_usual_one(self, cache: Path, run: Run) -> None:
        # Without a known point that meets a cut, bounds are computed and stored.
        assert run(*self.SMALL, "--seeds", "none").code == 0
        assert described(cache / "store.sqlite").certificates > 0
        result = run("store", "--format", "json")
        assert result.json["file"] == str(cache / "store.sqlite")
        assert result.json["certificates"] == described(cache / "store.sqlite").certificates
        assert run("store", "--clear").code == 0
        assert described(cache / "store.sqlite").certificates == 0

    @pytest.mark.parametrize("where", ["option", "variable"])
    def test_none(
        self, where: str, cache: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        option: tuple[str, ...] = ("--store", "none")
        if where == "variable":
            monkeypatch.setenv("SYNCOLL_STORE", "none")
            option = ()
        result = run(*self.SMALL, *option)
        assert (result.code, result.err) == (0, "")
        assert sorted(path.name for path in tmp_path.iterdir()) == []
        described = run("store", *option)
        assert described.code == 0
        assert "there is no store" in described.out
        assert run("store", *option, "--format", "json").json["file"] is None

    def test_the_option_goes_before_the_variable(
        self, cache: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYNCOLL_STORE", str(tmp_path / "a"))
        run(*self.SMALL)
        run(*self.SMALL, "--store", tmp_path / "b")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
        monkeypatch.setenv("SYNCOLL_STORE", "none")
        run(*self.SMALL, "--store", tmp_path / "d")
        assert (tmp_path / "d").exists()

    def spoil(self, path: Path, how: str) -> str:
        """Makes a store unusable; returns the expected message."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if how == "text":
            path.write_text("all that was ever known " * 1000)
            return "is not a store"
        with Store.open(path):
            pass
        if how == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            return "damaged"
        if how == "overwritten":
            whole = bytearray(path.read_bytes())
            whole[4096 : 4096 + 2000] = b"\xff" * 2000
            path.write_bytes(whole)
            return "damaged"
        connection = sqlite3.connect(path)
        if how == "newer":
            connection.execute(f"PRAGMA user_version = {VERSION + 1}")
            words = "newer"
        else:
            connection.execute("PRAGMA application_id = 77")
            words = "another program"
        connection.close()
        return words

    KINDS = ("text", "cut", "overwritten", "newer", "foreign")

    @pytest.mark.parametrize("how", KINDS)
    @pytest.mark.parametrize("named", ["option", "variable"])
    def test_one_that_was_named_and_cannot_be_used(
        self, how: str, named: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = self.spoil(tmp_path / "store", how)
        before = (tmp_path / "store").read_bytes()
        option: tuple[str, ...] = ("--store", "store")
        if named == "variable":
            monkeypatch.setenv("SYNCOLL_STORE", str(tmp_path / "store"))
            option = ()
        for command in (self.SMALL, ("store",)):
            result = run(*command, *option)
            assert (result.code, result.out) == (2, "")
            assert len(result.err.splitlines()) == 1
            assert words in result.err
            assert "store" in result.err
        assert (tmp_path / "store").read_bytes() == before

    @pytest.mark.parametrize("how", KINDS)
    def test_the_usual_one_cannot_be_used(self, how: str, cache: Path, run: Run) -> None:
        words = self.spoil(cache / "store.sqlite", how)
        result = run(*self.SMALL, "--format", "json")
        assert result.code == 0
        assert len(result.json["points"]) == 1
        assert len(result.err.splitlines()) == 1
        assert result.err.startswith("syncoll: going on without a store: ")
        assert words in result.err
        assert str(cache / "store.sqlite") in result.err

    def test_no_folder_for_the_usual_one(self, cache: Path, run: Run) -> None:
        cache.parent.parent.mkdir(exist_ok=True)
        cache.parent.write_text("no folder")
        result = run(*self.SMALL)
        assert result.code == 0
        assert len(result.err.splitlines()) == 1
        assert f"cannot make the folder {cache}" in result.err

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc")
    def test_a_folder_that_takes_no_files(self, run: Run) -> None:
        result = run(*self.SMALL, "--store", "/proc/store")
        assert (result.code, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert "/proc/store" in result.err

    @pytest.mark.skipif(
        os.name != "posix" or os.geteuid() == 0, reason="everything is allowed to root"
    )
    def test_a_file_that_may_not_be_written(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir(mode=0o500)
        result = run(*self.SMALL, "--store", "folder/store")
        assert (result.code, result.out) == (2, "")
        assert "folder/store" in result.err

    @pytest.mark.parametrize(
        ("name", "words"),
        [(".", "is a folder"), ("no/such/store", "there is no folder no/such"), ("", "empty")],
    )
    def test_names_that_make_no_store(self, name: str, words: str, run: Run) -> None:
        for command in (self.SMALL, ("store",)):
            result = run(*command, "--store", name)
            assert (result.code, result.out) == (2, "")
            assert words in result.err


@pytest.mark.parametrize("damage", ["page", "cut", "newer"])
def test_a_damaged_store_can_be_cleared(damage: str, run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    Store.open(store).close()
    whole = store.read_bytes()
    store.write_bytes(
        {
            "page": whole[:4096] + b"\xff" * (len(whole) - 4096),
            "cut": whole[: len(whole) // 3],
            "newer": whole[:60] + (VERSION + 7).to_bytes(4, "big") + whole[64:],
        }[damage]
    )
    assert run("store", "--store", store).code == 2
    cleared = run("store", "--store", store, "--clear")
    assert cleared.code == 0
    assert cleared.err.count(f"{store} was deleted, since it could not be read") == 1
    assert described(store).answers == 0


def test_other_files_are_not_deleted(run: Run, tmp_path: Path) -> None:
    notes, others = tmp_path / "notes.txt", tmp_path / "others.sqlite"
    notes.write_text("the work of years\n")
    with sqlite3.connect(others) as connection:
        connection.execute("CREATE TABLE work (years)")
    connection.close()
    for file in (notes, others):
        before = file.read_bytes()
        result = run("store", "--store", file, "--clear")
        assert result.code == 2
        assert "does not look like a store" in result.err
        assert file.read_bytes() == before


def test_a_damaged_store_that_cannot_be_deleted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    store = tmp_path / "store"
    store.write_bytes(b"SQLite format 3\0 and no more")
    monkeypatch.setattr(Path, "unlink", refuse)
    result = run("store", "--store", store, "--clear")
    assert result.code == 2
    assert result.err == f"syncoll: cannot delete the damaged store {store}: Permission denied\n"
