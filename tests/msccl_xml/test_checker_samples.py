"""Files as other tools write them: right ones, and errors of each kind."""

from __future__ import annotations

import ast
import random
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import syncoll_msccl_xml
from syncoll.errors import UncheckedError, VerificationError
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import CheckedExport
from syncoll_msccl_xml import RECORD

Algorithms = Mapping[str, Callable[..., str]]

MINIMAL = """\
<algo name="x" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" \
inplace="0" outofplace="1" minBytes="0" maxBytes="134217728">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" \
deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"""
DIALECTS = ("msccl", "executor", "rccl")


def check(
    text: str | bytes, dialect: str = "any", instance: Instance | None = None
) -> CheckedExport:
    content = text.encode() if isinstance(text, str) else text
    return RECORD.load_checker().check({"x.xml": content}, {"dialect": dialect}, instance)


def refusal(text: str | bytes, dialect: str = "any", instance: Instance | None = None) -> str:
    with pytest.raises(VerificationError) as caught:
        check(text, dialect, instance)
    message = str(caught.value)
    assert message.startswith("x.xml: ")
    return message


def edit(text: str, pattern: str, replacement: str) -> str:
    """The text with the first match replaced, which must be there."""
    assert re.search(pattern, text), pattern
    return re.sub(pattern, replacement, text, count=1)


def complete(num: int) -> Topology:
    links = {(a, b): 1 for a in range(num) for b in range(num) if a != b}
    return Topology.from_links("complete", num, links)


def instance_of(
    name: str, num: int, pre: np.ndarray, post: np.ndarray, combining: bool
) -> Instance:
    return Instance(complete(num), name, 1, 4, 8, pre, post, combining)


@pytest.mark.parametrize("dialect", [*DIALECTS, "any"])
def test_the_minimal_file_runs_everywhere(dialect: str) -> None:
    result = check(MINIMAL, dialect)
    assert (result.collective, result.num_nodes, result.in_place) == ("allgather", 2, False)
    shown = ", ".join(DIALECTS) if dialect == "any" else dialect
    assert result.format == f"MSCCL XML ({shown})"
    assert result.facts["steps"] == 6


@pytest.mark.parametrize(
    "text",
    [
        MINIMAL.replace("\n", "\r\n"),
        re.sub(r">\s+<", "><", MINIMAL).strip(),
        MINIMAL.replace("/>", " />"),
        "<!-- made by hand: a > b, 'x' -->\n" + MINIMAL,
        MINIMAL + "<!-- the end -->",
        edit(MINIMAL, "<gpu id=", '<gpu color="red" id='),
        edit(MINIMAL, "    <tb", '    <copy a="1"><deep/></copy>\n    <tb'),
        edit(MINIMAL, 'ngpus="2"', 'ngpus="0x2"'),
    ],
    ids=["crlf", "one line", "space", "comment", "after", "attribute", "element", "hexadecimal"],
)
def test_tolerated_syntax(text: str) -> None:
    assert check(text).format == "MSCCL XML (msccl, executor, rccl)"


LEXICAL = {
    "declaration": ('<?xml version="1.0"?>\n' + MINIMAL, r"refuse <\?xml"),
    "doctype": ('<!DOCTYPE a [<!ENTITY b "c">]>' + MINIMAL, "no declarations and no entities"),
    "single quotes": (MINIMAL.replace('"Simple"', "'Simple'"), "must be in double quotes"),
    "newline in a tag": (MINIMAL.replace(' type="s"', '\ntype="s"'), "must be on one line"),
    "tab in a tag": (MINIMAL.replace(' type="s"', '\ttype="s"'), "single space"),
    "tab after a space": (MINIMAL.replace(' type="s"', ' \ttype="s"'), "a tab before type"),
    "indented by tabs": (MINIMAL.replace("  <gpu", "\t<gpu"), r"expected <, found '\\t'"),
    "text": (MINIMAL.replace("    </tb>", "    done</tb>"), "expected <, found 'd'"),
    "something behind": (MINIMAL + "<algo/>", "after the end of <algo>"),
    "long value": (MINIMAL.replace('name="x"', f'name="{"x" * 255}"'), "more than 254"),
    "long name": (MINIMAL.replace("<gpu id", f"<gpu {'x' * 255}"), "more than 254"),
    "too many spaces": (
        MINIMAL.replace(' hasdep="0"/>', " " * 9 + 'hasdep="0"/>'),
        "only the first 16",
    ),
    "not closed": (MINIMAL.replace("</algo>", ""), "line 1: <algo> is not closed"),
    "cut off": (MINIMAL[:700], "ends within a tag|not closed"),
    "wrong end": (MINIMAL.replace("  </gpu>", "  </tb>", 1), "</tb> cannot close <gpu> of line 2"),
    "not first": ("<algos>" + MINIMAL + "</algos>", "<algo …> must come first"),
    "garbage number": (MINIMAL.replace('cnt="1"', 'cnt="one"', 1), "not a whole number"),
    "octal": (MINIMAL.replace('cnt="1"', 'cnt="08"', 1), "octal"),
    "huge number": (MINIMAL.replace('cnt="1"', f'cnt="{"9" * 200}"', 1), "beyond all limits"),
    "twice": (MINIMAL.replace('cnt="1"', 'cnt="1" cnt="1"', 1), "given twice"),
    "comment with =": ("<!--a=b-->" + MINIMAL, "= in the first word of a comment"),
    "byte order mark": ("\ufeff" + MINIMAL, "byte order mark"),
    "empty": ("", "the file is empty"),
}


@pytest.mark.parametrize("name", sorted(LEXICAL))
def test_refused_syntax(name: str) -> None:
    text, message = LEXICAL[name]
    assert re.search(message, refusal(text))


HEADER = {
    "no outofplace": ("executor", ' outofplace="1"', "", "outofplace of algo not found"),
    "no minBytes": ("rccl", ' minBytes="0"', "", "minBytes of algo not found"),
    "no maxBytes": ("executor", ' maxBytes="134217728"', "", "maxBytes of algo not found"),
    "no name": ("msccl", ' name="x"', "", "name of algo not found"),
    "long name": ("msccl", 'name="x"', f'name="{"x" * 64}"', "more than 63"),
    "proto": ("any", '"Simple"', '"simple"', "proto is 'simple'"),
    "coll": ("any", '"allgather"', '"Allgather"', "coll is 'Allgather'"),
    "alltoallv": ("rccl", '"allgather"', '"alltoallv"', "never chosen"),
    "spelling of msccl": ("executor", '"allgather"', '"reduce_scatter"', "knows .*reducescatter"),
    "spelling of rccl": ("msccl", '"allgather"', '"reducescatter"', "knows .*reduce_scatter"),
    "channels": ("executor", 'nchannels="1"', 'nchannels="33"', "1 to 32"),
    "no placement": ("executor", 'outofplace="1"', 'outofplace="0"', "both 0"),
    "maxBytes 0": ("msccl", 'maxBytes="134217728"', 'maxBytes="0"', "no message has"),
    "sizes": ("executor", 'minBytes="0"', 'minBytes="134217729"', "no message has"),
    "threads": ("msccl", 'name="x"', 'name="x" nthreads="48"', "multiple of 32"),
    "more gpus": ("any", 'ngpus="2"', 'ngpus="3"', "rank 2 of 3 has no gpu element"),
    "fewer gpus": ("any", 'ngpus="2"', 'ngpus="1"', "gpu id 1, but ngpus is 1"),
    "not divisible": ("any", 'perloop="2"', 'perloop="3"', "multiple of ngpus"),
    "input": ("msccl", 'i_chunks="1"', 'i_chunks="2"', "i_chunks is 2, .* has 1 chunks"),
    "output": ("rccl", 'o_chunks="2"', 'o_chunks="3"', "o_chunks is 3, .* has 2 chunks"),
    "scratch": ("any", 's_chunks="0"', 's_chunks="-1"', "s_chunks is -1"),
    "no i_chunks": ("any", ' i_chunks="1"', "", "rank 0, line 2: attribute i_chunks of gpu not"),
}


@pytest.mark.parametrize("name", sorted(HEADER))
def test_headers(name: str) -> None:
    dialect, old, new, message = HEADER[name]
    assert old in MINIMAL
    assert re.search(message, refusal(MINIMAL.replace(old, new, 1), dialect))


def test_limits_differ_by_runtime() -> None:
    unlimited = MINIMAL.replace('maxBytes="134217728"', 'maxBytes="0"')
    assert check(unlimited).format == "MSCCL XML (executor, rccl)"
    assert "no message" in str(check(unlimited).facts["refused by msccl"])
    wide = MINIMAL.replace('nchannels="1"', 'nchannels="100"')
    assert check(wide).format == "MSCCL XML (rccl)"
    tools = edit(MINIMAL, ' outofplace="1" minBytes="0" maxBytes="134217728"', "")
    assert check(tools).format == "MSCCL XML (msccl)"


BLOCKS = {
    "same id": ('tb id="1"', 'tb id="0"', "rank 0, thread block 0, .* ids must be 0, 1, 2"),
    "gap": ('tb id="1"', 'tb id="2"', "1 was expected"),
    "self": ('send="1" recv="1"', 'send="0" recv="1"', "send is the rank itself"),
    "no such peer": ('send="1" recv="1"', 'send="2" recv="1"', "send is 2"),
    "channel": ('recv="1" chan="0"', 'recv="1" chan="1"', "chan is 1; with nchannels = 1"),
    "no channel": ('recv="-1" chan="0"', 'recv="-1" chan="-1"', "chan is -1"),
    "open end": ('send="1" recv="1"', 'send="1" recv="-1"', "its messages have no other end"),
    "sharing": ('send="-1" recv="-1"', 'send="1" recv="-1"', "cannot share a connection"),
}


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_thread_blocks(name: str) -> None:
    old, new, message = BLOCKS[name]
    assert old in MINIMAL
    assert re.search(message, refusal(MINIMAL.replace(old, new, 1)))


def test_a_peer_that_no_block_answers_may_be_connected_before() -> None:
    """Two ranks are neighbours in every ring; of more channels it depends on the machine."""
    wide = MINIMAL.replace('nchannels="1"', 'nchannels="8"')
    text = wide.replace('send="-1" recv="-1" chan="0"', 'send="-1" recv="1" chan="1"', 1)
    found = check(text)
    assert found.format == "MSCCL XML (msccl, rccl)"
    assert "block 1, line 7: it receives from rank 1 on channel 1" in str(found.facts["open end"])
    assert "waits for the other end, unless" in str(found.facts["refused by executor"])
    for other, dialect in ((text.replace('chan="1"', 'chan="5"'), "msccl"), (text, "executor")):
        with pytest.raises(UncheckedError, match="unless its rings and trees"):
            check(other, dialect)
    # A wrong result is found all the same.
    wrong = text.replace('dstbuf="o" dstoff="1"', 'dstbuf="o" dstoff="0"', 1)
    assert re.search("race: |wrong result", refusal(wrong, "msccl"))


STEPS = {
    "unknown": (
        'type="cpy"',
        'type="ra"',
        "rank 0, thread block 1, step 0 .ra., line 8: type 'ra'",
    ),
    "number": ('step s="1"', 'step s="2"', "s is 2; runtimes count"),
    "buffer": ('srcbuf="i"', 'srcbuf="x"', "srcbuf is 'x'"),
    "no cnt": (' cnt="1"', "", "attribute cnt of step not found"),
    "cnt 0": ('cnt="1"', 'cnt="0"', "cnt is 0"),
    "cnt 72": ('cnt="1"', 'cnt="72"', "cnt is 72"),
    "count": ('dstoff="0" cnt="1"', 'dstoff="0" cnt="2"', r"out of bounds: .*i\[1\], and i_chunks"),
    "offset": ('dstoff="1"', 'dstoff="2"', r"destination is o\[2\]"),
    "unused offset": (
        '"o" dstoff="1"',
        '"o" dstoff="-1"',
        r"out of bounds: its destination is o\[-1",
    ),
    "int8": ('depid="-1"', 'depid="128"', "8 bits"),
    "no block": ('depid="-1" deps="-1"', 'depid="2" deps="0"', "waits for thread block 2"),
    "no step": ('depid="-1" deps="-1"', 'depid="1" deps="1"', "waits for step 1 of thread block 1"),
    "no deps": ('depid="-1"', 'depid="1"', "waits for step -1"),
    "no flag": (
        'depid="-1" deps="-1"',
        'depid="1" deps="0"',
        "waits forever: the flag of thread block 1 of rank 0 is raised 0",
    ),
    "self": (
        'depid="-1" deps="-1" hasdep="0"',
        'depid="0" deps="0" hasdep="1"',
        "deadlock: .* waits for the flag of thread block 0",
    ),
    "hasdep": ('hasdep="0"', 'hasdep="2"', "hasdep is 2"),
    "nop": ('type="cpy"', 'type="nop"', "nop without a dependency"),
    "no peer": ('type="cpy"', 'type="s"', "no send peer"),
    "garbage": (
        'type="s" srcbuf="i" srcoff="0"',
        'type="s" srcbuf="o" srcoff="1"',
        "reads o.1. of rank 0 before anything is stored",
    ),
    "wrong": ('dstbuf="o" dstoff="1"', 'dstbuf="o" dstoff="0"', "race: |wrong result"),
}


@pytest.mark.parametrize("name", sorted(STEPS))
def test_steps(name: str) -> None:
    old, new, message = STEPS[name]
    assert old in MINIMAL
    assert re.search(message, refusal(MINIMAL.replace(old, new, 1)))


def step(kind: str, src: str, dst: str, cnt: int = 1, dep: str = "-1 -1", flag: int = 0) -> str:
    depid, deps = dep.split()
    return (
        f'<step s="?" type="{kind}" srcbuf="{src[0]}" srcoff="{src[1:]}" dstbuf="{dst[0]}" '
        f'dstoff="{dst[1:]}" cnt="{cnt}" depid="{depid}" deps="{deps}" hasdep="{flag}"/>'
    )


def pair(
    coll: str,
    chunks: int,
    sizes: str,
    tbs: list[list[tuple[str, list[str]]]],
    proto: str = "Simple",
    inplace: int = 0,
) -> str:
    """A file: for each rank its thread blocks as ``send recv chan`` and steps."""
    i, o, s = sizes.split()
    channels = 1 + max(int(head.split()[2]) for rank in tbs for head, _ in rank)
    text = (
        f'<algo name="x" proto="{proto}" nchannels="{channels}" nchunksperloop="{chunks}" '
        f'ngpus="{len(tbs)}" coll="{coll}" inplace="{inplace}" outofplace="{1 - inplace}" '
        'minBytes="0" maxBytes="1000">'
    )
    for r, blocks in enumerate(tbs):
        text += f'<gpu id="{r}" i_chunks="{i}" o_chunks="{o}" s_chunks="{s}">'
        for t, (head, steps) in enumerate(blocks):
            send, recv, chan = head.split()
            text += f'<tb id="{t}" send="{send}" recv="{recv}" chan="{chan}">'
            text += "".join(x.replace("?", str(n)) for n, x in enumerate(steps)) + "</tb>"
        text += "</gpu>"
    return text + "</algo>"


def test_three_sends_before_three_receives_hang_under_simple() -> None:
    def rank(r: int) -> list[tuple[str, list[str]]]:
        out = [step("s", f"i{j}", "o0") for j in range(3)]
        back = [step("r", "i0", f"o{(1 - r) * 3 + j}") for j in range(3)]
        own = [step("cpy", "i0", f"o{r * 3}", 3)]
        return [(f"{1 - r} {1 - r} 0", out + back), ("-1 -1 0", own)]

    text = pair("allgather", 6, "3 6 0", [rank(0), rank(1)])
    message = refusal(text)
    assert re.search(
        r"deadlock: rank 0, thread block 0, step 2 \(s\), line 1 waits for space "
        r"\(rank 0 -> rank 1, channel 0, which holds 2\); rank 1, thread block 0, step 2 \(s\)",
        message,
    )
    assert check(text.replace("Simple", "LL")).facts["chunks moved"] == 18
    assert check(text.replace("Simple", "LL128")).facts["protocol"] == "LL128"


def test_messages_in_another_order_and_of_other_counts() -> None:
    def text(first: list[str], second: list[str]) -> str:
        own = [step("cpy", "i0", "o0", 2)]
        return pair(
            "broadcast", 2, "2 2 0", [[("1 -1 0", first), ("-1 -1 0", own)], [("-1 0 0", second)]]
        )

    s0, s1, r0, r1 = (
        step("s", "i0", "o0"),
        step("s", "i1", "o1"),
        step("r", "i0", "o0"),
        step("r", "i1", "o1"),
    )
    assert check(text([s0, s1], [r0, r1])).facts["root"] == 0
    assert "wrong result for broadcast of root 0: o[0] of rank 1 ends with chunk 1" in refusal(
        text([s1, s0], [r0, r1])
    )
    assert re.search(
        "its message is never received: 3 chunks", refusal(text([s0, s1, s1], [r0, r1]))
    )
    assert re.search("its message is never sent", refusal(text([s0], [r0, r1])))
    both = step("s", "i0", "o0", 2)
    assert re.search(
        "receives 1 chunk, but rank 0, .* sends 2 chunks", refusal(text([both], [r0, r1]))
    )
    assert check(text([both], [step("r", "i0", "o0", 2)])).collective == "broadcast"


def test_dependencies_within_a_rank() -> None:
    def text(dep: str, flag: int, before: list[str] | None = None) -> str:
        steps = [*(before or []), step("re", "s0", "o0", dep=dep)]
        ranks = [
            [
                (f"{1 - r} {1 - r} 0", [step("s", "i0", "o0"), step("r", "i0", "s0", flag=flag)]),
                ("-1 -1 0", [step("cpy", "i0", "o0"), *steps]),
            ]
            for r in range(2)
        ]
        return pair("allreduce", 1, "1 1 1", ranks)

    assert check(text("0 1", 1)).format == "MSCCL XML (msccl, executor, rccl)"
    assert check(text("0 0", 1)), "a later step's flag ends the wait too"
    assert "is raised 0 times" in refusal(text("0 1", 0))
    assert re.search(r"race: it reads s\[0\] of rank .* nothing orders", refusal(text("-1 -1", 1)))
    nop = step("nop", "i-1", "o-1", dep="0 1")
    assert "followed by a step with a dependency of its own" in refusal(text("-1 -1", 1, [nop]))
    assert check(text("0 1", 1, [nop]))
    assert "a nop at the end" in refusal(
        text("0 1", 1).replace(
            "</tb></gpu>", step("nop", "i-1", "o-1", dep="0 1").replace("?", "2") + "</tb></gpu>", 1
        )
    )
    assert "twice" in refusal(text("0 1", 1, [step("re", "s0", "o0", dep="0 1")]))


def test_a_send_without_a_barrier_may_still_read() -> None:
    """RCCL's send under LL; a write to its source must wait for a later step."""

    def text(sender: list[str], dep: str, proto: str = "LL") -> str:
        ranks = [
            [
                (f"{1 - r} -1 0", sender),
                (f"-1 {1 - r} 0", [step("r", "i0", "s0"), step("re", "s0", "i0", dep=dep)]),
            ]
            for r in range(2)
        ]
        return pair("allreduce", 1, "1 1 2", ranks, proto, 1)

    sent, after = step("s", "i0", "s0", flag=1), step("cpy", "i0", "s1", flag=1)
    early = text([sent], "0 0")
    assert check(early).format == "MSCCL XML (msccl, executor)"
    message = refusal(early, "rccl")
    assert "race: it writes i[0]" in message
    assert "step 0 (s)" in message
    assert "may end before its reads are done" in message
    for proto in ("Simple", "LL128"):
        assert check(text([sent], "0 0", proto), "rccl")
    assert check(text([sent, after], "0 1"), "rccl")
    assert "race" in refusal(text([sent, after], "0 0"), "rccl"), "its own flag ends the wait"
    first = step("cpy", "i0", "s1", flag=1)
    assert "race" in refusal(text([first, sent], "0 1"), "rccl"), "an earlier step implies nothing"


@pytest.mark.parametrize(
    ("steps", "right"),
    [
        (["r i0 s0", "s i0 s0", "re s0 i0"], False),
        (["s i0 s0", "r i0 s0", "re s0 i0"], True),
        (["r i0 s0", "s i0 s0", "cpy s0 s1", "re s0 i0"], True),
    ],
)
def test_a_block_continues_while_its_send_reads(steps: list[str], right: bool) -> None:
    """A reduction assigns elements to other threads than the send before it."""
    other = ["s i0 s0", "r i0 s0", "re s0 i0"]
    ranks = [
        [(f"{1 - r} {1 - r} 0", [step(*one.split()) for one in block])]
        for r, block in enumerate((steps, other))
    ]
    text = pair("allreduce", 1, "1 1 2", ranks, "LL", 1)
    assert check(text, "executor")
    if right:
        assert check(text, "rccl")
    else:
        assert "it overwrites data that the send before it may still read" in refusal(text, "rccl")


def test_runs_of_reductions() -> None:
    """One rank adds messages from 20 others in one run, as many runtimes do."""

    def text(count: int, pause: int = 0, cnt: tuple[int, int] = (1, 1)) -> str:
        size = max(cnt)
        steps = []
        for j in range(count):
            flag = int(pause > 0 and j % pause == pause - 1)
            dep = f"{j + 1} 0" if j == 0 else "-1 -1"
            steps.append(step("re", f"s{j * size}", "o0", cnt[j % 2], dep=dep, flag=flag))
        nops = [step("nop", "i0", "o0", dep=f"{j + 1} 0") for j in range(1, count)]
        own = [step("cpy", "i0", "o0", size), *nops, *steps]
        blocks = [("-1 -1 0", own)]
        blocks += [
            (f"-1 {j + 1} 0", [step("r", "i0", f"s{j * size}", size, flag=1)]) for j in range(count)
        ]
        ranks: list[list[tuple[str, list[str]]]] = [blocks]
        ranks += [[("0 -1 0", [step("s", "i0", "o0", size)])] for _ in range(count)]
        return pair("reduce", size, f"{size} {size} {count * size}", ranks)

    assert check(text(16)).facts["root"] == 0
    assert check(text(20)), "a run ends when 16 are counted"
    assert check(text(20, pause=5))
    assert "cnt differ (2 and 1)" in refusal(text(4, cnt=(2, 1)))


def test_a_long_run_after_others_overflows() -> None:
    cpy = step("cpy", "i0", "s0")
    short = [step("re", "i0", "s0"), cpy] * 17
    long = [step("re", f"i{j}", "s0") for j in range(17)]
    text = pair("allreduce", 17, "17 17 1", [[("-1 -1 0", [*short, *long])]])
    assert "more than 16 reductions into one place in a row" in refusal(text)


def test_a_step_that_overlaps_itself() -> None:
    text = pair("allreduce", 3, "3 3 0", [[("-1 -1 0", [step("cpy", "i0", "o1", 2)])]], inplace=1)
    assert "the chunks of this step overlap" in refusal(text)


def test_placements(algorithms: Algorithms) -> None:
    text = algorithms["ring_allreduce"](3)
    both = text.replace('outofplace="0"', 'outofplace="1"')
    assert check(both, "msccl").in_place is True
    assert "out of place: " in refusal(both, "executor")
    gather = algorithms["ring_allgather"](3)
    both = gather.replace('inplace="0"', 'inplace="1"')
    result = check(both, "executor")
    assert result.in_place is None
    assert check(both, "msccl").in_place is True
    assert "in place" in refusal(
        algorithms["direct_alltoall"]().replace('inplace="0"', 'inplace="1"'), "msccl"
    )
    named = algorithms["direct_alltoall"]().replace('name="x"', 'name="2D"')
    assert "of the name 2D" in refusal(named, "msccl")
    assert check(named, "rccl").collective == "alltoall"


def test_an_alltoall_in_place_overwrites_unsent_data(algorithms: Algorithms) -> None:
    text = algorithms["direct_alltoall"]().replace('inplace="0"', 'inplace="1"')
    text = text.replace('outofplace="1"', 'outofplace="0"')
    assert re.search("race|wrong result", refusal(text, "executor"))


def test_rccl_refuses_fused_steps_when_launched(algorithms: Algorithms) -> None:
    for name, kind in (
        ("ring_allgather", "rcs"),
        ("ring_allreduce", "rrs"),
        ("star_reduce", "rrc"),
    ):
        message = refusal(algorithms[name](), "rccl")
        assert f"RCCL refuses {kind} when it is launched" in message
    assert check(algorithms["split_allreduce"](), "rccl").collective == "allreduce"


def test_too_many_blocks_for_races_are_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncoll_threadblocks.races._MOST_AGENTS", 1)
    with pytest.raises(UncheckedError, match="are too many to check for races"):
        check(MINIMAL)


def test_limits_of_dialects() -> None:
    steps = [step("cpy", "i0", "o0")] * 65
    text = pair("allreduce", 1, "1 1 0", [[("-1 -1 0", steps)]])
    assert check(text).format == "MSCCL XML (msccl)"
    assert "65 steps; RCCL allows 64" in refusal(text, "rccl")
    steps = [step("cpy", "i0", "o0")] * 257
    assert "allows 256" in refusal(pair("allreduce", 1, "1 1 0", [[("-1 -1 0", steps)]]), "msccl")
    blocks = [("-1 -1 0", [step("cpy", "i0", "o0")])] + [("-1 -1 0", [])] * 64
    text = pair("allreduce", 1, "1 1 0", [blocks])
    assert check(text).format == "MSCCL XML (msccl, executor)"
    blocks = [("-1 -1 0", [step("cpy", "i0", "o0")] * 64)] + [
        ("-1 -1 0", [step("cpy", "i0", "s0")] * 63)
    ] * 64
    text = pair("allreduce", 1, "1 1 1", [blocks])
    assert "it reads 4163 elements; the parser allows 4095" in refusal(text, "executor")
    fan: list[list[tuple[str, list[str]]]] = [[(f"{p} -1 0", []) for p in range(1, 34)]]
    fan += [[("-1 0 0", [])] for _ in range(33)]
    assert "more than 32 thread blocks send" in refusal(pair("allreduce", 1, "1 1 0", fan))


@pytest.mark.parametrize("root", [0, 2])
def test_rooted_collectives(root: int, algorithms: Algorithms) -> None:
    assert check(algorithms["chain_broadcast"](4, root)).facts["root"] == root
    assert check(algorithms["star_reduce"](4, root)).facts["root"] == root


def test_gather_and_scatter() -> None:
    gather = [
        [("-1 -1 0", [step("cpy", "i0", "o0")]), ("-1 1 0", [step("r", "i0", "o1")])],
        [("0 -1 0", [step("s", "i0", "o1")])],
    ]
    text = pair("gather", 1, "1 2 0", gather)
    assert check(text).format == "MSCCL XML (rccl)"
    assert "gather is never chosen" in refusal(text, "executor")
    scatter = [
        [("-1 -1 0", [step("cpy", "i0", "o0")]), ("1 -1 0", [step("s", "i1", "o0")])],
        [("-1 0 0", [step("r", "i1", "o0")])],
    ]
    assert check(pair("scatter", 1, "2 1 0", scatter)).facts["root"] == 0
    scatter[0][0] = ("-1 -1 0", [step("cpy", "i1", "o0")])
    assert "wrong result for scatter" in refusal(pair("scatter", 1, "2 1 0", scatter), "rccl")


def test_only_the_root_of_a_reduce_has_an_output() -> None:
    ranks = [
        [("-1 1 0", [step("cpy", "i0", "o0"), step("rrc", "o0", "o0")])],
        [("0 -1 0", [step("cpy", "i0", "o0"), step("s", "o0", "o0")])],
    ]
    assert "only the root has an output" in refusal(pair("reduce", 1, "1 1 0", ranks))


def test_the_input_is_the_callers() -> None:
    steps = [step("cpy", "i0", "o0"), step("cpy", "o0", "i0")]
    message = refusal(pair("allreduce", 1, "1 1 0", [[("-1 -1 0", steps)]]))
    assert "step 1 (cpy), line 1: writes i[0] of rank 0, which belongs to the caller's" in message


def test_custom_collectives_are_executed_but_not_compared() -> None:
    text = MINIMAL.replace('"allgather"', '"custom"')
    assert "not checked" in str(check(text).facts["result"])
    everyone = np.ones((2, 2), dtype=bool)
    instance = instance_of("allgather", 2, np.eye(2, dtype=bool), everyone, False)
    assert "does not define the places of chunks" in refusal(text, "msccl", instance)


def test_against_an_instance(algorithms: Algorithms) -> None:
    one, everyone = np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)
    allgather = instance_of("gather it all", 3, one, everyone, False)
    allreduce = instance_of("sum", 3, everyone, everyone, True)
    text = algorithms["ring_allgather"](3, 1)
    assert check(text, "executor", allgather).collective == "allgather"
    assert check(algorithms["ring_allreduce"](3), "executor", allreduce).collective == "allreduce"
    assert "reduces" in refusal(text, "executor", allreduce)
    assert "reduces" in refusal(algorithms["ring_allreduce"](3), "executor", allgather)
    twice = instance_of(
        "allgather", 3, np.repeat(one, 2, axis=0), np.ones((6, 3), dtype=bool), False
    )
    assert check(text, "executor", twice), "a file cuts the data in its own way"
    more = instance_of("uneven", 3, one[[0, 0, 1, 2]], np.ones((4, 3), dtype=bool), False)
    assert "collective uneven needs" in refusal(text, "executor", more)
    assert "is for 4 ranks" in refusal(algorithms["ring_allgather"](4), "executor", allgather)
    from_1 = Collective.from_arrays("b", [[False, True, False]], [[True, True, True]])
    broadcast = from_1.instantiate(complete(3), chunks=1, steps=2, rounds=2)
    assert check(algorithms["chain_broadcast"](3, 1), "executor", broadcast), "in two pieces"
    assert "collective b needs" in refusal(algorithms["chain_broadcast"](3, 2), "any", broadcast)
    scattered = instance_of("reducescatter", 3, everyone, one, True)
    assert check(algorithms["nop_reducescatter"](), "rccl", scattered).collective == "reducescatter"
    assert check(algorithms["nop_reducescatter"]("reduce_scatter"), "msccl", scattered)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize(
    "content",
    [
        b"<a>" * 2_000_000,
        b"<algo " + b" " * 3_000_000,
        b"<!--" * 1_000_000,
        b'<algo name="' + b"x" * 5_000_000 + b'">',
        MINIMAL.replace("    <tb", "<x>" * 1_000_000 + "    <tb", 1).encode(),
        MINIMAL.replace('s_chunks="0"', 's_chunks="2147483647"').replace("1", "1").encode() + b"<",
        edit(MINIMAL, 'perloop="2"', 'perloop="2000000000"').encode(),
        bytes(range(256)) * 1000,
        b"<" * 65_000_000,
    ],
    ids=["nested", "spaces", "comments", "value", "skipped", "scratch", "chunks", "bytes", "large"],
)
def test_a_hostile_file_is_refused_quickly(content: bytes) -> None:
    assert seconds(lambda: refusal(content)) < 2


def test_broken_files_are_refused_with_a_reason(algorithms: Algorithms) -> None:
    dice = random.Random(5)
    texts = [algorithms[name]() for name in sorted(algorithms)]
    refused = 0
    for _ in range(1500):
        content = bytearray(dice.choice(texts).encode())
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(content))
            kind = dice.randrange(4)
            if kind == 0:
                content[at] = dice.randrange(256)
            elif kind == 1:
                del content[at : at + dice.randrange(1, 60)]
            elif kind == 2:
                content[at:at] = dice.choice(
                    [b"<", b">", b'"', b"/", b" ", b"\0", b"9", b"-", b"="]
                )
            else:
                other = dice.randrange(len(content))
                content[at:at] = content[other : other + dice.randrange(1, 80)]
        message = ""
        try:
            check(bytes(content))
        except VerificationError as error:
            refused += 1
            message = str(error)
        assert message == "" or message.startswith("x.xml: ")
    assert refused > 1000


def test_large_scratch_costs_nothing() -> None:
    text = MINIMAL.replace('s_chunks="0"', 's_chunks="2147483647"')
    assert seconds(lambda: check(text)) < 1


def test_ten_thousands_of_steps_take_seconds(algorithms: Algorithms) -> None:
    text = algorithms["split_allreduce"](48)
    start = time.process_time()
    result = check(text, "msccl")
    assert int(result.facts["steps"]) > 11_000
    assert time.process_time() - start < 60


def test_the_checker_shares_no_code_with_the_writer() -> None:
    package = Path(syncoll_msccl_xml.__file__).parent
    own = [package / "checker.py", *sorted((package / "reading").glob("*.py"))]
    assert len(own) >= 6
    for file in own:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                assert not module.startswith("syncoll.runtime")
                if module.startswith("syncoll_msccl_xml"):
                    # Both look up facts about the runtimes.
                    facts = module == "syncoll_msccl_xml.limits"
                    assert facts or module.startswith("syncoll_msccl_xml.reading")
    for file in package.glob("*.py"):
        assert file.name == "checker.py" or "msccl_xml.reading" not in file.read_text()
