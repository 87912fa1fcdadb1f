"""Files that are broken, foreign or wrong are rejected with the reason, never with a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.documents import load_text, read_file
from syncoll.errors import FileFormatError, SyncollError, VerificationError

Json = dict[str, Any]
Break = Callable[[Json], object]


def refused(content: object, match: str, kind: type[SyncollError] = FileFormatError) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(kind, match=match) as caught:
        load_text(text, "some.json")
    assert str(caught.value).startswith("some.json")


# Not even a document ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("{", "truncated"),
        ("not json", "not JSON"),
        ("{'schema': 1}", "not JSON"),
        ('{"schema": "syncoll/frontier/1"} {}', "not JSON"),
        ("[]", "not a file of syncoll"),
        ("3", "not a file of syncoll"),
        ("null", "not a file of syncoll"),
        ('"syncoll/frontier/1"', "not a file of syncoll"),
        ("{}", "not a file of syncoll"),
        ('{"schema": 1}', "not a file of syncoll"),
        ('{"schema": "syncoll/frontier"}', "unknown schema"),
        ('{"schema": "syncoll/frontier/1 "}', "unknown schema"),
        ('{"schema": "syncoll/frontier/-1"}', "unknown schema"),
        ('{"schema": "syncoll/poem/1"}', "unknown schema 'syncoll/poem/1'; this syncoll reads"),
        ('{"schema": "openapi/3"}', "unknown schema"),
        ('{"schema": "syncoll/frontier/12"}', "newer syncoll.*upgrade"),
        ('{"schema": "syncoll/outcome/999999999"}', "newer syncoll"),
        ('{"schema": "syncoll/frontier/0"}', "unknown schema"),
        ('{"schema": "syncoll/frontier/1"}', "the entry 'topology' is missing"),
        ('{"schema": "syncoll/frontier/1", "schema": "syncoll/frontier/1"}', "twice"),
        ('{"schema": "syncoll/outcome/1", "seconds": NaN}', "NaN is not a number"),
        ('{"schema": "syncoll/outcome/1", "seconds": -Infinity}', "not a number"),
        ('{"schema": "syncoll/outcome/1", "seconds": 1e999}', "too large"),
        ('{"schema": "syncoll/outcome/1", "nodes": 1' + "0" * 5000 + "}", "too large"),
        ('{"schema": "syncoll/outcome/1", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
        ('{"schema": "syncoll/outcome/1", "x": ' + '{"a":' * 500 + "1" + "}" * 501, "nested"),
        ('{"schema": "syncoll/outcome/1", "x": ' + "[" * 300 + "]" * 300 + "}", "nested"),
        ("[" * 100_000, "nested"),
    ],
)  # fmt: skip
def test_no_document(text: str, match: str) -> None:
    refused(text, match)


@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02", b"\xff\xfe{}", b"\x80", bytes(range(256)), b"\x1f\x8b\x08\x00"]
)
def test_binary(content: bytes, written: Callable[[object], Path]) -> None:
    with pytest.raises(FileFormatError, match=r"not JSON|not a text file"):
        read_file(written(content))


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.json", tmp_path / "no" / "folder", Path("a\0b")):
        with pytest.raises(FileFormatError, match="cannot read"):
            read_file(path)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device")
def test_a_device_is_no_file_of_ours() -> None:
    with pytest.raises(FileFormatError, match="empty"):
        read_file(Path("/dev/null"))


@pytest.mark.skipif(os.name != "posix", reason="no such permissions")
def test_a_file_without_permission(written: Callable[[object], Path]) -> None:
    path = written("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(FileFormatError, match="Permission denied"):
        read_file(path)


@pytest.mark.parametrize("name", ["frontier", "sat", "unsat", "algorithm"])
def test_truncated_anywhere(name: str, document: Callable[[str], Json]) -> None:
    text = json.dumps(document(name))
    for end in range(0, len(text), max(1, len(text) // 150)):
        with pytest.raises(FileFormatError, match=r"truncated|not JSON|empty"):
            load_text(text[:end], "some.json")


# Documents with wrong statements ------------------------------------------------------------------


def point(content: Json, i: int = 0) -> Json:
    result: Json = content["points"][i]
    return result


def assign(container: Any, key: Any, value: Any) -> None:
    container[key] = value


BROKEN: dict[str, tuple[str, Break, str, type[SyncollError]]] = {
    "bandwidth": (
        "dgx1",
        lambda d: assign(point(d), "bandwidth", "1"),
        "bandwidth 1 is not rounds/chunks = 3/2",
        FileFormatError,
    ),
    "bandwidth with denominator 0": (
        "dgx1",
        lambda d: assign(point(d), "bandwidth", "3/0"),
        r"points\[0\]\.bandwidth is \"3/0\"; expected a denominator other than 0 \(R/C\)",
        FileFormatError,
    ),
    "open bandwidth with denominator 0": (
        "dgx1",
        lambda d: d["open"].append({"steps": [3, None], "bandwidth": ["1", "1/0"], "reason": ""}),
        r"open\[\d\]\.bandwidth\[1\] is \"1/0\"; expected a denominator other than 0",
        FileFormatError,
    ),
    "bandwidth as a number": (
        "dgx1",
        lambda d: assign(point(d), "bandwidth", 1.5),
        r"points\[0\]\.bandwidth is 1\.5; expected an exact rational as text, such as 7/6",
        FileFormatError,
    ),
    "a float where an integer is due": (
        "dgx1",
        lambda d: assign(point(d), "chunks", 2.0),
        r"points\[0\]\.chunks is 2\.0; expected a whole number \(C\)",
        FileFormatError,
    ),
    "a Boolean where an integer is due": (
        "dgx1",
        lambda d: assign(point(d), "steps", True),
        r"points\[0\]\.steps is true; expected a whole number \(S\)",
        FileFormatError,
    ),
    "negative rounds": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["rounds_per_step"], 0, -1),
        r"algorithm\.rounds_per_step\[0\] is -1; expected a whole number of at least 0",
        FileFormatError,
    ),
    "huge chunks": (
        "dgx1",
        lambda d: assign(point(d), "chunks", 10**30),
        r"points\[0\]\.chunks is 10+; expected a whole number of at most 1000000000",
        FileFormatError,
    ),
    "huge send": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["sends"][0], 0, 10**30),
        r"points\[0\]\.algorithm\.sends\[0\]\[0\] is 10+; expected .* of at most 1000000000",
        FileFormatError,
    ),
    "send of floats": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["sends"][0], 0, 1.0),
        r"points\[0\]\.algorithm\.sends\[0\]\[0\] is 1\.0; expected a whole number",
        FileFormatError,
    ),
    "send of three": (
        "dgx1",
        lambda d: point(d)["algorithm"]["sends"][0].pop(),
        r"sends\[0\] is \[\d+, \d, \d\]; expected a list of length 4 .*chunk, source, destination",
        FileFormatError,
    ),
    "send of an object": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["sends"], 0, {"chunk": 1}),
        r"algorithm\.sends\[0\] is {\"chunk\": 1}; expected a list .*chunk, source, dest",
        FileFormatError,
    ),
    "send of an unknown chunk": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["sends"][0], 0, 16),
        "chunk 16 is not within 0 to 15",
        VerificationError,
    ),
    "send over no link": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"]["sends"][0], 2, 7),
        "no such link",
        VerificationError,
    ),
    "send removed": (
        "dgx1",
        lambda d: point(d)["algorithm"]["sends"].pop(),
        "never reaches",
        VerificationError,
    ),
    "send twice": (
        "dgx1",
        lambda d: point(d)["algorithm"]["sends"].append(point(d)["algorithm"]["sends"][0]),
        "listed 2 times",
        VerificationError,
    ),
    "sends too early": (
        "dgx1",
        lambda d: [assign(row, 3, 0) for row in point(d)["algorithm"]["sends"]],
        "does not hold it then|a round",
        VerificationError,
    ),
    "rounds per step": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"], "rounds_per_step", [3, 0]),
        "more than .* a round",
        VerificationError,
    ),
    "rounds that do not add up": (
        "dgx1",
        lambda d: assign(point(d)["algorithm"], "rounds_per_step", [1, 1]),
        "2 rounds, not 3",
        VerificationError,
    ),
    "more steps": (
        "dgx1",
        lambda d: point(d)["algorithm"]["rounds_per_step"].append(0),
        "3 steps, not 2",
        VerificationError,
    ),
    "link removed": (
        "dgx1",
        lambda d: d["interconnect"]["links"].pop(0),
        "interconnect: .*not a link",
        FileFormatError,
    ),
    "link added": (
        "dgx1",
        lambda d: assign(d["interconnect"], "links", [*d["interconnect"]["links"], [7, 3]]),
        "interconnect",
        FileFormatError,
    ),
    "link to nowhere": (
        "dgx1",
        lambda d: assign(d["interconnect"]["links"][-1], 1, 8),
        "names node 8",
        FileFormatError,
    ),
    "narrower bound": (
        "dgx1",
        lambda d: [assign(b, "chunks_per_round", "1/2") for b in d["interconnect"]["bounds"]],
        "more than 1/2 a round",
        VerificationError,
    ),
    "bound of zero": (
        "dgx1",
        lambda d: assign(d["interconnect"]["bounds"][0], "chunks_per_round", "0"),
        "bandwidth 0",
        FileFormatError,
    ),
    "fewer nodes": (
        "dgx1",
        lambda d: assign(d, "nodes", 7),
        "nodes 0 to 6",
        FileFormatError,
    ),
    "more nodes than can be verified": (
        "dgx1",
        lambda d: assign(d, "nodes", 65536),
        "more than syncoll can verify",
        FileFormatError,
    ),
    "chunk in two classes": (
        "dgx1",
        lambda d: point(d)["chunk_classes"][0]["chunks"].append(1),
        "exactly once",
        FileFormatError,
    ),
    "chunk in no class": (
        "dgx1",
        lambda d: point(d)["chunk_classes"][0]["chunks"].pop(0),
        "exactly once",
        FileFormatError,
    ),
    "class of an unknown node": (
        "dgx1",
        lambda d: point(d)["chunk_classes"][0]["post"].append(8),
        "names node 8",
        FileFormatError,
    ),
    "other start": (
        "dgx1",
        lambda d: assign(point(d)["chunk_classes"][0], "pre", [7]),
        "does not hold it then|never reaches",
        VerificationError,
    ),
    "no start": (
        "dgx1",
        lambda d: assign(point(d)["chunk_classes"][0], "pre", []),
        "starts nowhere",
        FileFormatError,
    ),
    "nothing to do": (
        "algorithm",
        lambda d: [assign(c, "post", []) for c in d["chunk_classes"]],
        "post .* is empty",
        FileFormatError,
    ),
    "dominated point": (
        "dgx1",
        lambda d: d["points"].append(point(d)),
        "dominate",
        VerificationError,
    ),
    "below the bound on steps": (
        "dgx1",
        lambda d: assign(d["bounds"], "steps", 3),
        "below the file's bounds",
        VerificationError,
    ),
    "below the bound on bandwidth": (
        "dgx1",
        lambda d: assign(d["bounds"], "bandwidth", "4/3"),
        "below the file's bounds",
        VerificationError,
    ),
    "below its own bound": (
        "dgx1",
        lambda d: assign(point(d), "bound", "2"),
        "below its bound 2",
        VerificationError,
    ),
    "status": (
        "dgx1",
        lambda d: assign(point(d), "status", "believed"),
        r"points\[0\]\.status is \"believed\"; expected \"verified\"",
        FileFormatError,
    ),
    "unsat with an algorithm": (
        "sat",
        lambda d: assign(d, "verdict", "unsat"),
        r'(status is "verified"|algorithm is .*); expected null' ,
        FileFormatError,
    ),
    "sat without an algorithm": (
        "sat",
        lambda d: assign(d, "algorithm", None),
        "algorithm is null; expected an object",
        FileFormatError,
    ),
    "sat without verification": (
        "sat",
        lambda d: assign(d, "status", None),
        r'status is null; expected "verified" \(verified if there is an algorithm' ,
        FileFormatError,
    ),
    "unknown turned into unsat": (
        "unknown",
        lambda d: assign(d, "verdict", "unsat"),
        r'reason is "time limit"; expected "decided"' ,
        FileFormatError,
    ),
    "unsat turned into unknown": (
        "unsat",
        lambda d: assign(d, "verdict", "unknown"),
        r'reason is "decided"; expected text .*why the backend stopped' ,
        FileFormatError,
    ),
    "post that cannot be reached": (
        "unsat",
        lambda d: assign(d, "interconnect", {"links": [], "bounds": []}),
        "no path leads",
        FileFormatError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_wrong_statements_are_rejected(what: str, document: Callable[[str], Json]) -> None:
    name, break_it, match, kind = BROKEN[what]
    content = document(name)
    load_text(json.dumps(content), "some.json")  # it was good before the change
    break_it(content)
    refused(content, match, kind)


@pytest.mark.parametrize("name", ["dgx1", "sat", "algorithm"])
def test_every_required_key(name: str, document: Callable[[str], Json]) -> None:
    optional = {"version", "status", "phases", "variables", "constraints", "bound", "combining"}
    optional |= {"strategy", "k", "max_steps", "max_rounds", "max_chunks", "time_limit"}
    optional |= {"point_limit", "proof", "evidence", "digest", "messages"}
    content = document(name)
    containers: list[Json] = [content, *content.get("points", [])]
    containers += [c["algorithm"] for c in containers if "algorithm" in c]
    containers += [content["interconnect"], content["interconnect"]["bounds"][0]]
    for container in containers:
        for key in [k for k in container if k not in optional]:
            if name == "sat" and key in ("encoding", "backend") and container is not content:
                continue
            saved = container.pop(key)
            refused(content, ".", SyncollError)
            container[key] = saved


def test_unknown_keys_are_left_to_later_versions(document: Callable[[str], Json]) -> None:
    content = document("dgx1") | {"certificates": [1, {"a": 2}]}
    point(content)["provenance"] = "elsewhere"
    assert load_text(json.dumps(content), "some.json").document["certificates"] == [1, {"a": 2}]
