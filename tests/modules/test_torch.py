"""Modules for torch: their files, and real processes with Gloo that call them."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import subprocess
import sys
import types
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from syncoll.plugins import ExportRequest
from syncoll.runtime import export_verified
from syncoll_torch import RECORD
from tests.modules.cases import COLLECTIVES, case, request

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the extra [torch] is missing")


def text_of(machine: str, collective: str) -> str:
    return _text(request(*case(machine, collective)))


def calls(collective: str, number: int) -> list[tuple[int, int, str]]:
    """Elements, type and kind of each call; types and machines vary with the number."""
    groups = "groups " if collective == "groups" else ""
    found = [
        (1, 0, "plain"),
        (97 + number, number % 5, "async"),
        (803, (number + 2) % 5, "in place"),
    ]
    if collective in ("allgather", "alltoall", "reducescatter"):  # others have no such form
        found.append((1600, (number + 3) % 5, "in place"))
    if collective in ("allreduce", "allgather", "alltoallv"):
        found.append((20_001, 0, "in slices"))
    found = [(total, dtype, groups + how) for total, dtype, how in found]
    return [*found, (0, 0, "refused")] if collective == "allreduce" else found


@needs_torch
def test_processes_with_gloo(tmp_path: Path) -> None:
    machines = ("ring", "dgx1", "damaged")
    cases = []
    for number, collective in enumerate(COLLECTIVES):
        machine = machines[number % 3]
        text = text_of(machine, collective)
        function = text.split()[2 + 1]
        name = f"{collective} on {machine}"
        cases.append((name, function, text, *case(machine, collective), calls(collective, number)))
    (tmp_path / "cases").write_bytes(pickle.dumps((8, cases)))
    program = Path(__file__).with_name("gloo_ranks.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path / "cases", tmp_path / "results"],
        env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    errors = json.loads((tmp_path / "results").read_text())
    assert errors == {name: [] for name, *_ in cases}


@needs_torch
def test_wrong_tables_are_refused_on_load() -> None:
    """A removed message has its step, chunk and rank; every other change is refused, too."""
    rng = random.Random(5)
    for machine, collective in (("ring", "allreduce"), ("dgx1", "broadcast"), ("ring", "groups")):
        text = text_of(machine, collective)
        places, messages, sums = map(text.index, ("PLACES = [", "MESSAGES = [", "SUMS = ["))
        end = text.index("ALIASED")
        rows = [
            m.span() for m in re.finditer(r"\([-\d, ]+\),", text[:sums]) if m.start() > messages
        ]
        numbers = [m.span() for m in re.finditer(r"\b\d+", text[:end]) if m.start() > places]
        exec(text, types.ModuleType("exported").__dict__)
        for _ in range(84):
            start, stop = rng.choice(rows)
            with pytest.raises(ValueError, match=r"step \d+, chunk \d+, rank \d+: "):
                exec(text[:start] + text[stop:], types.ModuleType("exported").__dict__)
            start, stop = rng.choice(numbers)
            other = f"{int(text[start:stop]) + rng.randint(1, 9)}"
            if text[:start].rpartition("\n")[2].startswith("#"):
                continue  # a comment
            with pytest.raises(ValueError, match="wrong table"):
                exec(text[:start] + other + text[stop:], types.ModuleType("exported").__dict__)


@needs_torch
def test_modules_share_the_order_of_their_calls() -> None:
    """Otherwise messages of two calls under way could have the same tag."""
    modules = [types.ModuleType("exported") for _ in range(2)]
    for module, collective in zip(modules, ("allgather", "broadcast"), strict=True):
        exec(text_of("ring", collective), module.__dict__)
    assert modules[0].CALLS is modules[1].CALLS


def test_the_proved_bound_is_in_the_head() -> None:
    made = request(*case("ring", "broadcast"))
    assert "Nothing is proved" in _text(made)
    assert "No algorithm with S <= 3" in _text(replace(made, claims=("No algorithm with S <= 3.",)))


def _text(made: ExportRequest) -> str:
    return export_verified(RECORD, made, {}).exported.files["sample.py"].decode()
