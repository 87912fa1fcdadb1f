"""SimGrid folders: the platform has the machine's bounds, and the program runs in SimGrid."""

import shutil
import subprocess
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.errors import ExportError, VerificationError
from syncoll.model import BandwidthBound, Topology
from syncoll.plugins import ExportRequest, resolve_options
from syncoll.runtime import export_verified
from syncoll.simulating import Semantics, SimulatedSeconds, physical_network
from syncoll_simgrid import RECORD
from syncoll_simgrid.format import equal_pieces, link_speeds
from tests.modules.cases import case, request

needs_simgrid = pytest.mark.skipif(
    not (shutil.which("smpicc") and shutil.which("smpirun")), reason="SimGrid is not installed"
)


def solved(topology: Topology, collective: str, seed: str) -> ExportRequest:
    """An algorithm of a seed."""
    answer = syncoll.pareto(topology, collective, backend=seed, store=None, progress="none")
    point = answer.points[0]
    return ExportRequest("sample", collective, point.instance, point.algorithm)


def files_of(wanted: ExportRequest, **options: object) -> dict[str, bytes]:
    return dict(export_verified(RECORD, wanted, options).exported.files)


def test_the_platform_has_a_link_for_each_bound() -> None:
    wanted = request(*case("ring", "allgather"))
    topology = wanted.instance.topology
    zone = ElementTree.fromstring(files_of(wanted, bandwidth=2, latency=3)["platform.xml"])[0]
    rates = {x.get("id"): x.get("bandwidth") for x in zone.findall("link")}
    assert sorted(rates.values()) == sorted(
        f"{float(bound.chunks_per_round) * 2e9}Bps" for bound in topology.bounds
    )
    users = defaultdict(set)
    for route in zone.findall("route"):
        pair = int(route.get("src", "")[1:]), int(route.get("dst", "")[1:])
        for part in route if pair in topology.links else ():
            users[part.get("id")].add(pair)
    assert sorted(map(sorted, users.values())) == sorted(sorted(b.links) for b in topology.bounds)


def test_links_with_a_common_bound_have_their_own_latencies() -> None:
    """The bound of 2 -> 0 alone is the second one of 1 -> 0."""
    links = [(0, 1), (1, 0), (1, 2), (2, 0)]
    bounds = [BandwidthBound((one,), Fraction(1)) for one in links[:3]]
    bounds.append(BandwidthBound(tuple(links[1::2]), Fraction(1)))
    topology = Topology("tail", 3, tuple(links), tuple(bounds))
    text = files_of(solved(topology, "allgather", "bfb"))["platform.xml"].decode()
    assert text.count("FATPIPE") == 4
    assert 'src="h0" dst="h2"' in text


def test_messages_of_a_step_are_cut_into_equal_pieces() -> None:
    """Pieces have tags of their own, in the order of the slots; steps of equal messages stay."""
    rows = [
        (0, 0, 1, 0, 5, 7, 4),
        (1, 0, 1, 1, 0, 2, 3),
        (1, 0, 1, 1, 9, 5, 3),
        (1, 2, 1, 0, 1, 1, 4),
    ]
    assert equal_pieces(rows) == [
        (0, 0, 1, 0, 5, 7, 4),
        (1, 0, 1, 3, 0, 2, 2),
        (1, 0, 1, 4, 2, 4, 1),
        (1, 0, 1, 4, 9, 5, 1),
        (1, 0, 1, 5, 10, 6, 2),
        (1, 2, 1, 0, 1, 1, 2),
        (1, 2, 1, 1, 3, 3, 2),
    ]
    assert equal_pieces(rows[:1]) == rows[:1]


def test_switches_that_add_up_are_refused() -> None:
    topology = syncoll.topology("dgx_h100(nvls=true)")
    with pytest.raises(ExportError, match="copy or add up"):
        files_of(solved(topology, "allreduce", "inswitch"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('id="b0" latency="1e-06s"', 'id="b0" latency="2e-06s"', "another latency"),
        ('id="b1" latency="1e-06s" bandwidth="1', 'id="b1" latency="1e-06s" bandwidth="3',
         "another bandwidth"),
        ('<link_ctn id="b0"/>', '<link_ctn id="b1"/>', "share other bandwidths"),
        ('<host id="h7" speed="1Gf"/>', "", "other hosts|two hosts"),
        ('dst="h1" symmetrical="NO"', 'dst="h1" symmetrical="YES"', "one direction"),
        ('<route src="h0" dst="h1"', '<route src="h9" dst="h1"', "two hosts"),
        ("</zone>", "</zon>", "mismatched tag"),
        ('<link_ctn id="b0"/>', '<link_ctn id="b99"/>', "unknown"),
    ],
)  # fmt: skip
def test_a_changed_platform_is_refused(old: str, new: str, words: str) -> None:
    wanted = request(*case("ring", "allgather"))
    files = files_of(wanted)
    text = files["platform.xml"].decode()
    assert old in text
    changed = {**files, "platform.xml": text.replace(old, new, 1).encode()}
    options = resolve_options(RECORD.options, {}, "simgrid")
    with pytest.raises(VerificationError, match=words):
        RECORD.load_checker().check(changed, options, wanted.instance)


def run(files: dict[str, bytes], folder: Path, *arguments: str) -> list[list[str]]:
    """The rows that the script prints; its program has compared every element."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = subprocess.run(
        ["sh", folder / "run.sh", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[-1] == ["OK"]
    return rows[1:-1]


@needs_simgrid
@pytest.mark.parametrize("collective", ["allgather", "allreduce", "alltoallv", "groups", "reduce"])
def test_results_are_right_under_simgrid(collective: str, tmp_path: Path) -> None:
    """Elements that do not divide, and slots that are used again."""
    rows = run(files_of(request(*case("damaged", collective))), tmp_path, "17", "1")
    assert [len(row) >= 2 for row in rows] == [True, True]


@needs_simgrid
@pytest.mark.parametrize(
    ("machine", "collective", "seed"),
    [("torus(4,4)", "allgather", "bfb"), ("hub(8)", "alltoall", "all_pairs")],
)
def test_simgrid_measures_the_simulated_time(
    machine: str, collective: str, seed: str, tmp_path: Path
) -> None:
    """Two simulators that share no code: within 2 % and 4 us, and within 3 % of R/C at 1 MiB."""
    wanted = solved(syncoll.topology(machine), collective, seed)
    nodes, block = wanted.instance.topology.num_nodes, 1 << 17
    rows = run(files_of(wanted), tmp_path, "17", "1", "1", "128", str(block))
    stored = StoredAlgorithm(wanted.instance, wanted.algorithm, "point")
    for (size, seconds, *_), per_node in zip(rows[-2:], (1 << 10, 1 << 20), strict=True):
        assert int(size) == per_node * nodes
        data = per_node if collective == "allgather" else per_node * nodes
        network = physical_network(wanted.instance.topology, Fraction(1, 10**6), Fraction(10**9))
        expected = 1e6 * float(SimulatedSeconds(network, Semantics())(stored, [data])[0])
        assert float(seconds) == pytest.approx(expected, rel=0.02, abs=4)
    cost = float(wanted.instance.rounds / Fraction(wanted.instance.chunks))
    assert float(seconds) == pytest.approx(cost * data / 1e3, rel=0.03)


def test_a_machine_keeps_its_own_units() -> None:
    """a100: 25 GB/s and 2.7 us from box to box, 300 GB/s and 0.47 us within a box."""
    topology = syncoll.topology("a100(boxes=2)")
    speed = link_speeds(topology, {"bandwidth": 0.0, "latency": 0.0})
    assert speed[0] * topology.bounds[0].chunks_per_round in (25 * 10**9, 300 * 10**9)
    assert {round(float(x) * 1e6, 2) for x in speed[1]} == {2.7, 0.47}
    assert link_speeds(topology, {"bandwidth": 2.0, "latency": 3.0})[0] == 2 * 10**9
