"""``syncoll forest``: throughput, the cut that bounds it, and trees, each checked from its text."""

from __future__ import annotations

import itertools
import json
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll_specs
from syncoll.documents import schema
from syncoll.model import Fabric
from syncoll.plugins import PluginManager, SeedRecord, hookimpl
from syncoll.results.forest import ForestCollective, PackedForest
from tests.oracles.fabrics import a100, mi250, p2_16xlarge, torus

Run = Callable[..., Any]


def _require_shape(document: dict[str, Any]) -> None:
    """Validates the first trees only: all of them would take minutes."""
    few = {**document, "trees": document["trees"][:3]}
    if "phases" in few:
        few["phases"] = [{**phase, "trees": phase["trees"][:3]} for phase in few["phases"]]
    jsonschema.Draft202012Validator(schema("forest")).validate(few)


def _require_forest(document: dict[str, Any], fabric: Fabric, weights: list[int]) -> None:
    """Checks trees, throughput and cut against the definitions."""
    reduces = document["collective"] in ("reducescatter", "reduce")
    algbw, bound = Fraction(document["algbw"]), Fraction(document["bound"])
    nodes = fabric.num_nodes
    load: dict[tuple[int, int], int] = {}
    rooted = [0] * nodes
    tallest = 0
    for tree in document["trees"]:
        rooted[tree["root"]] += tree["weight"]
        depth = {tree["root"]: 0}
        for u, v, path in tree["edges"]:
            assert (path[0], path[-1]) == (u, v)
            assert all(w >= nodes for w in path[1:-1])
            near, far = (v, u) if reduces else (u, v)
            assert near in depth
            assert far not in depth
            depth[far] = depth[near] + 1
            for hop in itertools.pairwise(path):
                load[hop] = load.get(hop, 0) + tree["weight"]
        assert set(depth) == set(range(nodes))
        tallest = max(tallest, *depth.values())
    assert rooted == [document["k"] * w for w in weights]
    assert tallest == document["max_height"]
    # A unit of data: each tree carries 1/(k W) of it.
    share = Fraction(1, document["k"] * sum(weights))
    assert all(trees * share / fabric.bandwidths[hop] <= 1 / algbw for hop, trees in load.items())
    cut = set(document["cut"])
    room = sum(b for (u, v), b in fabric.bandwidths.items() if u in cut and v not in cut)
    crossing = sum(w for v, w in enumerate(weights) if (v in cut) is not reduces)
    assert 0 < len(cut & set(range(nodes))) < nodes
    assert bound == sum(weights) * room / crossing
    assert algbw <= bound


@pytest.mark.parametrize(
    ("fabric", "more", "algbw", "k"),
    [
        # ForestColl paper, sections 5.3 and 5.4: 346.67 and 341.33 GB/s.
        (a100(2), [], Fraction(1040, 3), 13),
        (mi250(2), ["--fixed-k", "2"], Fraction(1024, 3), 2),
        (mi250(2, gpus=8), [], Fraction(208), None),
        (p2_16xlarge(), [], Fraction(16, 15), None),
    ],
)
def test_figures_of_the_paper(
    fabric: Fabric, more: list[str], algbw: Fraction, k: int | None, run: Run
) -> None:
    """Shipped topologies, checked against the networks of the testing kit."""
    result = run("forest", fabric.name, *more, "--format", "json")
    assert result.code == 0
    document = result.json
    _require_shape(document)
    assert document["topology"] == fabric.name.replace(" ", "")
    assert Fraction(document["algbw"]) == algbw
    assert (document["algbw"] == document["bound"]) is not bool(more)
    assert document["unit"] == ("chunks per round" if "p2" in fabric.name else "GB/s")
    assert k is None or document["k"] == k
    _require_forest(document, fabric, [1] * fabric.num_nodes)


def test_a_network_with_switches_in_words(run: Run) -> None:
    out = run("forest", "a100(boxes=2)", "--trees").out
    assert "1040/3 GB/s (346.67)" in out
    assert "No algorithm of any number of steps is faster" in out
    assert "15/16 of the data has to go from nodes 1-15 to node 0" in out
    assert "2 links of 325 GB/s together" in out
    assert "switch 0 -> 0 (300)" in out
    weights = re.findall(r"^root \d+, weight (\d+)$", out, re.MULTILINE)
    assert sum(map(int, weights)) == 13 * 16
    assert f"208 trees, 13 for each root, {len(weights)} of them different" in out
    assert re.search(r"\d+->\d+ \(switch \d+", out)
    fixed = run("forest", "mi250(boxes=2)", "--fixed-k", "2").out
    assert "1024/3 GB/s (341.33)" in fixed
    assert "96.4% of the network's bound of 5312/15 GB/s (354.13)" in fixed


@pytest.mark.parametrize(
    ("collective", "weights"),
    [
        (["allgather"], [1] * 8),
        (["reducescatter"], [1] * 8),
        (["broadcast", "--root", "3"], [0, 0, 0, 1, 0, 0, 0, 0]),
        (["reduce", "--root", "3"], [0, 0, 0, 1, 0, 0, 0, 0]),
    ],
)
def test_a_plain_topology(collective: list[str], weights: list[int], run: Run) -> None:
    from tests.oracles.fabrics import dgx1

    links = [(x.source, x.destination, x.bandwidth / 25) for x in dgx1().links]
    document = run("forest", "dgx1", "--format", "json", "--collective", *collective).json
    assert document["unit"] == "chunks per round"
    assert Fraction(document["algbw"]) == (Fraction(48, 7) if sum(weights) > 1 else 6)
    _require_forest(document, Fabric.from_links("dgx1", 8, 0, links), weights)


def test_allreduce_has_two_phases(run: Run) -> None:
    document = run("forest", "a100(boxes=2)", "--collective", "allreduce", "--format", "json").json
    _require_shape(document)
    assert Fraction(document["algbw"]) == Fraction(520, 3)
    assert [p["collective"] for p in document["phases"]] == ["reducescatter", "allgather"]
    for phase in document["phases"]:
        assert Fraction(phase["algbw"]) == Fraction(1040, 3)
        _require_forest(phase, a100(2), [1] * 16)
    assert document["trees"] in [p["trees"] for p in document["phases"]]
    assert set(document["seconds"]) == {"reducescatter", "allgather", "total"}
    out = run("forest", "a100(boxes=2)", "--collective", "allreduce").out
    assert "520/3 GB/s (173.33)" in out
    assert "partial results for 15/16 of the data have to go from node 0 to nodes 1-15" in out
    assert Fraction(document["any_roots"]["at_most"]) == Fraction(520, 3)
    assert "both at the same time, are no faster" in out


def test_an_allreduce_whose_halves_overlap(run: Run) -> None:
    """The bottlenecks of the halves are in opposite directions."""
    options = ("--collective", "allreduce", "--format", "json")
    document = run("forest", "mi250(boxes=2,gpus=8)", *options).json
    assert document["algbw"] == "104"
    assert document["any_roots"] == {"at_least": "128", "at_most": "128"}
    _require_shape(document)
    assert "any_roots" not in run("forest", "torus(6,6)", *options).json


def test_one_way_links_take_other_ways_back(run: Run, tmp_path: Path) -> None:
    """Both phases of an allreduce on a directed ring with a wide half."""
    Path("oneway.syncoll").write_text(
        "topology oneway { nodes 3  link (0, 1) bandwidth 2  link (1, 2) bandwidth 3"
        "  link (2, 0) bandwidth 5 }\n"
    )
    options = ("--collective", "allreduce", "--format", "json")
    document = run("forest", "oneway.syncoll:oneway", *options).json
    fabric = Fabric.from_links("oneway", 3, 0, [(0, 1, 2), (1, 2, 3), (2, 0, 5)])
    for phase in document["phases"]:
        assert Fraction(phase["algbw"]) == 3
        _require_forest(phase, fabric, [1] * 3)


def test_saving(run: Run, tmp_path: Path) -> None:
    shown = run("forest", "ring(5)", "-o", "forest.json")
    assert "saved in forest.json" in shown.err
    assert shown.out.startswith("allgather on ring(5): 5/2 chunks per round (2.50)")
    saved = json.loads((tmp_path / "forest.json").read_text("utf-8"))
    printed = run("forest", "ring(5)", "--format", "json").json
    assert {**saved, "seconds": {}} == {**printed, "seconds": {}}


@pytest.mark.parametrize(
    ("words", "collective", "root"),
    [
        (["ring(5)", "allreduce"], "allreduce", None),
        (["ring(5)", "broadcast(root=3)"], "broadcast", 3),
        (["ring(5)", "reduce( 2 )"], "reduce", 2),
        (["ring(5)", "--fixed-k", "1", "broadcast"], "broadcast", 0),
        (["ring(5)", "--collective", "broadcast(4)"], "broadcast", 4),
        (["ring(5)", "broadcast(1)", "--root", "1"], "broadcast", 1),
    ],
)
def test_the_collective_stands_behind_the_topology(
    words: list[str], collective: str, root: int | None, run: Run
) -> None:
    found = run("forest", *words, "--format", "json").json
    assert found["collective"] == collective
    if root is not None:
        assert {tree["root"] for tree in found["trees"]} == {root}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["dgx1", "alltoall"], ["not packed for 'alltoall', only for allgather, reduces"]),
        (["dgx1", "allgather(2)"], ["--root has no effect on allgather"]),
        (["dgx1", "broadcast(8)"], ["--root 8", "nodes 0 to 7"]),
        (["dgx1", "broadcast(root=2)", "--root", "3"], ["--root 3 contradicts broadcast(root=2)"]),
        (["dgx1", "reduce", "--collective", "broadcast"], ["give one of them"]),
        (["dgx1", "reduce", "broadcast"], ["'broadcast' is one argument too many"]),
        (["dgx1", "--collective", "alltoall"], ["not packed for 'alltoall'"]),
        (["dgx1", "--root", "2"], ["--root has no effect on allgather"]),
        (["dgx1", "--collective", "reduce", "--root", "8"], ["--root 8", "nodes 0 to 7"]),
        (["dgx1", "--fixed-k", "0"], ["at least 1"]),
        (["bus(4)"], ["share bandwidth", "with its switches"]),
        (["dgx1", "--backend", "nobody"], ["no seed 'nobody'"]),
        (["dgx1", "-o", "no/such/folder/x.json"], ["no/such/folder"]),
    ],
)
def test_wrong_arguments_are_refused(options: list[str], words: list[str], run: Run) -> None:
    result = run("forest", *options)
    assert result.code == 2
    assert result.out == ""
    for word in words:
        assert word in result.err


@pytest.mark.parametrize(
    ("links", "words"),
    [
        (
            "link (2 * i, 2 * i + 1) both ways for i in range(2)  bandwidth 1",
            "no path leads from node 0",
        ),
        ("link (0, 1) bandwidth 1  link (1, 2) bandwidth 1  link (2, 3) bandwidth 1", "no path"),
    ],
)
def test_missing_paths_are_refused(links: str, words: str, run: Run) -> None:
    Path("apart.syncoll").write_text(f"topology apart {{ nodes 4  {links} }}\n")
    result = run("forest", "apart.syncoll:apart")
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err


def test_progress_goes_to_standard_error(run: Run) -> None:
    result = run("forest", "ring(4)", "--progress", "plain", "--format", "json")
    assert result.json["nodes"] == 4
    assert "forest of allgather on ring(4), 4 nodes" in result.err
    assert "packed and verified" in result.err


def test_an_interrupt_ends_it_and_writes_nothing(background: Any, tmp_path: Path) -> None:
    running = background("forest", "torus(60,60)", "--progress", "plain", "-o", "forest.json")
    assert "3600 nodes" in running.process.stderr.readline()
    result = running.interrupt()
    assert result.code in (130, -signal.SIGINT)
    assert "Traceback" not in result.err
    assert result.out == ""
    assert not list(tmp_path.glob("*.json"))


class _Liar:
    """Packs with a real seed, then spoils it."""

    def __init__(self, spoil: Callable[[PackedForest], PackedForest]) -> None:
        self.spoil = spoil
        self.roots: tuple[Fraction, Fraction] | None = None

    def pack(self, fabric: Fabric, collective: ForestCollective, **how: Any) -> Any:
        packer = PluginManager.discover().seeds["forestcoll"].forest
        assert packer is not None
        return tuple(self.spoil(one) for one in packer().pack(fabric, collective, **how))

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        return self.roots

    @hookimpl
    def syncoll_seeds(self) -> list[SeedRecord]:
        return [SeedRecord("liar", "lies", lambda: None, forest=lambda: self)]  # type: ignore[arg-type, return-value]


def _other_trees(**changes: Any) -> Callable[[PackedForest], PackedForest]:
    return lambda one: replace(one, forest=replace(one.forest, **changes))


def _without_an_edge(one: PackedForest) -> PackedForest:
    entering = one.forest.entering.copy()
    entering[0, (one.forest.roots[0] + 1) % 8] = -1
    return replace(one, forest=replace(one.forest, entering=entering))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda one: replace(one, bound=Fraction(50, 7)), "50/7 is claimed"),
        (lambda one: replace(one, bound=Fraction(46, 7)), "46/7 is claimed"),
        (lambda one: replace(one, cut=frozenset({0, 1})), "the bottleneck cut of dgx1 proves"),
        (lambda one: replace(one, cut=frozenset(range(8))), "separates no data"),
        (lambda one: replace(one, cut=frozenset()), "separates no data"),
        (_other_trees(scale=Fraction(6)), "carries 14 trees, but only 12 fit"),
        (_other_trees(weights=(2,) * 8, k=3), "other shares"),
        (_other_trees(inward=True), "another network"),
        (_other_trees(fabric=torus(8)), "another network"),
        (_without_an_edge, "lacks a route"),
    ],
)
def test_forests_and_cuts_that_do_not_hold_are_found(
    spoil: Callable[[PackedForest], PackedForest],
    words: str,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = PluginManager.discover()
    manager.register(_Liar(spoil), "liar")
    monkeypatch.setattr(PluginManager, "discover", lambda: manager)
    result = run("forest", "dgx1", "--backend", "liar")
    assert result.code == 2
    assert result.out == ""
    assert words in result.err


def test_any_roots_that_contradict_the_halves(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their upper bound cannot be too small; a smaller lower bound is raised to the halves."""
    liar = _Liar(lambda one: one)
    manager = PluginManager.discover()
    manager.register(liar, "liar")
    monkeypatch.setattr(PluginManager, "discover", lambda: manager)
    asked = ("forest", "ring(4)", "--collective", "allreduce", "--backend", "liar", "--format")
    halves = Fraction(run(*asked, "json").json["algbw"])
    less = halves * Fraction(99, 100)
    for liar.roots in ((less, less), (halves * 3, halves * 2)):
        result = run(*asked, "table")
        assert result.code == 2
        assert result.out == ""
        assert f"and its two halves reach {halves}" in result.err
    liar.roots = (less, halves * 2)
    document = run(*asked, "json").json
    assert document["any_roots"] == {"at_least": str(halves), "at_most": str(halves * 2)}


def test_without_a_seed_that_packs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager()

    class Other:
        @hookimpl
        def syncoll_seeds(self) -> list[SeedRecord]:
            return [SeedRecord("other", "packs nothing", lambda: None)]  # type: ignore[arg-type, return-value]

    manager.register(Other(), "other")
    manager.register(syncoll_specs, "specs")
    monkeypatch.setattr(PluginManager, "discover", lambda: manager)
    assert "no seed packs forests" in run("forest", "dgx1").err
    result = run("forest", "dgx1", "--backend", "other")
    assert result.code == 2
    assert "seed other packs no forests" in result.err
