"""Sizes and times in usual notation, for every verb and every command."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.values import size_range, sizes_of, swept_sizes

MODEL = {"alpha": "1us", "beta": "25GB/s"}
FLAGS = ["--alpha", "1us", "--beta", "25GB/s"]
MIB = 1 << 20


@pytest.fixture(scope="module")
def found() -> syncoll.FrontierResult:
    return syncoll.pareto("ring(3)", "allgather", progress="none")


@pytest.fixture
def saved(found: syncoll.FrontierResult, tmp_path: Path) -> Path:
    found.save(tmp_path / "f.json")
    return tmp_path / "f.json"


@pytest.mark.parametrize(
    ("sizes", "means"),
    [
        (MIB, [MIB]),
        (np.int64(MIB), [MIB]),
        ("1MiB", [MIB]),
        ("1mib", [MIB]),
        ("1MiB:1MiB", [MIB]),
        ("1MiB..1MiB", [MIB]),
        ("1KiB:16KiB", [1024, 4096, 16384]),
        ("1k..17k", [1024, 4096, 16384]),
        ("4KiB,1KiB..4KiB,512", [4096, 1024, 512]),
        (["1KiB", 7, "8:32"], [1024, 7, 8, 32]),
    ],
)
def test_sizes_are_parsed(sizes: int | str | Iterable[int | str], means: list[int]) -> None:
    assert sizes_of("sizes", sizes) == means


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ("", "sizes: '' has an empty size"),
        ("1MiB,", "sizes: '1MiB,' has an empty size"),
        ([], "expected at least one size"),
        ("2MiB:1MiB", "'2MiB:1MiB' is empty; expected FROM..TO with FROM at most TO"),
        (0, "0 is no size"),
        (-1, "-1 is no size"),
        (True, "True is not a number of bytes"),
        (1.5, "1.5 is not a number of bytes"),
        ("1.5", "'1.5' is not a whole number of at least 1 byte"),
        ("1MiB:", "'1MiB:' has an empty size"),
        ("64KiX", "the size '64KiX' has the unknown unit"),
    ],
)
def test_invalid_sizes_are_refused(sizes: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        sizes_of("sizes", sizes)
    assert words in str(caught.value)


def test_none_is_no_range() -> None:
    assert size_range("sizes", None) is None


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ((None, None, None), []),
        ((8, 64, 2), [8, 16, 32, 64]),
        ((8, 63, 2), [8, 16, 32]),
        ((30 * MIB, None, None), [30 * MIB, 31 * MIB, 32 * MIB]),
        ((None, 33 * MIB, 1), [32 * MIB, 33 * MIB]),
        ((7 * MIB, 99 * MIB, 3), [7 * MIB, 21 * MIB, 63 * MIB]),
    ],
)
def test_sizes_as_nccl_tests_reads_them(given: tuple[int | None, ...], means: list[int]) -> None:
    assert swept_sizes(*given) == means


@pytest.mark.parametrize("given", [(64 * MIB, None, 2), (8, 1 << 30, None)])
def test_no_sweep_has_no_size_or_thousands(given: tuple[int | None, ...]) -> None:
    with pytest.raises(UsageError, match="expected 1 to 256 sizes"):
        swept_sizes(*given)


@pytest.mark.parametrize("verb", ["plan", "simulate", "recommend"])
def test_commands_take_the_options_of_nccl_tests(
    verb: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["-b", "1K", "-e", "4K", "-f", "2"]
    assert main([verb, str(saved), *FLAGS, *sweep]) == 0
    text = capsys.readouterr().out
    if verb == "plan":
        assert [f"The fastest for {n} KiB" in text for n in (1, 2, 4, 8)] == [True] * 3 + [False]
    else:
        rows = [line.split()[:2] for line in text.splitlines()]
        assert [[str(n), "KiB"] in rows for n in (1, 2, 4, 8)] == [True] * 3 + [False]


@pytest.mark.parametrize("sizes", [MIB, "1MiB", "1MiB:1MiB", "1MiB..1MiB"])
def test_one_size_in_every_verb(sizes: int | str, found: syncoll.FrontierResult) -> None:
    assert syncoll.simulate(found, sizes=sizes, classics=False, **MODEL).sizes == (MIB,)
    plan = syncoll.plan(found, **MODEL)
    assert len([row for row in plan.document(sizes)["ranges"] if row["ends"]]) == 1
    assert "Shown: messages of 1 MiB; " in str(plan.page(sizes))
    with pytest.raises(UsageError, match=r"a plot needs a range, such as 1KiB\.\.1GiB"):
        plan.plot(sizes)
    aimed = syncoll.pareto("ring(3)", "allgather", optimise_for=sizes, progress="none", **MODEL)
    assert len(aimed) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", *FLAGS, "--classics", "none", "--sizes", "1GiB:1GiB"],
        ["simulate", *FLAGS, "--classics", "none", "--sizes", "1KiB,1MiB..4MiB"],
        ["plan", *FLAGS, "--sizes", "1GiB:1GiB"],
        ["plan", *FLAGS, "--sizes", "1KiB..1GiB"],
        ["plan", *FLAGS, "--sizes", "1KiB:1GiB"],
        ["plan", *FLAGS, "--sizes", "1g"],
    ],
)
def test_commands(arguments: list[str], saved: Path) -> None:
    assert main([arguments[0], str(saved), *arguments[1:]]) == 0


def test_an_end_between_two_ranges_belongs_to_the_upper(found: syncoll.FrontierResult) -> None:
    both = syncoll.plan(syncoll.pareto("dgx1", "allgather", max_steps=3, progress="none"), **MODEL)
    low, _ = both.ranges
    assert low.high is not None
    assert low.high.denominator == 1
    shown = [bool(row["ends"]) for row in both.document(int(low.high))["ranges"]]
    assert shown == [False, True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "f.json", "--alpha", "-1us"], "negative"),
        (["plan", "f.json", "--alpha", "1us", "--beta", "-1GB/s"], "--beta: a bandwidth of"),
        (["simulate", "f.json", "--alpha", "-1us"], "--alpha: '-1us' is a negative time"),
        (["simulate", "f.json", "--overhead", "-1us"], "--overhead: '-1us' is a negative time"),
        (["simulate", "f.json", *FLAGS, "--reduction", "-5GB/s"], "--reduction: a bandwidth of"),
        (
            ["simulate", "f.json", *FLAGS, "--packet", "-1KiB"],
            "not a whole number of at least 1 byte",
        ),
        (["report", "f.json", "--alpha", "-1us"], "--alpha: '-1us' is a negative time"),
        (["report", "f.json", "--alpha", "1us", "--beta", "-1GB/s"], "--beta: a bandwidth of"),
        (
            ["pareto", "ring(3)", "allgather", "--optimise-for", "1KiB", "--alpha", "-.5us"],
            "--alpha: '-.5us' is",
        ),
        (["pareto", "ring(3)", "allgather", "--time-limit", "-3s"], "is a negative time"),
        (["forest", "ring(3)", "--time-limit", "-1min"], "is a negative time"),
    ],
)
def test_negative_times_and_rates_are_refused_in_their_words(
    arguments: list[str],
    words: str,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(saved.parent)
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert words in capsys.readouterr().err


def test_over_mpi_the_class_is_named() -> None:
    from syncoll.mpi import MpiCollective

    made: Callable[..., Any] = MpiCollective
    with pytest.raises(UsageError, match=r"or MpiCollective\(algorithm, instance\)"):
        made("f.json")
    solved = syncoll.solve("ring(3)", "allgather", chunks=1, steps=1, rounds=1).found
    with pytest.raises(UsageError, match=r"too: MpiCollective\(algorithm, instance\)"):
        made(solved.algorithm)
