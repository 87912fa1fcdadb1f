"""Networks of namespaces: their layout, a run on two machines, and their removal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from benchmarks.network import measurement, namespaces
from benchmarks.network.layout import FABRIC, Hop, Layout, layout_of
from benchmarks.network.measurement import Row, measure
from benchmarks.network.mpich import run_mpich
from benchmarks.network.namespaces import Network
from benchmarks.network.page import MACHINES, line
from syncoll.errors import UsageError
from syncoll.verbs.frontier import algorithms_of

UNIT = Fraction(10**6)

needs_network = pytest.mark.skipif(
    namespaces.missing() is not None, reason=namespaces.missing() or ""
)


def way(layout: Layout, source: int, destination: int) -> list[int]:
    """The hops of a packet."""
    at, before, hops = source, None, []
    while at != destination:
        before = layout.onward[at, before, destination]
        hops.append(before)
        at = layout.hops[before].destination
        before = before if at == FABRIC else None
        assert len(hops) < 100
    return hops


@pytest.mark.parametrize("machine", [*MACHINES.values(), "bus(4)", "mesh(3,3)"])
def test_packets_of_each_pair_arrive(machine: str) -> None:
    topology = syncoll.topology(machine)
    layout = layout_of(topology, UNIT)
    for a in range(layout.nodes):
        for b in range(layout.nodes):
            hops = way(layout, a, b)
            assert len(hops) == len(set(hops))
            assert [layout.hops[one].source for one in hops[:1]] == [a] * (a != b)


@pytest.mark.parametrize(
    ("machine", "pair", "rates"),
    [
        ("ring(4)", (0, 1), [1]),
        ("ring(4)", (0, 2), [1, 1]),
        (MACHINES["quad"], (0, 1), [3, 2]),
        (MACHINES["quad"], (1, 0), [2]),
        (MACHINES["uneven_hub(8)"], (0, 7), [1, Fraction(1, 2)]),
        (MACHINES["two_hubs(4)"], (1, 6), [1, 1, 1]),
        ("bus(4)", (2, 3), [None, 1, None]),
    ],
)
def test_a_way_has_the_rates_of_its_bounds(
    machine: str, pair: tuple[int, int], rates: list[Fraction | None]
) -> None:
    layout = layout_of(syncoll.topology(machine), UNIT)
    found = [layout.hops[one].rate for one in way(layout, *pair)]
    assert found == [None if one is None else one * UNIT for one in rates]


def test_both_directions_of_a_link_are_hops() -> None:
    layout = layout_of(syncoll.topology("line(2)"), UNIT)
    assert layout.hops == (Hop(0, 1, UNIT), Hop(1, 0, UNIT))


def test_a_node_without_a_way_back_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.syncoll"
    file.write_text("topology one { nodes 3 link (0, 1), (1, 0), (0, 2) bandwidth 1 }")
    with pytest.raises(UsageError, match="node 2 has no way to node 0"):
        layout_of(syncoll.topology(f"{file}:one"), UNIT)


ROW = Row("ring(4)", "allgather", 1024, 4096, 100, 2.0, 1.9, 6.0, 2.5, 2.4, None, 1.5, ("a", "b"))


def test_a_row_compares_the_better_ones() -> None:
    assert (ROW.ours, ROW.library, ROW.speedup, ROW.predicted) == (2.0, 6.0, 3.0, 1.9)
    assert line(ROW).split(" | ")[5:-1] == [
        *("2000", "6000", "2500", "", "3.00", "1900", "-5 %", "1500", "1.33")
    ]


@needs_network
def test_links_of_a_ring_limit_collectives(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = measurement._Costs(1e-3, 12.5e6)
    monkeypatch.setattr(measurement, "calibrated", lambda _: (costs, costs))
    monkeypatch.setattr(measurement, "WORK", 1)
    monkeypatch.setattr(measurement, "REPEATS", 1)
    (row,) = measure("ring(4)", "allgather", [1 << 18], rate=100)
    least = 1.5 * (1 << 18) / 12.5e6
    assert min(row.ours, row.library) > 0.8 * least  # a burst of tokens passes at once
    assert row.floor >= least


@needs_network
def test_shared_bounds_limit_a_collective() -> None:
    frontier = syncoll.pareto(MACHINES["quad"], "broadcast", work=1, progress="none")
    stored = algorithms_of(frontier, "a test")[-1]
    with Network(layout_of(frontier.topology, Fraction(10**7))) as network:
        ((ours, library),) = run_mpich(network, stored, [1 << 15], 1, measurement.SECONDS)
    assert min(ours, library) > 0.8 * (1 << 18) / 3e7  # the egress of the root


@needs_network
def test_leftovers_of_a_killed_process_are_removed() -> None:
    code = (
        "import syncoll, time; from fractions import Fraction\n"
        "from benchmarks.network.layout import layout_of\n"
        "from benchmarks.network.namespaces import Network\n"
        "with Network(layout_of(syncoll.topology('line(2)'), Fraction(10**6))) as network:\n"
        "    print(network.name, flush=True); time.sleep(600)\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=root) as made:
        assert made.stdout is not None
        name = made.stdout.readline().decode().strip()
        assert re.fullmatch(r"syncoll-net-\d+-\d+", name)
        assert name not in namespaces.clean()  # its process lives
        assert len([one for one in namespaces._spaces() if one.startswith(name)]) == 3
        made.send_signal(signal.SIGKILL)
    assert name in namespaces.clean()
    assert not [one for one in namespaces._spaces() if one.startswith(name)]
