"""The checker of schedules finds errors, and reports them without a crash."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, ExportRequest
from syncoll.runtime import export_verified
from syncoll.testing.instances import random_case
from syncoll_goal import RECORD


def check(text: str, instance: Instance | None = None) -> CheckedExport:
    return RECORD.load_checker().check({"a.goal": text.encode()}, {}, instance)


def refused(text: str, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        check(text)


def mutants(lines: list[str], i: int, strict: bool) -> Iterator[tuple[str, list[str]]]:
    """Replacements of one line, which all make the schedule wrong."""
    line = lines[i]
    words = line.split()
    if line.startswith("//@"):
        if words[1] != "sizes":
            yield f"{words[1]} dropped", []
        yield "a note cut short", [line[: len("//@ s")]]
        if words[1] == "sizes":
            yield "another size of a chunk", [f"{line[:-1]}{(int(line[-1]) + 1) % 10}"]
            yield "a size too few", [line.rpartition(" ")[0]]
        if words[1] == "chunks":
            yield "another chunk", [f"{line} 99999"]
        if words[1] == "reads":
            yield "reads twice", [line, line]
            yield "reads what is not there", [f"{line} l999"]
            yield "reads another chunk", [f"{line} chunk 99999"]
        return
    if line in ("", "}") or words[0] in ("rank", "num_ranks", "//"):
        if words and words[0] != "//":
            yield "structure dropped", []
            yield "structure twice", [line, line]
        return
    yield "twice", [line, line] if ":" in line else [f"{words[0]} requires {words[0]}"]
    if "irequires" in words:
        yield "starts after nothing", [f"{words[0]} irequires nobody"]
        return
    if "requires" in words:
        if not strict:  # otherwise its inputs are also awaited with the rest of its step
            yield "does not wait", []
        yield "waits for nothing", [f"{words[0]} requires nobody"]
        return
    if words[1] == "calc":
        return
    yield "dropped", []
    size, peer, tag = words[2], words[4], words[6]
    yield "another size", [line.replace(size, "123b")]
    yield "no size", [line.replace(size, "0b")]
    yield "another tag", [line.replace(f"tag {tag}", "tag 999")]
    yield "no tag", [line.replace(f" tag {tag}", " tag")]
    yield "a rank that is not there", [line.replace(f"{words[3]} {peer}", f"{words[3]} 99")]
    turned = {"send": "recv", "recv": "send", "to": "from", "from": "to"}
    yield "the other way round", [" ".join(turned.get(word, word) for word in words)]
    yield "a wrong preposition", [line.replace(f" {words[3]} ", f" {turned[words[3]]} ")]
    yield "two lines in one", [f"{line} {line}"]


def test_no_mutant_survives() -> None:
    tried: Counter[str] = Counter()
    rng = random.Random(2)
    for seed in range(24):
        instance, algorithm = random_case(random.Random(seed))
        request = ExportRequest("sample", instance.collective, instance, algorithm)
        strict = seed % 2 == 0
        options = {"steps": "strict" if strict else "relaxed"}
        handed = export_verified(RECORD, request, options)
        lines = handed.exported.files["sample.goal"].decode().splitlines()
        for i in rng.sample(range(len(lines)), min(len(lines), 12)):
            for name, instead in mutants(lines, i, strict):
                text = "\n".join([*lines[:i], *instead, *lines[i + 1 :]]) + "\n"
                for known in (instance, None):
                    if known is None and name == "collective dropped":
                        continue  # then every other note is wrong, if any
                    tried[name] += 1
                    try:
                        check(text, known)
                    except VerificationError:
                        continue
                    pytest.fail(f"{name}: {lines[i]!r} of seed {seed} survived")
    assert sum(tried.values()) > 1000
    assert len(tried) >= 18, tried


OTHER_TOOLS = """// a binary tree
num_ranks 3
rank 0 {
l1: send 1b to 1 tag 0 cpu 0
l2: send 1b to 2
}
/* the
   others */
rank 1 {
recv 1b from 0
}

rank 2 {
\ta: calc 100 cpu 1
\tb:recv 1b from 0 tag 0 nic 3
b irequires a
}"""


def test_schedules_of_other_tools_are_played_without_their_data() -> None:
    found = check(OTHER_TOOLS)
    assert not found.result_checked
    assert (found.num_nodes, found.facts["messages"], found.facts["computations"]) == (3, 2, 1)
    assert found.links == {(0, 1), (0, 2)}
    instance, _ = random_case(random.Random(1))
    with pytest.raises(VerificationError):
        check(OTHER_TOOLS, instance)
    with pytest.raises(UncheckedError, match="depends on timing"):
        check(OTHER_TOOLS.replace("recv 1b from 0\n", "recv 1b from -1\n"))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("num_ranks 3", "num_ranks 4", "there are 3 ranks; num_ranks is 4"),
        ("num_ranks 3", "num_ranks 2", "line 5: peer is 2; expected at most 1"),
        ("num_ranks 3", "", "a rank before num_ranks"),
        ("rank 2 {", "rank 3 {", "line 13: it is rank 3; expected rank 2"),
        ("l2: send", "l1: send", "two operations are called l1"),
        ("l2: send", "send: send", "a word of the format"),
        ("l2: send", "l2 send", "txt2bin does not know"),
        ("cpu 1", "cpu 256", "cpu is 256; expected at most 255"),
        ("b irequires a", "a requires b\nb requires a", "deadlock"),
        ("b irequires a", "b irequires b", "waits for itself"),
        ("send 1b to 2", "send 2b to 2", "2 bytes with tag 0 to rank 2, not 1"),
        ("recv 1b from 0\n", "recv 1b from 0\nrecv 1b from 2\n", "no message arrives for it"),
        ("recv 1b from 0\n", "calc 1\n", "its message is never received"),
        ("tag 0 nic 3", "nic 3 tag 0", "line 15"),
        ("}\n/*", "/*", "rank 0 has not ended"),
        ("// a binary", "//@ starts 0\n// a", "a note without //@ collective"),
    ],
)
def test_errors_are_named(old: str, new: str, reason: str) -> None:
    assert old in OTHER_TOOLS
    refused(OTHER_TOOLS.replace(old, new), reason)


def test_sends_that_wait_for_their_receives() -> None:
    """Both ranks send before they receive: this ends only if sends do not wait."""
    ranks = [
        f"rank {r} {{\na: send 1b to {1 - r}\nb: recv 1b from {1 - r}\nb requires a\n}}\n"
        for r in (0, 1)
    ]
    text = "num_ranks 2\n" + "".join(ranks)
    assert str(check(text).facts["rendezvous"]).startswith("ends only if sends do not wait")
    started = text.replace("requires", "irequires")
    assert str(check(started).facts["rendezvous"]).startswith("ends whether")
