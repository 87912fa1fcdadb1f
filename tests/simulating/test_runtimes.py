"""Runtimes: their files, the kinds of links, and the networks of their protocols."""

from fractions import Fraction
from importlib.resources import files

import pytest

from syncoll import topology as machine
from syncoll.errors import FileFormatError, UsageError
from syncoll.runtime import Kind
from syncoll.simulating import RUNTIMES, WIRE, Reach, physical_network, runtime, runtime_text
from syncoll.simulating.boxes import between_boxes

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
            if equals and key.strip() not in ("format", "name", "source", "basis", "collectives"):
                assert " # " in value, line


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_is_written_and_read_again(name: str, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(runtime_text(runtime(name), {"protocol.LL.call": "as measured"}))
    assert runtime(path) == runtime(name)


def test_values_of_a_file(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    found = runtime(tmp_path / "mine.toml")
    fast = found.protocols[0]
    assert (found.error, found.gpus, fast.call) == (Fraction(1, 10), 3, Fraction(5, 10**6))
    assert fast.hops[Reach.BOX].extra == Fraction(1, 10**7)
    assert (fast.shares[Reach.BOX], fast.rates[Reach.NETWORK]) == (Fraction(1, 2), 10**10)
    assert [x.name for x in runtime(f"{tmp_path}/mine.toml:peers").protocols] == ["peers"]


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("call =", "cal =", 8, "unknown key cal; known are call, message"),
        ('"100 ns"', "100", 11, "extra: 100 is not a text"),
        ("share = 0.5", "share = 0.0", 12, "a share of 0 moves nothing"),
        ('"10 GB/s"', '"10 GB"', 14, "rate: the bandwidth '10 GB' has the unknown unit 'GB'"),
        ("gpus = 3", "gpus = 0", 6, "gpus: 0 is not a whole number of at least 1"),
        ('"alltoall"', '"all"', 16, "is not a list of collectives"),
        ("runtime/1", "runtime/9", 1, "'syncoll runtime/9' is not a known format"),
        ('source = "my own"\n', "", 16, "source is missing"),
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
    assert not any(apart_on("mi300x"))
    for name, within in (("dgx_h100(boxes=2)", 112), ("mi250(boxes=2)", 112)):
        network = physical_network(machine(name))
        apart = between_boxes(network)
        assert apart.count(False) == within
        # A latency for all sends does not hide the boxes that the machine describes.
        assert apart == between_boxes(physical_network(machine(name), alpha=Fraction(1, 10**6)))


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
    assert by_ends[0, 16] == Fraction(3, 4) * 300 * 10**9
    assert by_ends[0, 18] == Fraction(95, 100) * 25 * 10**9


def test_a_rate_limits_each_cable_of_a_lane():
    network = physical_network(machine("dgx_h100(boxes=2)"))
    slow = next(x for x in runtime("nccl").settings(network) if x.protocol.name == "LL")
    for lane in slow.network.lanes:
        assert lane.cable_bandwidth <= 141 * 10**9


def test_protocols_of_a_collective_replace_the_others():
    network = physical_network(machine("dgx_h100(boxes=2)"))
    names = {
        kind: [x.protocol.name for x in runtime("nccl").settings(network, kind=kind)]
        for kind in (Kind.ALLTOALL, Kind.ALLREDUCE)
    }
    assert names[Kind.ALLTOALL] == ["SendRecv"]
    assert names[Kind.ALLREDUCE] == ["LL", "LL128", "Simple"]
