"""Tables have the sends of the algorithm, and the checkers find differences."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance, Topology
from syncoll.plugins import CheckedExport, ExportRequest
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case
from syncoll.trust import violations
from syncoll_sends import RECORD

COLUMNS = ["step", "rounds", "chunk", "source", "destination", "contributors"]


def export(instance: Instance, algorithm: Algorithm) -> bytes:
    request = ExportRequest("sample", instance.collective, instance, algorithm)
    ((name, content),) = export_verified(RECORD, request, {}).exported.files.items()
    assert name == "sample.csv"
    return content


def check(content: bytes, instance: Instance | None = None) -> CheckedExport:
    return RECORD.load_checker().check({"sample": content}, {}, instance)


def refused(content: bytes, reason: str, instance: Instance | None = None) -> None:
    with pytest.raises(VerificationError, match=reason):
        check(content, instance)


def combining_case() -> tuple[Instance, Algorithm]:
    rng = random.Random(0)
    while True:
        instance, algorithm = random_case(rng)
        if instance.combining and instance.topology.num_nodes > 2:
            return instance, algorithm


def plain_case() -> tuple[Instance, Algorithm]:
    rng = random.Random(0)
    while True:
        instance, algorithm = random_case(rng)
        if not instance.combining and len(algorithm.sends) > 3:
            return instance, algorithm


def test_the_rows_are_the_sends() -> None:
    rng = random.Random(6)
    for _ in range(30):
        instance, algorithm = random_case(rng)
        text = export(instance, algorithm).decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert "\r" not in text
        assert len(rows) == len(algorithm.sends)
        for i, row in enumerate(rows):
            chunk, source, destination, step = algorithm.sends[i].tolist()
            rounds = algorithm.rounds_per_step[step]
            expected = [step, rounds, chunk, source, destination]
            assert [int(row[name]) for name in COLUMNS[:5]] == expected
            if algorithm.contributions is None:
                assert row["contributors"] == ""
            else:
                nodes = np.flatnonzero(algorithm.contributions[i]).tolist()
                assert [int(text) for text in row["contributors"].split()] == nodes


def table_of(instance: Instance, algorithm: Algorithm, rounds: list[int]) -> bytes:
    """A CSV table of an algorithm, right or wrong, not made by the exporter."""
    lines = [",".join(COLUMNS)]
    for i, (chunk, source, destination, step) in enumerate(algorithm.sends.tolist()):
        nodes = []
        if algorithm.contributions is not None:
            nodes = np.flatnonzero(algorithm.contributions[i]).tolist()
        text = " ".join(map(str, nodes))
        lines.append(f"{step},{rounds[step]},{chunk},{source},{destination},{text}")
    return "\n".join(lines).encode()


def test_the_checker_agrees_with_a_replay_of_changed_sends() -> None:
    rng = random.Random(12)
    found: Counter[bool] = Counter()
    for _ in range(60):
        instance, algorithm = random_case(rng)
        for _ in range(12):
            sends = algorithm.sends.copy()
            carried = None if algorithm.contributions is None else algorithm.contributions.copy()
            rounds = list(algorithm.rounds_per_step)
            what = rng.choice(["cell", "swap", "drop", "rounds", "contributors", "nothing"])
            i = rng.randrange(len(sends))
            if what == "cell":
                column = rng.randrange(4)
                top = (instance.num_chunks, *[instance.topology.num_nodes] * 2, instance.steps)
                sends[i, column] = rng.randrange(top[column])
            elif what == "swap":
                j = rng.randrange(len(sends))
                sends[[i, j], 3] = sends[[j, i], 3]
            elif what == "drop":
                sends = np.delete(sends, i, axis=0)
                carried = None if carried is None else np.delete(carried, i, axis=0)
            elif what == "rounds":
                rounds[rng.randrange(len(rounds))] = rng.randrange(3)
            elif what == "contributors" and carried is not None:
                carried[i, rng.randrange(carried.shape[1])] ^= True
                if not carried[i].any():
                    continue
            if carried is not None and not len(carried):
                continue
            changed = Algorithm(tuple(rounds), sends, carried)
            # A step without sends has no row with its rounds.
            if set(range(instance.steps)) - set(sends[:, 3].tolist()):
                continue
            wrong = bool(violations(instance, changed))
            found[wrong] += 1
            content = table_of(instance, changed, rounds)
            if wrong:
                with pytest.raises(VerificationError):
                    check(content, instance)
            else:
                assert check(content, instance).facts["solves"] == "replayed"
    assert min(found.values()) > 50, found


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    instance, algorithm = combining_case()
    lines = export(instance, algorithm).decode().splitlines()
    rows = [line.split(",") for line in lines]
    turned = [",".join(reversed(row)) for row in (rows[0], *reversed(rows[1:]))]
    content = b"\xef\xbb\xbf" + "\r\n".join(turned).encode()
    assert check(content, instance).facts["sends"] == len(algorithm.sends)
    assert RECORD.recognises(Path("x"), content)


def test_steps_without_sends_get_the_remaining_rounds() -> None:
    instance, algorithm = plain_case()
    sends = algorithm.sends.copy()
    sends[:, 3] += 1
    rounds = (2, *algorithm.rounds_per_step)
    longer = Instance(
        instance.topology,
        instance.collective,
        instance.chunks,
        instance.steps + 1,
        sum(rounds),
        instance.pre,
        instance.post,
    )
    content = export(longer, Algorithm(rounds, sends))
    assert check(content, longer).facts["solves"] == "replayed"


def test_a_table_has_no_instance() -> None:
    instance, algorithm = plain_case()
    checked = check(export(instance, algorithm))
    assert checked.collective == "not stated"
    assert "not checked" in str(checked.facts["solves"])


BAD_TABLES = {
    "no column is called 'when'": "when,rounds,chunk,source,destination\n",
    "no column rounds": "step,chunk,source,destination\n",
    "two columns are called step": "step,step,rounds,chunk,source,destination\n",
    "line 2: 4 values": "step,rounds,chunk,source,destination\n1,2,3,4\n",
    "line 2: step is '-1'": "step,rounds,chunk,source,destination\n-1,1,0,0,1\n",
    "line 2: step is '1.0'": "step,rounds,chunk,source,destination\n1.0,1,0,0,1\n",
    "line 2: chunk is ''": "step,rounds,chunk,source,destination\n1,1,,0,1\n",
    "line 2: chunk is '9999999999'": "step,rounds,chunk,source,destination\n1,1,9999999999,0,1\n",
    "line 2: source is '٣'": "step,rounds,chunk,source,destination\n1,1,0,٣,1\n",
    "sends to itself": "step,rounds,chunk,source,destination\n0,1,0,1,1\n",
    "same send as in line 2": "step,rounds,chunk,source,destination\n0,1,0,0,1\n0,1,0,0,1\n",
    "3 rounds here and 1": "step,rounds,chunk,source,destination\n0,1,0,0,1\n0,3,0,1,0\n",
    "all or none": "step,rounds,chunk,source,destination,contributors\n0,1,0,0,1,0\n0,1,0,1,0,\n",
    "named twice": "step,rounds,chunk,source,destination,contributors\n0,1,0,0,1,2 2\n",
    "contributors is 'x'": "step,rounds,chunk,source,destination,contributors\n0,1,0,0,1,x\n",
    "line 1": "",
}


@pytest.mark.parametrize(("reason", "text"), BAD_TABLES.items(), ids=list(BAD_TABLES))
def test_other_tables_are_refused(reason: str, text: str) -> None:
    refused(text.encode(), reason)


def test_other_texts_are_refused() -> None:
    refused(b"step,rounds,chunk\xff", "byte 17 is not UTF-8")
    refused(b'step,rounds,chunk,source,destination\n"0,1,0,0,1', "line 2")
    refused(b'step,rounds,chunk,source,destination\n"0"x,1,0,0,1', "line 2")


def test_other_numbers_of_steps_nodes_and_kinds() -> None:
    instance, algorithm = combining_case()
    content = export(instance, algorithm).decode()
    header, first, *rest = content.splitlines()
    fields = first.split(",")
    late = ",".join([str(instance.steps), *fields[1:]])
    refused("\n".join([header, late, *rest]).encode(), "there are", instance)
    stranger = ",".join([*fields[:5], "77"])
    refused("\n".join([header, stranger, *rest]).encode(), "contributor 77", instance)
    plain, _ = plain_case()
    refused(content.encode(), "has no contributors", plain)


def test_the_record_recognises_its_files() -> None:
    content = export(*plain_case())
    assert RECORD.recognises(Path("x"), content[:4096])
    assert not RECORD.recognises(Path("x"), b'{"schema": "syncoll/algorithm/1"}')


def test_one_file_is_one_table() -> None:
    content = export(*plain_case())
    with pytest.raises(VerificationError, match="2 files"):
        RECORD.load_checker().check({"a": content, "b": content}, {})


def test_the_columns_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")]
    assert rows == COLUMNS


def test_rounds_that_are_not_whole_are_ratios() -> None:
    machine = Topology.from_links(
        "sixths", 2, {(0, 1): Fraction(6, 5), (1, 0): Fraction(3, 2)}, grains=6
    )
    instance = Instance(
        machine, "exchange", 1, 2, Fraction(11, 6), [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    )
    algorithm = Algorithm((Fraction(5, 6), 1), [[0, 0, 1, 0], [1, 1, 0, 1]])
    content = export(instance, algorithm)
    found = check(content, instance)
    assert (found.rounds, found.result_checked) == (Fraction(11, 6), True)
    slow = Algorithm((1, Fraction(5, 6)), [[0, 0, 1, 0], [1, 1, 0, 1]])
    assert not check(export(instance, slow)).result_checked
    assert content.decode().splitlines()[1] == "0,5/6,0,0,1,"
    short = content.replace(b"5/6", b"4/6")
    refused(short, "5/3 rounds, not 11/6", instance)
    refused(content.replace(b"5/6", b"5/0"), "line 2: rounds is '5/0'")
