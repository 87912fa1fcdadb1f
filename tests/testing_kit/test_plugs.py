"""The kits of encodings, seeds, exporters and spec libraries: ours pass, planted bugs are found.

The kit of importers runs in tests/importing/test_mutations.py, where healthy texts are.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.plugins import (
    Answer,
    CheckedExport,
    EncodingRecord,
    Exported,
    ExporterRecord,
    PluginManager,
    Proposal,
    SeedRecord,
    SpecLibraryRecord,
)
from syncoll.testing import (
    BACKEND_CHECKS,
    BOUND_CHECKS,
    ENCODING_CHECKS,
    EXPORTER_CHECKS,
    IMPORTER_CHECKS,
    SEED_CHECKS,
    SPEC_LIBRARY_CHECKS,
    BoundConformance,
    ConformanceError,
    EncodingConformance,
    ExporterConformance,
    SeedConformance,
    SpecLibraryConformance,
    check_spec_library,
)

MANAGER = PluginManager.discover()


def ours(point: str) -> list[Any]:
    return [r for r in getattr(MANAGER, point).values() if MANAGER.is_ours(r)]


@pytest.mark.parametrize("record", ours("encodings"), ids=lambda record: record.name)
class TestEncodings:
    @pytest.mark.parametrize("check", ENCODING_CHECKS)
    def test_ours_pass(self, record: EncodingRecord, check: str) -> None:
        ENCODING_CHECKS[check](record)


@pytest.mark.parametrize("record", ours("seeds"), ids=lambda record: record.name)
class TestSeeds:
    @pytest.mark.parametrize("check", SEED_CHECKS)
    def test_ours_pass(self, record: SeedRecord, check: str) -> None:
        SEED_CHECKS[check](record)


@pytest.mark.parametrize("record", ours("exporters"), ids=lambda record: record.name)
class TestExporters:
    @pytest.mark.parametrize("check", EXPORTER_CHECKS)
    def test_ours_pass(self, record: ExporterRecord, check: str) -> None:
        EXPORTER_CHECKS[check](record)


@pytest.mark.parametrize("record", ours("spec_libraries"), ids=lambda record: record.name)
class TestSpecLibraries:
    @pytest.mark.parametrize("check", SPEC_LIBRARY_CHECKS)
    def test_ours_pass(self, record: SpecLibraryRecord, check: str) -> None:
        SPEC_LIBRARY_CHECKS[check](record)


def test_every_check_has_a_docstring_and_is_a_test() -> None:
    kits = {
        EncodingConformance: ENCODING_CHECKS,
        SeedConformance: SEED_CHECKS,
        BoundConformance: BOUND_CHECKS,
        ExporterConformance: EXPORTER_CHECKS,
        SpecLibraryConformance: SPEC_LIBRARY_CHECKS,
    }
    for kit, checks in kits.items():
        for name, check in checks.items():
            assert check.__doc__
            assert getattr(kit, f"test_{name}").__doc__ == check.__doc__
    assert len(IMPORTER_CHECKS) + len(BACKEND_CHECKS) > 15


def test_a_kit_is_a_class_of_tests() -> None:
    class Testing(SpecLibraryConformance):
        record = MANAGER.spec_libraries["syncoll"]
        skips = {"too slow here": ("files",)}  # noqa: RUF012

    tests: Any = Testing()
    tests.test_folder()
    with pytest.raises(pytest.skip.Exception, match="too slow here"):
        tests.test_files()
    Testing.record = replace(Testing.record, folder=Path("nowhere"))
    with pytest.raises(ConformanceError, match="there is no folder nowhere"):
        tests.test_folder()


# Planted bugs ----------------------------------------------------------------------------------


def changed(record: Any, field: str = "load", **methods: Callable[..., Any]) -> Any:
    """A record whose object has other methods; each gets the right method first, then its
    arguments."""
    load = getattr(record, field).function

    class Changed:
        def __getattr__(self, name: str) -> Any:
            return getattr(load(), name)

    for name, method in methods.items():

        def call(_: object, *given: Any, name: str = name, method: Any = method) -> Any:
            return method(getattr(load(), name), *given)

        setattr(Changed, name, call)
    return replace(record, **{field: Changed})


class Encoded:
    """An encoded instance with some replaced parts."""

    def __init__(self, encoded: Any, **others: Any) -> None:
        self._encoded = encoded
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoded, name)

    def hint(self, algorithm: Any) -> Any:
        return np.repeat(self._encoded.hint(algorithm), 2)


CALLS = itertools.count()


def late_sends(encode: Any, instance: Any, options: Any) -> Any:
    encoded = encode(instance, options)

    def decode(assignment: Any) -> Any:
        algorithm = encoded.decode(assignment)
        sends = algorithm.sends.copy()
        sends[:, 3] = algorithm.steps - 1
        return replace(algorithm, sends=sends)

    return Encoded(encoded, decode=decode)


def without_clauses(encode: Any, instance: Any, options: Any) -> Any:
    encoded = encode(instance, options)
    formula = replace(
        encoded.formula,
        clause_starts=encoded.formula.clause_starts[:1],
        clause_literals=encoded.formula.clause_literals[:0],
        clause_enforcers=encoded.formula.clause_enforcers[:0],
    )
    return Encoded(encoded, formula=formula)


def without_room(encode: Any, instance: Any, options: Any) -> Any:
    """No step has more rounds than the least."""
    encoded = encode(instance, options)
    formula = encoded.formula
    return Encoded(encoded, formula=replace(formula, integer_high=formula.integer_low))


def alike(encode: Any, instance: Any, options: Any) -> Any:
    encoded = encode(instance, options)
    labels = encoded.labels()
    return Encoded(encoded, labels=lambda: replace(labels, booleans=labels.booleans * 0))


def too_few_labels(encode: Any, instance: Any, options: Any) -> Any:
    encoded = encode(instance, options)
    labels = encoded.labels()
    return Encoded(encoded, labels=lambda: replace(labels, integers=labels.integers[:0]))


STEP: Any = MANAGER.encodings["step"]
PARTIAL: Any = MANAGER.encodings["partial"]
MORE = {"encode": lambda encode, i, o: encode(replace(i, rounds=i.rounds + 1), o)}
FEWER = {"encode": lambda encode, i, o: encode(replace(i, rounds=max(0, i.rounds - 1)), o)}


@pytest.mark.parametrize(
    ("record", "check", "words"),
    [
        (changed(STEP, **MORE), "truth", "the verifier says"),
        (changed(STEP, **FEWER), "truth", "the verifier says"),
        (changed(PARTIAL, **MORE), "truth", "the verifier says"),
        (changed(PARTIAL, **FEWER), "truth", "the verifier says"),
        (changed(STEP, encode=late_sends), "truth", "the verifier says"),
        (changed(STEP, encode=without_clauses), "truth", "the verifier says|right answer"),
        (changed(STEP, encode=without_room), "truth", "unsat , but the right answer is sat"),
        (
            changed(STEP, encode=lambda e, i, o: e(replace(i, rounds=next(CALLS)), o)),
            "repeatable",
            "two formulas of one instance differ",
        ),
        (changed(STEP, literals=lambda *_: 7), "size", "it estimates 7 literals"),
        (
            changed(STEP, encode=lambda e, i, o: Encoded(e(i, o))),
            "hints",
            "a hint names a variable twice",
        ),
        (replace(STEP, summary="two\nlines"), "options", "not one line"),
        (changed(STEP, encode=alike), "labels", "variables have 1 labels"),
        (changed(STEP, encode=too_few_labels), "labels", "labels for [0-9]+ variables"),
    ],
)
def test_wrong_encodings_fail(record: EncodingRecord, check: str, words: str) -> None:
    with pytest.raises(Exception, match=words) as caught:
        ENCODING_CHECKS[check](record)
    assert type(caught.value).__module__.startswith("syncoll.")


RING: Any = MANAGER.seeds["ring"]


def one_send_less(propose: Any, *given: Any) -> Any:
    for one in propose(*given):
        algorithm = one.algorithm
        kept = None if algorithm.contributions is None else algorithm.contributions[:-1]
        less = replace(algorithm, sends=algorithm.sends[:-1], contributions=kept)
        yield Proposal(one.chunks, less)


def now_and_then(propose: Any, *given: Any) -> Any:
    proposals = list(propose(*given))
    return proposals[next(CALLS) % 2 :]


def slow(propose: Any, *given: Any) -> Any:
    time.sleep(3.2)
    return propose(*given)


@pytest.mark.parametrize(
    ("record", "check", "words"),
    [
        (changed(RING, propose=one_send_less), "proposals", "never reaches"),
        (changed(RING, propose=lambda *_: []), "proposals", "it proposed nothing"),
        (replace(RING, fits=lambda *_: Answer(False)), "proposals", "no without a reason"),
        (replace(RING, fits=lambda *_: None), "proposals", "fits: "),
        (changed(RING, propose=now_and_then), "repeatable", "begin with different algorithms"),
        (changed(RING, propose=slow), "time", "without any time it worked for 3"),
    ],
)
def test_wrong_seeds_fail(record: SeedRecord, check: str, words: str) -> None:
    with pytest.raises(ConformanceError, match=words):
        SEED_CHECKS[check](record)


CSV: Any = MANAGER.exporters["csv"]
PASSED = CheckedExport("csv", "allgather", 2, None, {})


def dated(export: Any, *given: Any) -> Exported:
    files = export(*given).files
    return Exported({name: text + b"\n" * next(CALLS) for name, text in files.items()})


def crashing(check: Any, files: Any, *given: Any) -> Any:
    if not all(text.isascii() for text in files.values()):
        raise ValueError("not ASCII")
    return check(files, *given)


@pytest.mark.parametrize(
    ("record", "check", "words"),
    [
        (changed(CSV, "load_checker", check=lambda *_: PASSED), "damage", "passes an empty file"),
        (changed(CSV, "load_checker", check=lambda *_: PASSED), "executed", "goes unnoticed|digit"),
        (
            changed(
                CSV, "load_checker", check=lambda check, files, options, _: check(files, options)
            ),
            "meant",
            "of other chunks",
        ),
        (changed(CSV, "load_checker", check=crashing), "damage", "ValueError: not ASCII"),
        (
            changed(CSV, export=lambda *_: Exported({"a": b"x", "b": b"x"})),
            "files",
            "do not pass its checker",
        ),
        (changed(CSV, export=dated), "files", "do not pass|other files each time"),
        (replace(CSV, recognises=lambda *_: False), "files", "does not recognise"),
        (
            changed(
                changed(CSV, export=lambda *_: Exported({"a": b"x", "b": b"x"})),
                "load_checker",
                check=lambda *_: PASSED,
            ),
            "files",
            "expected one",
        ),
    ],
)
def test_wrong_exporters_fail(record: ExporterRecord, check: str, words: str) -> None:
    with pytest.raises(Exception, match=words) as caught:
        EXPORTER_CHECKS[check](record)
    assert type(caught.value).__module__.startswith("syncoll.")


@pytest.mark.parametrize(
    ("text", "check", "words"),
    [
        (None, "folder", "there is no folder"),
        ("# nothing\n", "folder", "expected .syncoll files"),
        ("topology wrong { nodes 2 2 }\n", "files", "wrong.syncoll:1"),
        ("topology wrong { nodes 2 link (0, 5) }\n", "files", "5"),
        ("topology a { nodes 2 }\ntopology a { nodes 3 }\n", "files", "a"),
        ("topology dgx1 { nodes 2 link (0, 1) both ways }\n", "names", "its own topology dgx1"),
    ],
)
def test_wrong_libraries_fail(text: str | None, check: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    if text is not None:
        folder.mkdir()
        (folder / "wrong.syncoll").write_text(text)
    record = SpecLibraryRecord("wrong", "machines", folder)
    with pytest.raises(ConformanceError, match=words):
        SPEC_LIBRARY_CHECKS[check](record)
    assert check in [failure.check for failure in check_spec_library(record)]
