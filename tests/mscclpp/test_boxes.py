"""Plans for several boxes: memory and switch channels within each, port channels between them."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Fabric, Instance, Topology
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.plugins import ExportRequest, PluginManager
from syncoll.routing import as_topology
from syncoll.runtime import export_verified
from syncoll.runtime.exported import verify_exports
from syncoll.spec import SpecLibrary
from syncoll_mscclpp import RECORD
from tests.mscclpp.test_checker_mutations import simulate
from tests.mscclpp.test_writer import export, one_step

LIBRARY = SpecLibrary(
    [record.folder for record in PluginManager.discover().spec_libraries.values()]
)


def cluster(label: str = "", inside: str = "") -> Topology:
    """Three GPUs around a switch, two joined by a link, and one alone; all on one network."""
    box = [(n, 6, 100, inside) for n in (0, 1, 2)] + [(3, 4, 80, inside)]
    links = [*box, *((n, 7, 10, label) for n in range(6))]
    fabric = Fabric.from_links("pods", 6, 2, [link[:3] for link in links], both_ways=True)
    labels = {tuple(sorted(link[:2])): link[3] for link in links}
    named = (
        replace(x, label=labels[min(x.source, x.destination), max(x.source, x.destination)])
        for x in fabric.links
    )
    return as_topology(replace(fabric, links=tuple(named)))


def allgather(topology: Topology) -> tuple[Instance, Algorithm]:
    pre = np.eye(topology.num_nodes, dtype=bool)
    return one_step(pre, np.ones_like(pre), topology)


def reached(plan: dict[str, Any], kind: str) -> set[tuple[int, int]]:
    return {
        (gpu["id"], peer)
        for gpu in plan["gpus"]
        for one in gpu["channels"]
        if one["channel_type"] == kind
        for peer in one["connected_to"]
    }


@pytest.mark.parametrize("label", ["", "Network of GPU 1"])
def test_port_channels_pass_the_network(label: str) -> None:
    topology = cluster(label)
    plan, handed = export(allgather(topology))
    within = {(a, b) for box in ((0, 1, 2), (3, 4)) for a in box for b in box if a != b}
    every = {(a, b) for a in range(6) for b in range(6) if a != b}
    assert reached(plan, "memory") == within
    assert reached(plan, "port") == every - within
    assert any("port channels over a network" in one for one in handed.exported.notes)
    plan, _ = export(allgather(topology), channel="port")
    assert reached(plan, "port") == every


def test_one_box_needs_no_port_channels() -> None:
    for topology in (replace(cluster(), fabric=None), cluster("PCIe", "NVLink")):
        plan, handed = export(allgather(topology))
        assert not reached(plan, "port")
        assert not any("port" in one for one in handed.exported.notes)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"channel": "memory"}, "only a network between ranks 0 and 3.*expected channel=auto"),
        ({"channel": "switch"}, "no switch of pods copies between ranks .*; expected channel=auto"),
    ],
)
def test_channels_that_cannot_cross_a_network_are_refused(
    options: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ExportError, match=complaint):
        export(allgather(cluster()), **options)


def test_small_messages_use_packets_also_over_a_network() -> None:
    """A rank makes packets of its data once, and proxies pass them on."""
    plan, _ = export(allgather(cluster()), sizes=(0, 1 << 10))
    assert plan["protocol"] == "LL"
    assert len(reached(plan, "port")) == len(reached(plan, "memory")) + 14 == 22
    every = [op for gpu in plan["gpus"] for block in gpu["threadblocks"] for op in block["ops"]]
    made = Counter(op["name"] for op in every)
    sent = [op for op in every if op["name"] == "rppkt"]
    assert {op["channel_type"] for op in sent} == {"port"}
    assert sum(len(op["dst_buff"]) for op in sent) == 22
    assert made["cpkt"] == len(sent) == 6
    assert set(simulate(plan, 0, 3, random.Random(1))) == {""}


def test_gather_in_place_over_a_network_is_refused() -> None:
    pre = np.eye(6, dtype=bool)
    post = np.zeros_like(pre)
    post[:, 0] = True
    case = one_step(pre, post, cluster())
    with pytest.raises(ExportError, match=r"export it out of place$"):
        export(case, in_place=True)
    assert export(case)[1].checked.collective == "gather"


def test_memory_channels_suffice_for_sends_within_boxes() -> None:
    pre, post = np.eye(6, dtype=bool), np.zeros((6, 6), dtype=bool)
    post[:3, :3] = post[3:5, 3:5] = post[5, 5] = True
    plan, _ = export(one_step(pre, post, cluster()), channel="memory")
    assert reached(plan, "memory")
    assert not reached(plan, "port")


def test_verify_finds_a_plan_whose_channels_pass_a_network(tmp_path: Path) -> None:
    topology = cluster()
    blind = export_verified(
        RECORD, ExportRequest("a", "x", *allgather(replace(topology, fabric=None))), {}
    )
    (content,) = blind.exported.files.values()
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    found = verify_exports(path, RECORD, {}, topology=topology)
    ((_, reason),) = found.wrong
    assert reason == (
        "a memory channel joins ranks 0 and 3 (and 10 other pairs), between which pods has only a "
        "network"
    )
    assert verify_exports(path, RECORD, {}).ok
    plan, _ = export(allgather(topology))
    path.write_text(json.dumps(plan))
    assert verify_exports(path, RECORD, {}, topology=topology).ok


def test_a_wrong_plan_of_the_writer_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncoll_mscclpp.channels.Channels.kind", lambda *_: "memory")
    with pytest.raises(VerificationError, match="a memory channel joins ranks 0 and 3"):
        export(allgather(cluster()))


@pytest.mark.parametrize(
    ("machine", "boxes"),
    [
        ("dgx_h100(boxes=2)", [8, 8]),
        ("dgx_h100(boxes=2,rails=false,nvls=true)", [8, 8]),
        ("a100(boxes=2)", [8, 8]),
        ("mi300x(boxes=2)", [8, 8]),
        ("mi250(boxes=2,gpus=8)", [8, 8]),
        (
            "leaf_spine([[2,2],[3],[1,1]],cards=[25,50,10],uplinks=[[9,9],[9,9],[9,0]])",
            [2, 2, 3, 1, 1],
        ),
        ("mi250", [16]),
        ("p2_16xlarge", [16]),
        ("nvl72(gpus=9)", [9]),
        ("fat_tree(2)", [4]),
        ("dgx1", [8]),
        ("ring(5)", [5]),
    ],
)
def test_boxes_of_known_machines(machine: str, boxes: list[int]) -> None:
    topology = as_topology(LIBRARY.topology(machine))
    _, sizes = np.unique(shared_memory_boxes(topology), return_counts=True)
    assert sizes.tolist() == boxes


def test_cables_between_boxes_without_a_switch() -> None:
    """A label says that they are of a network; bandwidths alone do not."""
    links = [(0, 1, 8), (2, 3, 8), (0, 2, 1), (1, 3, 1)]
    fabric = Fabric.from_links("pairs", 4, 0, links, both_ways=True)
    assert shared_memory_boxes(as_topology(fabric)).tolist() == [0, 0, 0, 0]
    named = (replace(x, label="network" if x.bandwidth == 1 else "") for x in fabric.links)
    topology = as_topology(replace(fabric, links=tuple(named)))
    assert shared_memory_boxes(topology).tolist() == [0, 0, 2, 2]
    pre = np.eye(4, dtype=bool)
    plan, _ = export(one_step(pre, pre[[1, 0, 3, 2]] | pre[[2, 3, 0, 1]], topology))
    assert reached(plan, "memory") == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert reached(plan, "port") == {(0, 2), (2, 0), (1, 3), (3, 1)}
