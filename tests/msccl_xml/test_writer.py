"""Files of the writer compute the algorithm's result for any timing."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.plugins import Exported, ExportRequest, resolve_options
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import Kind, kind_of, layout_of
from syncoll.testing.instances import connected_topology, random_case, random_trees
from syncoll_msccl_xml import DIALECTS, PROTOCOLS, RECORD
from tests.oracles.classics import hub, one_way_ring, ring

DEPTH = 2
MOST_STEPS = {"msccl": 256, "executor": 64, "rccl": 64}

Content = tuple[int, int, frozenset[tuple[int, int]]]
"""Chunk, part of it, and the count of each contribution in it; empty for plain data."""


def request(instance: Instance, algorithm: Algorithm, *, in_place: bool = False) -> ExportRequest:
    return ExportRequest("some-name_1.0", "x", instance, algorithm, in_place)


def write(wanted: ExportRequest, **options: object) -> Exported:
    chosen = resolve_options(RECORD.options, options, "exporter")
    return RECORD.load().export(wanted, chosen)


def text_of(exported: Exported) -> str:
    ((name, content),) = exported.files.items()
    assert name.endswith(".xml")
    return content.decode("ascii")


@dataclass
class Machine:
    """Executes a file with random timing, a message for each chunk of a step."""

    instance: Instance
    algo: ElementTree.Element
    rng: random.Random
    open_sends: bool = False
    memory: dict[tuple[int, str, int], Content] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.in_place = self.algo.get("inplace") == "1"
        self.instance = cut_as(self.instance, int(self.algo.get("nchunksperloop", "")))
        self.layout = layout_of(self.instance, in_place=self.in_place)
        for gpu in self.algo.findall("gpu"):
            rank = int(gpu.get("id", ""))
            for name, chunks in (
                ("i_chunks", self.layout.input_chunks),
                ("o_chunks", self.layout.output_chunks),
            ):
                assert int(gpu.get(name, "")) == chunks[rank]
        for chunk, node in np.argwhere(self.instance.pre).tolist():
            own = frozenset([(node, 1)]) if self.instance.combining else frozenset()
            index = int(self.layout.inputs[chunk, node])
            self.memory[self.place(node, "i", index)] = (chunk, 0, own)

    def place(self, rank: int, buffer: str, index: int) -> tuple[int, str, int]:
        """The unique name of a slot: in place input and output are one memory."""
        assert index >= 0
        shift = self.layout.shift[rank]
        if buffer == "i" and shift is not None:
            return rank, "o", index + shift
        return rank, buffer, index

    def add(self, one: Content, two: Content) -> Content:
        assert one[:2] == two[:2]
        total = Counter(dict(one[2])) + Counter(dict(two[2]))
        return (*one[:2], frozenset(total.items()))

    def run(self) -> None:
        queues: dict[tuple[int, int, int], deque[Content]] = defaultdict(deque)
        flags: dict[tuple[int, int], int] = defaultdict(lambda: -1)
        blocks = {}
        for gpu in self.algo.findall("gpu"):
            for tb in gpu.findall("tb"):
                blocks[int(gpu.get("id", "")), int(tb.get("id", ""))] = (tb, tb.findall("step"))
        at, part = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, 0)
        while live := [key for key in blocks if at[key] < len(blocks[key][1])]:
            self.rng.shuffle(live)
            for key in live:
                tb, steps = blocks[key]
                step = steps[at[key]].attrib
                if step["depid"] != "-1" and flags[key[0], int(step["depid"])] < int(step["deps"]):
                    continue
                if self.open_sends and step["type"] == "s" and step["hasdep"] == "1":
                    flags[key] = at[key]  # raised while it still reads
                if self.execute(key[0], tb.attrib, step, part[key], queues):
                    part[key] += 1
                    if part[key] < int(step["cnt"]):
                        break
                    part[key] = 0
                    if step["hasdep"] == "1":
                        flags[key] = at[key]
                    at[key] += 1
                    break
            else:
                raise AssertionError("deadlock")
        assert not any(queues.values())

    def execute(
        self,
        rank: int,
        tb: Mapping[str, str],
        step: Mapping[str, str],
        part: int,
        queues: dict[tuple[int, int, int], deque[Content]],
    ) -> bool:
        op = step["type"]
        inbox = queues[int(tb["recv"]), rank, int(tb["chan"])]
        outbox = queues[rank, int(tb["send"]), int(tb["chan"])]
        if op.startswith("r") and op != "re" and not inbox:
            return False
        if op.endswith("s") and len(outbox) >= DEPTH:
            return False
        if op == "nop":
            return True
        source = (step["srcbuf"], int(step["srcoff"]) + part)
        target = (step["dstbuf"], int(step["dstoff"]) + part)
        if op in ("s", "cpy", "re", "rrc", "rrs", "rrcs"):
            own = self.memory[self.place(rank, *source)]
        if op == "s" or op == "cpy":
            value = own
        elif op == "re":
            value = self.add(own, self.memory[self.place(rank, *target)])
        else:
            value = inbox.popleft()
            if op in ("rrc", "rrs", "rrcs"):
                value = self.add(own, value)
        if op in ("r", "rcs", "cpy", "re", "rrc", "rrcs"):
            self.memory[self.place(rank, *target)] = value
        if op in ("s", "rcs", "rrs", "rrcs"):
            outbox.append(value)
        return True

    def require_right(self) -> None:
        for chunk, node in np.argwhere(self.instance.post).tolist():
            everyone = np.flatnonzero(self.instance.pre[chunk]).tolist()
            wanted = frozenset((n, 1) for n in everyone if self.instance.combining)
            index = int(self.layout.outputs[chunk, node])
            assert self.memory[self.place(node, "o", index)] == (chunk, 0, wanted)


def cut_as(instance: Instance, loop_chunks: int) -> Instance:
    """The instance with as many chunks as a file has: as many for each start and end."""
    kind = kind_of(instance)
    whole = kind.loop_chunks
    if kind.kind in (Kind.GATHER, Kind.SCATTER):
        whole //= kind.num_nodes
    _, first = np.unique(
        np.concatenate([instance.pre, instance.post], axis=1), axis=0, return_index=True
    )
    kept = np.repeat(np.sort(first), kind.share * loop_chunks // whole)
    assert len(kept) * whole == len(instance.pre) * loop_chunks
    return replace(instance, pre=instance.pre[kept], post=instance.post[kept])


def require_limits(algo: ElementTree.Element, dialect: str) -> None:
    channels = int(algo.get("nchannels", ""))
    assert channels <= (128 if dialect == "rccl" else 32)
    open_ends: Counter[tuple[str, int, int, int]] = Counter()
    for gpu in algo.findall("gpu"):
        rank, tbs = int(gpu.get("id", "")), gpu.findall("tb")
        assert [tb.get("id") for tb in tbs] == [str(i) for i in range(len(tbs))]
        steps = sum(len(tb.findall("step")) for tb in tbs)
        assert 1 + len(algo.findall("gpu")) + len(tbs) + steps <= 4095
        sizes = {b: int(gpu.get(f"{b}_chunks", "")) for b in "ios"}
        for tb in tbs:
            channel = int(tb.get("chan", ""))
            assert 0 <= channel < channels
            if tb.get("send") != "-1":
                open_ends["send", rank, int(tb.get("send", "")), channel] += 1
            if tb.get("recv") != "-1":
                open_ends["recv", int(tb.get("recv", "")), rank, channel] += 1
            lines = [step.attrib for step in tb.findall("step")]
            assert 0 < len(lines) <= MOST_STEPS[dialect]
            assert [line["s"] for line in lines] == [str(i) for i in range(len(lines))]
            assert lines[-1]["type"] != "nop"
            for line in lines:
                count = int(line["cnt"])
                assert 1 <= count <= 71
                if line["type"] in ("s", "cpy", "re", "rrc", "rrs", "rrcs"):
                    assert int(line["srcoff"]) + count <= sizes[line["srcbuf"]]
                if line["type"] not in ("s", "rrs", "nop"):
                    assert int(line["dstoff"]) + count <= sizes[line["dstbuf"]]
                assert int(line["depid"]) < 128
                if line["type"] == "nop":
                    assert line["depid"] != "-1"
                    assert line["hasdep"] == "0"
                if line["depid"] != "-1":
                    awaited = tbs[int(line["depid"])].findall("step")[int(line["deps"])]
                    assert awaited.get("hasdep") == "1"
                    assert line["depid"] != tb.get("id")
                if dialect == "rccl":
                    assert line["type"] in ("s", "r", "cpy", "re", "nop")
    assert set(open_ends.values()) <= {1}
    sends = {end[1:] for end in open_ends if end[0] == "send"}
    assert sends == {end[1:] for end in open_ends if end[0] == "recv"}


def differing_ends(algo: ElementTree.Element) -> int:
    """Messages whose ends state different slots."""
    sends: dict[tuple[str, str, str], list[tuple[str | None, ...]]] = defaultdict(list)
    receives: dict[tuple[str, str, str], list[tuple[str | None, ...]]] = defaultdict(list)
    keys = ("srcbuf", "srcoff", "dstbuf", "dstoff", "cnt")
    for gpu in algo.findall("gpu"):
        rank = gpu.get("id", "")
        for tb in gpu.findall("tb"):
            for step in tb.findall("step"):
                kind, slots = step.get("type", ""), tuple(step.get(key) for key in keys)
                if kind in ("s", "rcs", "rrs", "rrcs"):
                    sends[rank, tb.get("send", ""), tb.get("chan", "")].append(slots)
                if kind in ("r", "rcs", "rrc", "rrs", "rrcs"):
                    receives[tb.get("recv", ""), rank, tb.get("chan", "")].append(slots)
                if kind == "rcs":
                    assert slots[:2] == slots[2:4], "it has one slot"
    assert sends.keys() == receives.keys()
    pairs = (zip(sends[key], receives[key], strict=True) for key in sends)
    return sum(one != other for queue in pairs for one, other in queue)


def check(
    wanted: ExportRequest,
    rng: random.Random,
    dialect: str,
    instances: int = 1,
    proto: str = "Simple",
) -> str:
    text = text_of(write(wanted, dialect=dialect, instances=instances, proto=proto))
    algo = ElementTree.fromstring(text)
    require_limits(algo, dialect)
    assert differing_ends(algo) == 0
    assert int(algo.get("nchunksperloop", "")) % instances == 0
    machine = Machine(wanted.instance, algo, rng, (dialect, proto) == ("rccl", "LL"))
    machine.run()
    machine.require_right()
    return text


def exportable(instance: Instance, dialect: str, *, in_place: bool) -> bool:
    kind = kind_of(instance).kind
    if kind in (Kind.GATHER, Kind.SCATTER) and (dialect != "rccl" or in_place):
        return False
    return kind is not Kind.CUSTOM and (dialect, kind, in_place) != ("msccl", Kind.ALLTOALL, True)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", range(25))
def test_random_algorithms(dialect: str, seed: int) -> None:
    rng = random.Random(seed)
    instance, algorithm = random_case(rng)
    for in_place in (False, True):
        wanted = request(instance, algorithm, in_place=in_place)
        if exportable(instance, dialect, in_place=in_place):
            check(wanted, rng, dialect, rng.choice((1, 1, 2)), rng.choice(PROTOCOLS))
        else:
            with pytest.raises(ExportError):
                write(wanted, dialect=dialect)


def moving(kind: str, rng: random.Random, topology: Topology) -> tuple[Instance, Algorithm]:
    nodes = topology.num_nodes
    pairs = {
        "alltoall": [([a], [b]) for a in range(nodes) for b in range(nodes)],
        "gather": [([a], [1]) for a in range(nodes)],
        "scatter": [([1], [b]) for b in range(nodes)],
    }[kind]
    pre = np.zeros((2 * len(pairs), nodes), dtype=bool)
    post = pre.copy()
    for c, (start, end) in enumerate(pairs * 2):
        pre[c, start] = post[c, end] = True
    return random_trees(rng, topology, kind, pre, post)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ["alltoall", "gather", "scatter"])
def test_personal_collectives(dialect: str, kind: str) -> None:
    rng = random.Random(kind)
    for topology in (ring(4), connected_topology(rng)):
        instance, algorithm = moving(kind, rng, topology)
        for in_place in (False, True):
            if exportable(instance, dialect, in_place=in_place):
                check(request(instance, algorithm, in_place=in_place), rng, dialect)


def tree(kind: str, topology: Topology, copies: int, seed: int = 0) -> tuple[Instance, Algorithm]:
    """A random algorithm of an allgather or an allreduce."""
    rng = random.Random(seed)
    pre = np.tile(np.eye(topology.num_nodes, dtype=bool), (copies, 1))
    spread = random_trees(rng, topology, kind, pre, np.ones_like(pre))
    if kind == "allgather":
        return spread
    back = random_trees(rng, topology.reversed(), kind, pre, np.ones_like(pre))
    return compose(invert(*back, kind), spread, kind)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("copies", [3, 20])
def test_long_programs_keep_to_the_limits(dialect: str, copies: int) -> None:
    """Messages of a link are spread over channels, and queues never fill up in a ring."""
    instance, algorithm = tree("allreduce", ring(4), copies)
    text = check(request(instance, algorithm), random.Random(1), dialect)
    spread = int(ElementTree.fromstring(text).get("nchannels", ""))
    assert (spread > 1) == (copies == 20 and dialect != "msccl")


def exchange(dimensions: int) -> tuple[Instance, Algorithm]:
    """An allreduce on a hypercube: in each step all ranks exchange sums over one dimension."""
    nodes = 1 << dimensions
    links = {(n, n ^ 1 << d): 1 for n in range(nodes) for d in range(dimensions)}
    topology = Topology.from_links("cube", nodes, links)
    sends = [(0, n, n ^ 1 << d, d) for d in range(dimensions) for n in range(nodes)]
    carried = [[n >> d == m >> d for m in range(nodes)] for _, n, _, d in sends]
    everywhere = np.ones((1, nodes), dtype=bool)
    return (
        Instance(topology, "x", 1, dimensions, dimensions, everywhere, everywhere, True),
        Algorithm((1,) * dimensions, np.array(sends), np.array(carried)),
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("proto", PROTOCOLS)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_sends_are_read_before_they_are_overwritten(
    dialect: str, proto: str, dimensions: int
) -> None:
    """Under LL a send of RCCL has no barrier at its end, so its flag does not cover its reads."""
    wanted = request(*exchange(dimensions), in_place=True)
    for seed in range(5):
        text = check(wanted, random.Random(seed), dialect, proto=proto)
    checked = RECORD.load_checker().check({"x.xml": text.encode()}, {"dialect": dialect})
    assert checked.collective == "allreduce"


def test_blocks_are_shared_if_too_many() -> None:
    """Each of 34 ranks receives from 33 others and sends to them: 66 ends, RCCL has 64 blocks."""
    nodes = 34
    pre = np.eye(nodes, dtype=bool)
    sends = np.array([[a, a, b, 0] for a in range(nodes) for b in range(nodes) if a != b])
    instance = Instance(hub(nodes), "x", 1, 1, nodes - 1, pre, np.ones_like(pre))
    wanted = request(instance, Algorithm((nodes - 1,), sends))
    channels = {}
    for dialect in ("executor", "rccl"):
        algo = ElementTree.fromstring(text_of(write(wanted, dialect=dialect)))
        require_limits(algo, dialect)
        blocks = [gpu.findall("tb") for gpu in algo.findall("gpu")]
        channels[dialect] = algo.get("nchannels")
        shared = [
            tb for tbs in blocks for tb in tbs if "-1" not in (tb.get("send"), tb.get("recv"))
        ]
        assert bool(shared) == (dialect == "rccl")
        for tbs in blocks:
            for end in ("send", "recv"):
                ends = Counter(tb.get("chan") for tb in tbs if tb.get(end) != "-1")
                assert max(ends.values()) <= 32
    assert channels == {"executor": "2", "rccl": "2"}


def test_rings_are_fused() -> None:
    """One chunk a rank round a ring: every block but the first step is one fused operation."""
    nodes = 4
    topology = one_way_ring(nodes)
    pre = np.eye(nodes, dtype=bool)
    sends = np.array(
        [[c, (c + s) % nodes, (c + s + 1) % nodes, s] for c in range(nodes) for s in range(3)]
    )
    spread = (Instance(topology, "x", 1, 3, 3, pre, np.ones_like(pre)), Algorithm((1, 1, 1), sends))
    back = (
        Instance(topology.reversed(), "x", 1, 3, 3, pre, np.ones_like(pre)),
        Algorithm((1, 1, 1), _backwards(sends, nodes)),
    )
    reduced = invert(*back, "x")
    for case, wanted in (
        (spread, ["s", "rcs", "rcs", "r"]),
        (reduced, ["s", "rrs", "rrs", "rrc"]),
        (compose(reduced, spread, "x"), ["s", "rrs", "rrs", "rrcs", "rcs", "rcs", "r"]),
    ):
        text = check(request(*case, in_place=True), random.Random(0), "msccl")
        for gpu in ElementTree.fromstring(text).findall("gpu"):
            (tb,) = gpu.findall("tb")
            assert [step.get("type") for step in tb.findall("step")] == wanted
            assert gpu.get("s_chunks") == "0"


def test_equal_ends_keep_forwarding_fused() -> None:
    """Out of place, chunks that others forward are read from the rank's own copy of its input."""
    instance, algorithm = tree("allgather", ring(6), 2)
    inside = check(request(instance, algorithm, in_place=True), random.Random(0), "msccl")
    outside = check(request(instance, algorithm), random.Random(0), "msccl")
    assert inside.count('"rcs"') == outside.count('"rcs"') > 0
    wanted = request(*tree("allreduce", ring(6), 2))
    same, own = (text_of(write(wanted, ends=ends)) for ends in ("same", "own"))
    fused = [
        sum(text.count(f'"{op}"') for op in ("rcs", "rrc", "rrs", "rrcs")) for text in (same, own)
    ]
    assert 0 < fused[0] < fused[1]
    assert differing_ends(ElementTree.fromstring(own)) > 0
    content = {"x.xml": own.encode()}
    slots = RECORD.load_checker().check(content, {"dialect": "msccl"}).facts
    assert "it receives a message from" in str(slots["messages stated differently at their ends"])
    assert RECORD.load_checker().check(content, {"ends": "own"}).result_checked
    with pytest.raises(VerificationError, match="it receives a message from"):
        RECORD.load_checker().check(content, {"ends": "same"})
    text = re.sub(r'("rcs" srcbuf="o" srcoff=")', r"\g<1>1", outside, count=1)
    with pytest.raises(VerificationError, match="it sends the chunk stored in"):
        RECORD.load_checker().check({"x.xml": text.encode()}, {"ends": "same"})


def _backwards(sends: np.ndarray[Any, np.dtype[np.int64]], nodes: int) -> Any:
    """The reverse."""
    chunk, source, destination, step = sends.T
    return np.stack(
        [chunk, (2 * chunk - source) % nodes, (2 * chunk - destination) % nodes, step], axis=1
    )


@pytest.mark.parametrize(
    ("dialect", "instances", "complaint"),
    [
        ("rccl", 60, "at most 64 thread blocks on a GPU; rank 2 needs at least 120"),
        ("msccl", 33, "at most 32 channels; this needs 33 (there are 33 instances)"),
        ("executor", 33, "at most 32 channels"),
    ],
)
def test_limits_are_named(dialect: str, instances: int, complaint: str) -> None:
    with pytest.raises(ExportError, match=re.escape(complaint)):
        write(request(*tree("allgather", ring(4), 1)), dialect=dialect, instances=instances)


def test_too_many_elements_are_named() -> None:
    wanted = request(*tree("allreduce", ring(5), 200))
    with pytest.raises(ExportError, match="at most 4095 elements of a file; rank 0 needs"):
        write(wanted, instances=15)
    # The count of messages is enough to refuse it, before anything is built.
    reason = r"rank \d has \d+ messages, and needs at least"
    for write_or_count in (RECORD.load().export, RECORD.counts):
        with pytest.raises(ExportError, match=reason):
            write_or_count(wanted, resolve_options(RECORD.options, {"instances": 30}, "exporter"))


def test_chunks_of_one_way_are_one_step_and_powers_of_two() -> None:
    """Of 12 chunks a rank sends 9 by one tree and 3 by another: 3/4 and 1/4 of the data."""
    nodes, topology = 4, ring(4)
    pre = np.tile(np.eye(nodes, dtype=bool), (12, 1))
    sends = []
    for turn in range(12):
        way = 1 if turn < 9 else -1
        for chunk in range(nodes):
            ranks = [(chunk + way * hop) % nodes for hop in range(nodes)]
            sends += [
                [turn * nodes + chunk, ranks[hop], ranks[hop + 1], hop] for hop in range(nodes - 1)
            ]
    instance = Instance(topology, "x", 12, 3, 27, pre, np.ones_like(pre))
    wanted = request(instance, Algorithm((9, 9, 9), np.array(sends)))
    text = check(wanted, random.Random(1), "msccl")
    algo = ElementTree.fromstring(text)
    assert algo.get("nchunksperloop") == str(4 * nodes)
    counts = Counter(step.get("cnt") for step in algo.iter("step") if step.get("type") == "s")
    assert set(counts) == {"1", "3"}
    counted = RECORD.counts(wanted, resolve_options(RECORD.options, {}, "exporter"))
    assert counted is not None
    assert counted == write(wanted).counts
    assert (counted.multiple_of, counted.min_bytes) == (16, 16)
    tbs = [len(gpu.findall("tb")) for gpu in algo.findall("gpu")]
    assert counted.thread_blocks == max(tbs)


def test_shares_of_other_cuts_say_by_how_much_they_take_longer() -> None:
    instance, algorithm = tree("allgather", ring(4), 3)
    notes = write(request(instance, algorithm)).notes
    assert any(re.fullmatch(r"R/C grows by \d\.\d%, since .*", note) for note in notes), notes


@pytest.mark.parametrize(
    ("dialect", "low", "high", "written"),
    [
        ("msccl", 0, UNLIMITED, (0, 1 << 27)),
        ("msccl", 4, 1 << 20, (4, (1 << 20) + 1)),  # its range ends before maxBytes
        ("executor", 4, 1 << 20, (4, 1 << 20)),
        ("rccl", 0, UNLIMITED, (0, 1 << 40)),
        ("msccl", 1 << 30, 1 << 31, (1 << 30, (1 << 31) + 1)),
    ],
)
def test_size_range(dialect: str, low: int, high: int, written: tuple[int, int]) -> None:
    wanted = replace(request(*tree("allgather", ring(3), 1)), min_bytes=low, max_bytes=high)
    algo = ElementTree.fromstring(text_of(write(wanted, dialect=dialect)))
    assert (int(algo.get("minBytes", "")), int(algo.get("maxBytes", ""))) == written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_range_needs_a_size_that_fits(dialect: str) -> None:
    """A multiple of 4 elements, of at least a byte each."""
    wanted = request(*tree("allgather", ring(4), 1))
    with pytest.raises(ExportError, match=r"of 49 to 51 bytes .* nearest are 48 and 52 bytes"):
        write(replace(wanted, min_bytes=49, max_bytes=51), dialect=dialect)
    with pytest.raises(ExportError, match="the least is 4 bytes"):
        write(replace(wanted, max_bytes=3), dialect=dialect)
    text = text_of(write(replace(wanted, min_bytes=49, max_bytes=52), dialect=dialect))
    check = RECORD.load_checker().check
    assert check({"x.xml": text.encode()}, {"dialect": dialect}).num_nodes == 4
    text = re.sub('maxBytes="5.', 'maxBytes="51', text)
    with pytest.raises(VerificationError, match="nchunksperloop = 4, so that it is never chosen"):
        check({"x.xml": text.encode()}, {"dialect": dialect})


def test_a_range_without_an_end_beyond_the_usual_one() -> None:
    """The runtime reserves memory for the largest size, so a huge default is not possible."""
    wanted = replace(request(*tree("allgather", ring(3), 1)), min_bytes=1 << 30)
    with pytest.raises(ExportError, match="set --max-bytes"):
        write(wanted, dialect="msccl")
    assert 'maxBytes="1099511627776"' in text_of(write(wanted, dialect="executor"))


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("msccl", "reduce_scatter"), ("executor", "reducescatter"), ("rccl", "reducescatter")],
)
def test_reducescatter_is_spelled_as_the_runtime_does(dialect: str, name: str) -> None:
    rng = random.Random(0)
    pre = np.eye(3, dtype=bool)
    case = invert(*random_trees(rng, ring(3), "x", pre, np.ones_like(pre)), "any name")
    assert f' coll="{name}" ' in text_of(write(request(*case), dialect=dialect))


def test_the_text_fits_the_runtimes_scanners() -> None:
    wanted = request(*tree("allreduce", ring(3), 1))
    text = text_of(write(wanted))
    assert text.startswith('<algo name="some-name_1.0" proto="Simple" ')
    for line in text.splitlines():
        assert re.fullmatch(r' *(<\w+( \w+="[A-Za-z0-9._-]+")+/?>|</\w+>)', line)
    assert text == text_of(write(wanted)), "the same every time"
    for name, kept in (
        ("2D", "syncoll-2D"),
        ("x" * 80, "x" * 63),
        ("a b<", "a_b_"),
        ("", "algorithm"),
    ):
        (file,) = write(replace(wanted, name=name)).files
        assert file == f"{kept}.xml"


def test_notes_name_the_root() -> None:
    rng = random.Random(0)
    pre = np.array([[False, True, False]])
    case = random_trees(rng, ring(3), "x", pre, np.ones_like(pre))
    assert any("root is rank 1" in note for note in write(request(*case)).notes)
