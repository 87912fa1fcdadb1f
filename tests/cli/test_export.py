"""``syncoll export``, and ``syncoll verify`` of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.plugins import (
    CheckedExport,
    Exported,
    ExporterRecord,
    ExportRequest,
    Option,
    Options,
    PluginManager,
    hookimpl,
)
from syncoll.runtime import Buffer
from tests.cli.conftest import COUNT, refuse

Run = Callable[..., Any]

NAMES = ["dgx1-allgather-C2-S2-R3.xml", "dgx1-allgather-C6-S3-R7.xml"]


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("dialect", ["msccl", "executor", "rccl"])
def test_a_frontier_becomes_a_folder(run: Run, files: Path, tmp_path: Path, dialect: str) -> None:
    to = ("--to", "msccl-xml", "--dialect", dialect)
    result = run("export", files / "frontier.json", *to, "-o", "out")
    assert result.code == 0
    assert result.err == ""
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == NAMES
    assert "points[1]: out/dgx1-allgather-C6-S3-R7.xml" in result.out
    assert f"executed: MSCCL XML ({dialect}), allgather" in result.out
    assert "2 algorithms exported, 0 refused" in result.out
    verified = run("verify", "out", "--dialect", dialect, "--format", "json")
    assert verified.code == 0
    assert verified.json["kind"] == "msccl-xml"
    assert [one["collective"] for one in verified.json["verified"]] == ["allgather"] * 2
    assert all(one["in_place"] is False for one in verified.json["verified"])
    assert verified.json["wrong"] == []
    assert left_over(tmp_path / "out") == []


@pytest.mark.parametrize("point", ["1", "3,7,6", " 3, 7, 6 "])
def test_one_point_becomes_a_file(run: Run, files: Path, tmp_path: Path, point: str) -> None:
    result = run(
        *("export", files / "frontier.json", "--to", "msccl-xml", "--point", point),
        *("--inplace", "--proto", "LL", "--instances", "2", "--option", "dialect=rccl"),
        *("--min-bytes", "4KiB", "--max-bytes", "1MiB", "-o", "one.xml", "--format", "json"),
    )
    assert result.code == 0
    assert result.json["schema"] == "syncoll/export/1"
    (exported,) = result.json["exported"]
    assert exported["where"] == "points[1]"
    assert exported["files"] == ["one.xml"]
    assert result.json["refused"] == []
    head = (tmp_path / "one.xml").read_text().splitlines()[0]
    for setting in ('proto="LL"', 'inplace="1" outofplace="0" minBytes="4096" maxBytes="1048576"'):
        assert setting in head
    (pieces,) = re.findall(r'nchunksperloop="(\d+)"', head)
    assert int(pieces).bit_count() == 1, "messages of a power of two fit"
    text = run("verify", "one.xml", "--dialect", "rccl")
    assert text.code == 0
    assert "one.xml: executed, MSCCL XML (rccl): allgather of 8 ranks, in place" in text.out


def test_one_algorithm_becomes_the_same_kind_of_thing_as_two(
    run: Run, files: Path, tmp_path: Path
) -> None:
    """A name without a suffix is a folder, a name with a suffix a file, for any number of
    algorithms.
    """
    name = "dgx1-allgather-C1-S2-R2"
    for source, names in ((files / "sat.json", [f"{name}.xml"]), (files / "frontier.json", NAMES)):
        for i, out in enumerate(("exports", "exports/", "v1.0/")):
            folder = tmp_path / f"{source.stem}{i}"
            folder.mkdir()
            to = ("export", source, "--to", "msccl-xml")
            assert run(*to, "-o", f"{folder}/{out}").code == 0
            assert sorted(p.name for p in (folder / out).iterdir()) == names
    result = run("export", files / "sat.json", "--to", "msccl-xml", "-o", "exports.xml")
    assert result.code == 0
    assert (tmp_path / "exports.xml").is_file()
    refused = run("export", files / "frontier.json", "--to", "msccl-xml", "-o", "both.xml")
    assert refused.code == 2
    assert "both.xml is the name of a file, and there are 2 algorithms" in refused.err
    # A format of several files: a folder of its own for each, or with --point the one named.
    assert run("export", files / "sat.json", "--to", "chakra", "-o", "traces").code == 0
    assert [p.name for p in (tmp_path / "traces").iterdir()] == [name]
    assert (
        run("export", files / "sat.json", "--to", "chakra", "--point", "0", "-o", "one").code == 0
    )
    assert (tmp_path / "one" / f"{name}.0.et").is_file()


def test_an_outcome_goes_into_a_folder_that_is_there(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert run("export", files / "sat.json", "--to", "msccl-xml", "-o", "there").code == 0
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["dgx1-allgather-C1-S2-R2.xml"]


def test_unsupported_points_are_refused_and_the_rest_exported(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, COUNT, lambda one: one.steps > 2)
    to = ("export", files / "frontier.json", "--to", "msccl-xml", "-o", "out")
    result = run(*to, "--format", "json")
    assert result.code == 2
    assert [one["steps"] for one in result.json["exported"]] == [2]
    (refused,) = result.json["refused"]
    assert refused["where"] == "points[1]"
    offered = "points[0] fits: 2 steps, R/C = 3/2, 2 chunks"
    assert refused["reason"] == f"it is too long; {offered}"
    assert "points[1]: not exported: it is too long" in result.err
    assert [p.name for p in (tmp_path / "out").iterdir()] == NAMES[:1]


def test_an_export_that_fails_its_check_is_a_bug(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll_msccl_xml.writer._LETTERS", dict.fromkeys(Buffer, "o"))
    to = ("export", files / "frontier.json", "--to", "msccl-xml")
    result = run(*to, "-o", "out")
    assert result.code == 70
    assert "do not pass its checker, so they are not written" in result.err
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_when_nothing_can_be_exported(run: Run, tmp_path: Path) -> None:
    assert run("pareto", "ring(3)", "gather", "-o", "gather.json").code == 0
    to = ("export", "gather.json", "--to", "msccl-xml", "--point", "0")
    result = run(*to, "-o", "out.xml")
    assert result.code == 2
    assert "microsoft/msccl does not run gather" in result.err
    assert not (tmp_path / "out.xml").exists()
    assert run(*to, "--dialect", "rccl", "-o", "out.xml").code == 0
    (tmp_path / "out.xml").write_text("old")
    assert run(*to, "-o", "out.xml").code == 2
    assert (tmp_path / "out.xml").read_text() == "old"


def test_a_collective_of_ones_own_is_refused(run: Run, files: Path) -> None:
    spec = f"{files / 'both.syncoll'}:small"
    assert run("search", spec, "-o", "shift.json").code == 0
    result = run("export", "shift.json", "--to", "msccl-xml", "-o", "out")
    assert result.code == 2
    assert "MSCCL XML knows no such collective" in result.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--to", "msccl-xm", "-o", "x"], "did you mean msccl-xml?"),
        (["--to", "msccl-xml", "-o", "x", "--point", "2"], "a number from 0 to 1"),
        (["--to", "msccl-xml", "-o", "x", "--point", "3,7,5"], "one of: 2,3,2 3,7,6"),
        (["--to", "msccl-xml", "-o", "x", "--point", "a"], "not a point"),
        (["--to", "msccl-xml", "-o", "x", "--point", "3,7"], "not a point"),
        (["--to", "msccl-xml", "-o", "x", "--dialect", "new"], "one of msccl, executor, rccl"),
        (["--to", "msccl-xml", "-o", "x", "--instances", "0"], "from 1 to 128"),
        (["--to", "msccl-xml", "-o", "x", "--option", "depth=2"], "no option 'depth'"),
        (["--to", "msccl-xml", "-o", "x", "--proto", "LL", "--option", "proto=LL"], "set twice"),
        (["--to", "msccl-xml", "-o", "no/x"], "no folder"),
        (["--to", "msccl-xml", "-o", "file"], "is not a folder"),
        (["--to", "msccl-xml", "-o", ""], "empty"),
        (["--to", "msccl-xml"], "-o"),
        (["--to", "msccl-xml", "-o", "x", "--min-bytes", "2", "--max-bytes", "1"], "more than"),
        (["--to", "msccl-xml", "-o", "x", "--max-bytes", "much"], "such as 512, 64KiB"),
    ],
)
def test_bad_requests(
    arguments: list[str], complaint: str, run: Run, files: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("old")
    result = run("export", files / "frontier.json", *arguments)
    assert result.code == 2
    assert complaint in result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_file_without_algorithms(run: Run, files: Path) -> None:
    result = run("export", files / "unsat.json", "--to", "msccl-xml", "-o", "x")
    assert result.code == 2
    assert "no algorithm in it" in result.err


def test_verify_finds_changes(run: Run, files: Path, tmp_path: Path) -> None:
    to = ("--to", "msccl-xml", "--dialect", "rccl", "-o", "out")
    assert run("export", files / "frontier.json", *to).code == 0
    path = tmp_path / "out" / NAMES[0]
    path.write_text(path.read_text().replace('type="r"', 'type="nop"', 1))
    for what in (path, path.parent):
        result = run("verify", what, "--dialect", "rccl")
        assert result.code == 1
        assert NAMES[0] in result.err
    assert NAMES[1] in result.out, "the other one is right"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["out", "-C", "2"], "--chunks is the C of --collective"),
        (["out", "--collective", "allgathr"], "did you mean"),
        (["out", "--collective", "allgather", "-C", "0"], "-C"),
        (["out", "--in-order"], "--in-order does not apply"),
        (["out", "--option", "x=1"], "no option 'x'"),
        (["out", "--as", "msccl-xm"], "did you mean msccl-xml?"),
        (["empty"], "without files of any exporter"),
        (["nothing.xml"], "cannot read nothing.xml"),
        (["text.txt", "--as", "msccl-xml"], "text.txt"),
    ],
)
def test_verify_names_unknown_files_and_options(
    arguments: list[str], complaint: str, run: Run, files: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("hello")
    assert run("export", files / "sat.json", "--to", "msccl-xml", "-o", "out").code == 0
    result = run("verify", *arguments)
    assert result.code == 2
    assert complaint in result.err
    assert "Traceback" not in result.err


def test_options_of_formats_do_not_apply_to_frontiers(run: Run, files: Path) -> None:
    result = run("verify", files / "frontier.json", "--dialect", "rccl")
    assert result.code == 2
    assert "is not an export" in result.err


def test_a_folder_of_other_traces_is_left_alone(run: Run, files: Path, tmp_path: Path) -> None:
    export = ("export", files / "frontier.json", "--to", "chakra", "--point", "0", "-o", "traces")
    assert run(*export).code == 0
    assert run(*export).code == 0, "again, over its own files"
    assert run("verify", "traces").code == 0
    (tmp_path / "traces" / "other.0.et").write_bytes(b"")
    refused = run(*export)
    assert refused.code == 2
    assert "traces has other files (other.0.et)" in refused.err


def test_an_unchecked_result_is_reported(run: Run, files: Path, tmp_path: Path) -> None:
    """A table of sends has no instance."""
    to = ("--to", "csv", "--point", "0", "-o", "sends.csv")
    assert run("export", files / "frontier.json", *to).code == 0
    received = run("verify", "sends.csv")
    assert received.code == 4
    assert "its result was NOT checked" in received.out
    assert (
        run("verify", "sends.csv", "--format", "json").json["verified"][0]["result_checked"]
        is False
    )
    refused = run("verify", "sends.csv", "--proto", "LL")
    assert "--proto is an option of msccl-xml; exporter csv has no such option" in refused.err


@pytest.mark.parametrize(
    ("format_", "out", "named"),
    [
        ("goal", "other.txt", ["txt2bin -i other.txt -o other.txt.bin"]),
        ("goal", "out", [f"txt2bin -i out/{name[:-4]}.goal -o" for name in NAMES]),
        ("chakra", "out", [f'["out/{name[:-4]}/{name[:-4]}"]' for name in NAMES]),
    ],
)
def test_notes_name_the_written_files(
    run: Run, files: Path, format_: str, out: str, named: list[str]
) -> None:
    point = ("--point", "0") if out.endswith(".txt") else ()
    to = (files / "frontier.json", "--to", format_, "-o", out)
    result = run("export", *to, *point)
    for one in named:
        assert one in result.out
    assert "{" not in result.out
    planned = run("plan", *to[:3], "--alpha", "1us", "--beta", "1GB/s", "-o", "planned")
    assert f"planned/algorithms/{NAMES[0][:-4]}" in planned.out


@pytest.mark.parametrize("format_", ["msccl-xml", "mscclpp", "chakra", "goal", "csv"])
def test_exports_are_compared_with_the_given_collective(
    format_: str, run: Run, files: Path, tmp_path: Path
) -> None:
    """A file is not only compared with its own statements."""
    out = tmp_path / ("out" if format_ == "chakra" else f"out.{format_}")
    export = ("export", files / "frontier.json", "--to", format_, "--point", "0", "-o", out)
    assert run(*export).code == 0
    right = ("--collective", "allgather")
    for more in (right, (*right, "--topology", "dgx1"), (*right, "-C", "2")):
        result = run("verify", out, *more)
        assert (result.code, result.err) == (0, ""), more
        assert "as allgather asks" in result.out
    for collective in ("alltoall", "broadcast", "allreduce", "gather(root=1)"):
        if format_ == "csv" and collective.startswith("gather"):
            continue  # with an allgather the root has all data, too
        result = run("verify", out, "--collective", collective)
        assert result.code == 1, collective
        assert "Traceback" not in result.err
    assert run("verify", out, "--topology", "dgx1").code == (4 if format_ == "csv" else 0)
    for topology in ("ring(8)", "ring(4)"):
        assert run("verify", out, "--topology", topology).code == 1
    wrong = run("verify", out, *right, "-C", "5", "--format", "json")
    if format_ in ("mscclpp", "msccl-xml"):  # they cut the data in their own way
        assert wrong.code == 0
        return
    assert wrong.code == 1
    assert len(wrong.json["wrong"]) == 1
    assert wrong.json["unchecked"] == []


def test_a_rooted_collective_has_the_root_that_is_meant(run: Run, tmp_path: Path) -> None:
    search = ("pareto", "ring(3)", "broadcast(root=1)", "--backend", "pysat")
    assert run(*search, "--max-chunks", "2", "-o", "b.json").code == 0
    for format_ in ("msccl-xml", "mscclpp", "csv"):
        out = f"b.{format_}"
        assert run("export", "b.json", "--to", format_, "--point", "0", "-o", out).code == 0
        assert run("verify", out, "--collective", "broadcast(root=1)").code == 0
        assert run("verify", out, "--collective", "broadcast").code == 1


def test_unchecked_files_have_an_exit_code_of_their_own(run: Run, tmp_path: Path) -> None:
    """Exit code 4 is for a custom collective that cannot be checked, 1 for errors."""
    assert run("pareto", "ring(3)", "allgather", "--backend", "ring", "-o", "a.json").code == 0
    export = ("export", "a.json", "--to", "mscclpp", "--point", "0", "-o", "a.json.json")
    assert run(*export).code == 0
    plan = json.loads((tmp_path / "a.json.json").read_text())
    for name, change, code in (
        ("custom", {"collective": "mine"}, 4),
        ("wrong", {"collective": "alltoall"}, 1),
        ("none", {"protocol": "LL128"}, 1),
    ):
        (tmp_path / name).write_text(json.dumps({**plan, **change}))
        assert run("verify", name).code == code, name
    assert run("verify", "custom", "--collective", "allgather").code == 0, "in the usual order"
    compared = run("verify", "custom", "--collective", "alltoall")
    assert compared.code == 4
    assert "not checked in full: collective 'mine' does not define the places" in compared.err


def test_options_of_the_writer_do_not_apply_to_verify(run: Run, files: Path) -> None:
    to = ("--to", "msccl-xml", "--point", "0", "-o", "one.xml")
    assert run("export", files / "frontier.json", *to).code == 0
    for given in (("--proto", "LL"), ("--option", "proto=LL")):
        result = run("verify", "one.xml", *given)
        assert result.code == 2
        shown = " ".join(given).partition("=")[0].removesuffix(" LL")
        assert f"{shown} is for writing; one.xml is read, and has the value itself" in result.err


class TestFlagsOfExporters:
    """Flags come from the option tables of installed exporters."""

    @pytest.fixture
    def strange(self, monkeypatch: pytest.MonkeyPatch) -> list[object]:
        """Installs an exporter with flags; the list gets its options."""
        received: list[object] = []

        class Writer:
            def export(self, request: ExportRequest, options: Options) -> Exported:
                received.append(dict(options))
                return Exported({"a.strange": b"strange"})

            def check(self, *_: object) -> CheckedExport:
                return CheckedExport("strange", "allgather", 8, False, {})

        class Strangers:
            @hookimpl
            def syncoll_exporters(self) -> list[ExporterRecord]:
                options = (
                    Option("depth", 2, "how deep, in 100% of cases", low=1, flag=True),
                    Option("dialect", "old", "how it is spelt", choices=("old", "new"), flag=True),
                    Option("point", 1, "a name that the command has", flag=True),
                )
                load: Any = Writer
                return [ExporterRecord("strange", "files", load, load, options)]

        manager = PluginManager.discover()
        manager.register(Strangers(), "strangers")
        monkeypatch.setattr(PluginManager, "discover", lambda: manager)
        return received

    def test_they_reach_the_exporter_and_the_help(
        self, run: Run, files: Path, strange: list[object]
    ) -> None:
        to = ("--to", "strange", "--point", "0", "-o", "one.strange")
        flags = ("--depth", "7", "--dialect", "new", "--option", "point=3")
        assert run("export", files / "frontier.json", *to, *flags).code == 0
        assert strange == [{"depth": 7, "dialect": "new", "point": 3}]
        for command in ("export", "plan", "verify"):
            text = " ".join(run(command, "--help").out.split())
            assert "--depth D strange: how deep, in 100% of cases; a whole number" in text
            assert "one of msccl, executor, rccl; strange: how it is spelt; one of old, new" in text
        assert "--depth" not in run("pareto", "--help").out

    @pytest.mark.parametrize(
        ("to", "flags", "complaint"),
        [
            ("strange", ("--depth", "0"), "option depth of exporter strange is '0'"),
            ("strange", ("--dialect", "rccl"), "must be one of old, new"),
            ("msccl-xml", ("--dialect", "new"), "must be one of msccl"),
            ("msccl-xml", ("--depth", "3"), "--depth is an option of strange; exporter msccl-xml"),
            ("csv", ("--dialect", "new"), "--dialect is an option of msccl-xml and strange; "),
            ("strange", ("--depth", "3", "--option", "depth=3"), "depth is set twice"),
        ],
    )
    def test_a_wrong_one_is_named(
        self,
        run: Run,
        files: Path,
        strange: list[object],
        to: str,
        flags: tuple[str, ...],
        complaint: str,
    ) -> None:
        result = run("export", files / "frontier.json", "--to", to, "-o", "out", *flags)
        assert result.code == 2
        assert complaint in result.err
        assert not strange
