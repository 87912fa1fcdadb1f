"""Only files that pass their format's checker are returned."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from syncoll.errors import ExportError, OptionError, VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.plugins import (
    Answer,
    CheckedExport,
    Exported,
    ExporterRecord,
    ExportRequest,
    Option,
    Options,
)
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case


@dataclass
class Spy:
    """An exporter and a checker that record their calls."""

    wrong: bool = False
    seen: list[object] = field(default_factory=list)

    def export(self, request: ExportRequest, options: Options) -> Exported:
        self.seen.append(("export", dict(options)))
        return Exported({"x": b"content"}, ("a note",))

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        self.seen.append(("check", dict(options), dict(files), instance))
        if self.wrong:
            raise VerificationError("rank 3, thread block 1, step 2: waits for ever")
        return CheckedExport("spied", "x", 2, None, {})


def record(spy: Spy, answer: Answer | None = None) -> ExporterRecord:
    return ExporterRecord(
        "spy",
        "for tests",
        lambda: spy,
        lambda: spy,
        (Option("depth", 2, "how deep", low=1),),
        installed=lambda: answer or Answer(True),
    )


@pytest.fixture
def request_() -> ExportRequest:
    return ExportRequest("name", "x", *random_case(random.Random(5)))


def test_exports_are_written_and_executed(request_: ExportRequest) -> None:
    spy = Spy()
    handed = export_verified(record(spy), request_, {"depth": "3"})
    assert handed.exported.files == {"x": b"content"}
    assert handed.checked.format == "spied"
    options = {"depth": 3}
    assert spy.seen == [
        ("export", options),
        ("check", options, {"x": b"content"}, request_.instance),
    ]


def test_exports_that_fail_their_check_are_refused(request_: ExportRequest) -> None:
    with pytest.raises(VerificationError, match=r"name do not pass .* thread block 1, step 2"):
        export_verified(record(Spy(wrong=True)), request_, {})


def test_a_wrong_algorithm_is_not_even_written(request_: ExportRequest) -> None:
    spy = Spy()
    one = request_.algorithm
    carried = None if one.contributions is None else one.contributions[:-1]
    short = Algorithm(one.rounds_per_step, one.sends[:-1], carried)
    with pytest.raises(VerificationError, match="not a valid algorithm"):
        export_verified(record(spy), replace(request_, algorithm=short), {})
    assert spy.seen == []


@pytest.mark.parametrize("sizes", [(-1, 5), (6, 5)])
def test_sizes_make_sense(request_: ExportRequest, sizes: tuple[int, int]) -> None:
    low, high = sizes
    with pytest.raises(ExportError, match="not above the largest"):
        export_verified(record(Spy()), replace(request_, min_bytes=low, max_bytes=high), {})


def test_options_and_installation_are_checked_first(request_: ExportRequest) -> None:
    with pytest.raises(OptionError, match="depth"):
        export_verified(record(Spy()), request_, {"depth": 0})
    with pytest.raises(OptionError, match="height"):
        export_verified(record(Spy()), request_, {"height": 0})
    missing = record(Spy(), Answer(False, "pip install it"))
    with pytest.raises(ExportError, match="pip install it"):
        export_verified(missing, request_, {})
