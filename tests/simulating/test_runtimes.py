"""Runtimes: their files, the kinds of links, and the networks of their protocols."""

from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest

from syncoll import topology as machine
from syncoll.documents import StoredAlgorithm
from syncoll.errors import FileFormatError, UsageError
from syncoll.model import Algorithm, Topology
from syncoll.runtime import Kind
from syncoll.session import Session
from syncoll.simulating import (
    RUNTIMES,
    WIRE,
    Hop,
    Protocol,
    Reach,
    Runtime,
    Semantics,
    Sharing,
    SimulatedSeconds,
    Timing,
    compare,
    physical_network,
    runtime,
    runtime_text,
)
from syncoll.simulating.boxes import between_boxes
from syncoll.trust import require_valid

GOOD = """format = "syncoll runtime/1"
name = "mine"
source = "my own"
error = 0.1
per_gpu = "2 us"
gpus = 3
[protocol.fast]
call = "5 us"
[protocol.fast.box]
factor = 2
extra = "100 ns"
share = 0.5
[protocol.fast.network]
rate = "10 GB/s"
[protocol.peers]
collectives = ["alltoall"]
message = "1 us"
"""


def apart_on(topology: str) -> tuple[bool, ...]:
    return between_boxes(physical_network(machine(topology)))


def test_every_number_of_a_shipped_runtime_has_its_source():
    for name in RUNTIMES:
        text = (files("syncoll.simulating") / "runtimes" / f"{name}.toml").read_text("utf-8")
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            texts = ("format", "name", "source", "basis", "collectives", "only", "without")
            if equals and key.strip() not in texts:
                assert " # " in value, line


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_is_written_and_read_again(name: str, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(runtime_text(runtime(name)))
    assert runtime(path) == runtime(name)


def test_values_of_a_file(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    found = runtime(tmp_path / "mine.toml")
    fast = found.protocols[0]
    assert (found.error, found.gpus, fast.call) == (Fraction(1, 10), 3, Fraction(5, 10**6))
    assert fast.hops[Reach.BOX].extra == Fraction(1, 10**7)
    assert (fast.hops[Reach.BOX].share, fast.hops[Reach.NETWORK].rate) == (Fraction(1, 2), 10**10)
    assert [x.name for x in runtime(f"{tmp_path}/mine.toml:peers").protocols] == ["peers"]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ('"2 us"', '"2 us', 5, "Illegal character"),
        ("call =", "cal =", 8, "unknown key cal; known are call, message"),
        ('"100 ns"', "100", 11, "extra: 100 is not a text"),
        ("share = 0.5", "share = 0.0", 12, "share: 0.0 is not a number above 0"),
        ('"10 GB/s"', '"10 GB"', 14, "rate: the bandwidth '10 GB' has the unknown unit 'GB'"),
        ("gpus = 3", "gpus = 0", 6, "gpus: 0 is not a whole number of at least 1"),
        ("[protocol.peers]", "[protocol]\nx = 3\n[protocol.peers]", 16, "3 is not a table"),
        ('"alltoall"', '"all"', 16, "is not a list of collectives"),
        ("runtime/1", "runtime/9", 1, "'syncoll runtime/9' is not a known format"),
        ('source = "my own"\n', "", 1, "source is missing"),
    ],
)
def test_errors_name_the_line(old: str, new: str, line: int, why: str, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileFormatError) as error:
        runtime(path)
    assert f"{path}:{line}: " in str(error.value)
    assert why in str(error.value)


def test_unknown_runtimes_are_refused_with_the_known():
    with pytest.raises(UsageError, match="neither a runtime nor a file; the runtimes are wire"):
        runtime("ncll")
    with pytest.raises(UsageError, match="nccl has no protocol LL64; it has LL, LL128"):
        runtime("nccl:LL64")


def test_links_between_boxes():
    for box in ("mi300x", "mi250"):
        assert not any(apart_on(box))
    for name, within in (("dgx_h100(boxes=2)", 112), ("mi250(boxes=2)", 2 * 16 * 15)):
        network = physical_network(machine(name))
        apart = between_boxes(network)
        assert apart.count(False) == within
        # A latency for all sends does not hide the boxes that the machine describes.
        assert apart == between_boxes(physical_network(machine(name), alpha=Fraction(1, 10**6)))


def test_boxes_follow_from_bandwidths_without_units_and_switches():
    pairs = {(0, 1): 8, (2, 3): 8, (1, 2): 1, (3, 0): 1}
    matrix = [[pairs.get((a, b), pairs.get((b, a), 0)) for b in range(4)] for a in range(4)]
    topology = Topology.from_matrix("two pairs", matrix)
    network = physical_network(topology, US, Fraction(10**9))
    assert [
        x for x, far in zip(topology.links, between_boxes(network), strict=True) if not far
    ] == [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_wire_leaves_network_and_semantics_unchanged():
    network = physical_network(machine("dgx_h100(boxes=2)"))
    (setting,) = WIRE.settings(network)
    assert setting.network is network
    assert setting.semantics == type(setting.semantics)()


def test_a_protocol_scales_latencies_and_bandwidths_by_kind():
    network = physical_network(machine("a100(boxes=2)"))
    simple = next(x for x in runtime("nccl").settings(network) if x.protocol.name == "Simple")
    apart, hops = between_boxes(network), simple.protocol.hops
    for far, before, after in zip(
        apart, network.link_latencies, simple.network.link_latencies, strict=True
    ):
        assert after == before * hops[Reach.NETWORK if far else Reach.BOX].factor
    by_ends = {lane.ends: lane.bandwidth for lane in simple.network.lanes}
    assert by_ends[0, 16] == hops[Reach.BOX].share * 300 * 10**9
    assert by_ends[0, 18] == hops[Reach.NETWORK].share * 25 * 10**9


def test_a_rate_limits_each_cable_of_a_lane():
    network = physical_network(machine("dgx_h100(boxes=2)"))
    slow = next(x for x in runtime("nccl").settings(network) if x.protocol.name == "LL")
    for lane in slow.network.lanes:
        assert lane.cable_bandwidth <= 117 * 10**9


def test_protocols_of_a_collective_replace_the_others():
    network = physical_network(machine("dgx_h100(boxes=2)"))
    names = {
        kind: [x.protocol.name for x in runtime("nccl").settings(network, kind=kind)]
        for kind in (Kind.ALLTOALL, Kind.ALLREDUCE)
    }
    assert names[Kind.ALLTOALL] == ["SendRecv"]
    assert names[Kind.ALLREDUCE] == ["LL", "LL128", "Simple", "NVLS"]


def classic(name: str, collective: str, on: str) -> StoredAlgorithm:
    session = Session()
    found, _ = session.classics(machine(on), session.collective(collective), [name])
    return replace(found[name][0], where=name)


def of(**costs: object) -> Runtime:
    return Runtime("mine", "my own", (Protocol("only", **costs),))  # type: ignore[arg-type]


def test_sums_in_switches_have_a_protocol_in_nccl():
    nvls = classic("nvls", "allreduce", "dgx_h100(nvls=true)")
    times = SimulatedSeconds(physical_network(nvls.instance.topology), Semantics(), 0, NCCL)
    assert {one.protocol.name for one in times.settings(nvls)} == {"NVLS"}
    found = times.settings(replace(nvls, where="points[0]"))
    assert {one.protocol.name for one in found} == {"LL", "LL128", "Simple"}
    found, _ = Session().classics(
        nvls.instance.topology, Session().collective("allreduce"), ["nvls"]
    )
    pipeline = replace(found["nvls"][-1], where="points[0]")
    assert {one.protocol.name for one in times.settings(pipeline)} == {"Simple"}
    # A protocol that a person chooses runs it nevertheless.
    assert [one.name for one in runtime("nccl:LL").protocols_for(None, "nvls")] == ["LL"]


US = Fraction(1, 10**6)
NCCL = runtime("nccl")
ALPHA, RATE = 8 * US / 10, 64 * 10**9
"""Of mi300x, where each pair of 8 nodes has a link of its own."""


def seconds(
    stored: StoredAlgorithm, how: Runtime, size: int = 1 << 20, **semantics: object
) -> float:
    network = physical_network(stored.instance.topology)
    return float(SimulatedSeconds(network, Semantics(**semantics), runtime=how)(stored, [size])[0])  # type: ignore[arg-type]


EACH = [{}, {"sharing": Sharing.FAIR}, {"timing": Timing.LOCKSTEP}]


@pytest.mark.parametrize("semantics", EACH)
def test_one_step_costs_a_call_a_hop_a_message_and_its_bytes(semantics: dict[str, object]):
    stored = classic("all_pairs", "allgather", "mi300x")
    hops = dict.fromkeys(Reach, Hop(Fraction(2), US, Fraction(1, 2)))
    how = of(call=5 * US, hops=hops, message=3 * US)
    expected = 5 * US + 2 * ALPHA + US + 3 * US + Fraction(1 << 20, RATE // 2)
    assert seconds(stored, how, **semantics) == pytest.approx(float(expected))


@pytest.mark.parametrize("semantics", EACH)
def test_thread_blocks_of_a_node_share_their_rate(semantics: dict[str, object]):
    pairs = classic("all_pairs", "allgather", "mi300x")
    for blocks, rate in ((7, 10), (14, 20), (70, 64)):
        how = of(block_rate=Fraction(10 * 10**9), blocks=blocks)
        expected = float(ALPHA + Fraction(1 << 20, rate * 10**9))
        assert seconds(pairs, how, **semantics) == pytest.approx(expected)
    # The rings of all cards use all links, and pass on all bytes of a node in each step.
    ring, how = classic("ring", "allgather", "mi300x"), of(block_rate=Fraction(10**10), blocks=2)
    expected = float(ring.steps * (ALPHA + Fraction(1 << 20, 2 * 10**10)))
    assert seconds(ring, how, **semantics) == pytest.approx(expected)


@pytest.mark.parametrize("semantics", EACH)
def test_a_sum_costs_its_step_and_its_bytes(semantics: dict[str, object]):
    stored = classic("ring", "reducescatter", "mi300x")
    how = of(summing=4 * US, reduction=Fraction(1, 10**11))
    chunk = Fraction(1 << 20, stored.chunks)
    without = seconds(stored, WIRE, **semantics)
    added = float(stored.steps * (4 * US + chunk / 10**11))
    assert seconds(stored, how, **semantics) == pytest.approx(without + added)


@pytest.mark.parametrize("semantics", EACH)
def test_neighbouring_chunks_are_one_message(semantics: dict[str, object]):
    one = classic("all_pairs", "allgather", "mi300x")
    allgather = Session().collective("allgather")
    fine = allgather.instantiate(one.instance.topology, chunks=4, steps=1, rounds=4)
    sends = one.algorithm.sends
    cut = np.repeat(sends, 4, axis=0)
    cut[:, 0] += 8 * np.tile(np.arange(4), len(sends))  # chunk c is of node c mod 8
    algorithm = Algorithm((4,), cut)
    require_valid(fine, algorithm)
    stored = StoredAlgorithm(fine, algorithm, "cut")
    for how in (WIRE, of(message=3 * US)):
        assert seconds(stored, how, **semantics) == pytest.approx(seconds(one, how, **semantics))


def test_the_fastest_protocol_of_each_size_is_chosen():
    stored = classic("all_pairs", "allgather", "mi300x")
    slow = dict.fromkeys(Reach, Hop(share=Fraction(1, 4)))
    both = Protocol("fast", hops=slow), Protocol("wide", call=20 * US)
    how = Runtime("mine", "my own", both)
    network = physical_network(stored.instance.topology)
    compared = compare([stored], {}, network, Semantics(), [1 << 10, 1 << 26], runtime=how)
    assert compared.algorithms[0].protocols == ("fast", "wide")
    for size, name in ((1 << 10, "fast"), (1 << 26, "wide")):
        shown = compared.simulation("all_pairs", size)
        assert shown.protocol == name
        per_node = [compared.message.node_bytes(size)]
        assert (
            shown.seconds
            == SimulatedSeconds(network, Semantics(), runtime=how)(stored, per_node)[0]
        )
