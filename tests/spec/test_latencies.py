"""Latencies of links: their values, and errors."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.documents import algorithm_document, read_file, write_document
from syncoll.errors import FileFormatError, SpecError
from syncoll.model import Algorithm, Fabric, Instance, Topology
from syncoll.routing import as_topology
from syncoll.runtime import Kind
from syncoll.simulating import Reach, Semantics, SimulatedSeconds, physical_network, runtime
from syncoll.spec import SpecLibrary
from syncoll.spec.writer import topology_to_spec

MICROSECOND = Fraction(1, 10**6)


def built(tmp_path: Path, text: str) -> Topology | Fabric:
    path = tmp_path / "latencies.syncoll"
    path.write_text(text)
    return SpecLibrary([]).topology(f"{path}:t")


def latencies(network: Topology | Fabric) -> dict[tuple[int, int], Fraction | None]:
    fabric = network if isinstance(network, Fabric) else network.fabric
    assert fabric is not None
    return {(x.source, x.destination): x.latency for x in fabric.links}


def test_links_have_latencies_in_every_unit(tmp_path: Path) -> None:
    text = (
        "topology t { nodes 4 link (0, 1) both ways bandwidth 2 latency 700 ns "
        "link (1, 2) bandwidth 1 latency 1.5 us link (2, 3) bandwidth 1 latency 1/2 ms "
        'link (3, 0) bandwidth 1 latency 0 s label "x" }'
    )
    found = built(tmp_path, text)
    assert latencies(found) == {
        (0, 1): MICROSECOND * 7 / 10,
        (1, 0): MICROSECOND * 7 / 10,
        (1, 2): MICROSECOND * 3 / 2,
        (2, 3): MICROSECOND * 500,
        (3, 0): 0,
    }
    assert isinstance(found, Topology)
    without = built(tmp_path, text.replace("latency 700 ns", "").replace("latency 1.5 us", "")
                    .replace("latency 1/2 ms", "").replace("latency 0 s", ""))  # fmt: skip
    assert found == without  # the possible algorithms are the same
    assert isinstance(without, Topology)
    assert without.fabric is None
    again = built(tmp_path, topology_to_spec(found, "t"))
    assert latencies(again) == latencies(found)


def test_a_latency_may_depend_on_the_link(tmp_path: Path) -> None:
    found = built(
        tmp_path,
        "topology t { nodes 3 switches 1 link (i, switch(0)) both ways for i in nodes "
        "bandwidth 25 GB/s latency i + 1 us }",
    )
    assert latencies(found)[2, 3] == latencies(found)[3, 2] == 3 * MICROSECOND
    topology = as_topology(found)
    network = physical_network(topology)
    assert network.greatest_latency == 5 * MICROSECOND  # from node 1 to node 2 or back
    assert network.states_latency
    assert physical_network(topology, MICROSECOND).greatest_latency == MICROSECOND


def test_a_file_keeps_them_and_a_simulation_uses_them(tmp_path: Path) -> None:
    found = built(
        tmp_path,
        "topology t { nodes 3 link (0, 1) bandwidth 1 latency 2 us "
        "link (1, 2) bandwidth 1 latency 3 us }",
    )
    assert isinstance(found, Topology)
    instance = Instance(found, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])  # type: ignore[arg-type]
    document = algorithm_document(instance, Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]]))  # type: ignore[arg-type]
    write_document(tmp_path / "a.json", document)
    (stored,) = read_file(tmp_path / "a.json").algorithms
    assert latencies(stored.instance.topology) == latencies(found)
    network = physical_network(stored.instance.topology, bandwidth=Fraction(10**9))
    (seconds,) = SimulatedSeconds(network, Semantics())(stored, [1000])
    assert float(seconds) == pytest.approx(2e-6 + 1e-6 + 3e-6 + 1e-6)


@pytest.mark.parametrize(
    ("body", "at", "says"),
    [
        ("link (0, 1) bandwidth 1 latency -2 us", "-2", "latency -2"),
        ("link (0, 1) bandwidth 1 latency 2 min", "min", "unexpected `min`"),
        ("link (0, 1) bandwidth 1 latency 2", "}", "unexpected `}`"),
        ("link (0, 1) latency 1 us latency 2 us", "latency 2", "occurs twice"),
        (
            "link (0, 1) bandwidth 1 latency 1 us\nlink (1, 0) bandwidth 1",
            "(1, 0)",
            "a link without a latency, but the link in line 1 has one",
        ),
        (
            "link (0, 1) bandwidth 1\nlink (1, 0) bandwidth 1 latency 1 us",
            "latency",
            "a latency, but the link in line 1 has none",
        ),
        (
            "link (0, 1) latency 1 us\nshared { links } bandwidth 1",
            "latency",
            "a latency in a topology with shared bounds",
        ),
        (
            "link (0, 1) bandwidth 1\nshared { links } bandwidth 1 latency 1 us",
            "latency",
            "a latency of a shared bound",
        ),
        (
            "link (0, i mod 2 + 1) for i in range(4) bandwidth 1 latency i us",
            "(0, i",
            "two latencies",
        ),
    ],
)
def test_errors_are_shown_in_their_place(tmp_path: Path, body: str, at: str, says: str) -> None:
    text = f"topology t {{ nodes 3 {body} }}"
    with pytest.raises(SpecError) as error:
        built(tmp_path, text)
    assert says in str(error.value)
    line, column = (int(x) for x in str(error.value).split(":")[1:3])
    assert text.split("\n")[line - 1][column - 1 :].startswith(at)


PROTOCOLS = (
    "topology t { nodes 4 link (i, (i + 1) mod 4) both ways for i in nodes bandwidth 1 "
    "latency 470 ns latency 4 us protocol LL latency (9 + i) us protocol Simple }"
)


def protocols(topology: Topology | Fabric) -> dict[tuple[int, int], dict[str, Fraction]]:
    fabric = topology if isinstance(topology, Fabric) else topology.fabric
    assert fabric is not None
    return {(x.source, x.destination): dict(x.protocols) for x in fabric.links}


def test_a_protocol_may_have_its_own_latency(tmp_path: Path) -> None:
    found = built(tmp_path, PROTOCOLS)
    assert isinstance(found, Topology)
    own = {"LL": 4 * MICROSECOND, "Simple": 9 * MICROSECOND}
    assert protocols(found)[0, 1] == own
    assert protocols(found)[3, 2]["Simple"] == 11 * MICROSECOND
    assert protocols(built(tmp_path, topology_to_spec(found, "t"))) == protocols(found)
    rate = Fraction(25 * 10**9)
    network = physical_network(found, bandwidth=rate)
    for setting in runtime("nccl").settings(network, kind=Kind.ALLREDUCE):
        factor = setting.protocol.hops[Reach.BOX].factor
        expected = own.get(setting.protocol.name, 47 * MICROSECOND / 100 * factor)
        assert setting.network.link_latencies[0] == expected
    # A latency that the user gives replaces every other one.
    setting = runtime("nccl:LL").settings(physical_network(found, MICROSECOND, rate))[0]
    factor = setting.protocol.hops[Reach.BOX].factor
    assert set(setting.network.link_latencies) == {MICROSECOND * factor}


def test_files_keep_the_latencies_of_protocols(tmp_path: Path) -> None:
    found = built(tmp_path, PROTOCOLS)
    assert isinstance(found, Topology)
    instance = Instance(found, "broadcast", 1, 2, 2, [[1, 0, 0, 0]], [[1, 1, 1, 1]])  # type: ignore[arg-type]
    sends = [[0, 0, 1, 0], [0, 0, 3, 0], [0, 1, 2, 1]]
    document = algorithm_document(instance, Algorithm((1, 1), sends))  # type: ignore[arg-type]
    write_document(tmp_path / "a.json", document)
    assert protocols(read_file(tmp_path / "a.json").topology) == protocols(found)
    document["interconnect"]["fabric"]["protocols"]["LL"].pop()
    write_document(tmp_path / "b.json", document)
    with pytest.raises(FileFormatError, match="expected one latency for each link"):
        read_file(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("latency 4 us protocol LL", "a latency of a protocol, but the link has none"),
        (
            "latency 1 us latency 4 us protocol LL latency 5 us protocol LL",
            "`latency protocol LL` occurs twice",
        ),
        ("latency 1 us latency (0 - 1) us protocol LL", "latency -1"),
    ],
)
def test_errors_of_latencies_of_protocols(tmp_path: Path, clause: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        built(
            tmp_path, f"topology t {{ nodes 2 link (0, 1) both ways bandwidth 25 GB/s {clause} }}"
        )
