"""Reproducible sums: one association for every chunk, in searches, files, checkers and runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import highspy
import networkx as nx
import numpy as np
import pytest

import syncoll
import syncoll_msccl_xml
import syncoll_mscclpp
from syncoll import pareto
from syncoll.api import Algorithm, Instance, Topology
from syncoll.deadline import NEVER
from syncoll.documents import StoredAlgorithm, algorithm_document, frontier_document, load_text
from syncoll.errors import ExportError, ModelError, SyncollError, UsageError, VerificationError
from syncoll.model.associations import Association, associations
from syncoll.planning import CostModel, plan_sizes
from syncoll.plugins import ExporterRecord, SeedLimits
from syncoll.plugins.foreign import Meant
from syncoll.runtime.export import export_verified, request_of
from syncoll.runtime.exported import verify_exports
from syncoll.trust import require_valid
from syncoll.trust.data import execute
from syncoll.trust.data.definition import Inputs
from syncoll.trust.data.execute import NodeMemory
from syncoll.trust.data.workload import ReduceOp, Workload
from syncoll.trust.same_problem import require_same_instance
from syncoll_check import FileError, WrongError, check
from syncoll_derivations import RECORD
from syncoll_derivations.derivations import Demand, SumNetwork, SumPacking
from syncoll_derivations.local_search import LocalSearch, beginnings

Solved = tuple[Instance, Algorithm]


def test_inner_sums_are_added_from_left_to_right() -> None:
    order = Association.of(0b111111, [0b110, 0b101000])
    assert str(order) == "((0+(1+2))+(3+5))+4"
    assert order.forms(0b101111, {0b1, 0b110, 0b1000, 0b100000})
    assert not order.forms(0b111, {0b11, 0b100})


def halving(nodes: int, orders: list[list[int]]) -> Solved:
    """Allreduce by recursive doubling: every chunk has its own order of dimensions."""
    name = f"hypercube({nodes.bit_length() - 1})"
    sends, carried = [], []
    for chunk, dimensions in enumerate(orders):
        done = 0
        for step, bit in enumerate(dimensions):
            for node in range(nodes):
                sends.append([chunk, node, node ^ bit, step])
                carried.append([not (other ^ node) & ~done for other in range(nodes)])
            done |= bit
    steps = len(orders[0])
    topology = syncoll.topology(name)
    every = np.ones((len(orders), nodes), dtype=bool)
    draft = Algorithm((0,) * steps, sends, np.array(carried)).with_least_rounds(topology)
    costs = len(orders), steps, draft.rounds
    instance = Instance(topology, "sums", *costs, every, every, combining=True)
    return replace(instance, reproducible=True), draft


def test_one_order_of_dimensions_is_reproducible() -> None:
    instance, algorithm = halving(8, [[4, 2, 1], [4, 2, 1]])
    require_valid(instance, algorithm)
    [order] = associations(instance, algorithm).values()
    assert str(order) == "((0+4)+(2+6))+((1+5)+(3+7))"


def test_two_orders_of_dimensions_are_refused_by_both_checkers() -> None:
    instance, algorithm = halving(8, [[4, 2, 1], [1, 2, 4]])
    require_valid(replace(instance, reproducible=False), algorithm)
    with pytest.raises(VerificationError, match="chunks 0 and 1 are added up in different"):
        require_valid(instance, algorithm)


@pytest.fixture(scope="module")
def found() -> list[Solved]:
    """Algorithms of the search."""
    solved = []
    for machine, collective in (
        ("ring(5)", "allreduce reproducible"),
        ("hypercube(2)", "reduce(root=1) reproducible"),
        ("dgx1", "reducescatter reproducible within [[0,1,2,3],[4,5,6,7]]"),
    ):
        frontier = pareto(machine, collective, work=0.4, progress="none")
        assert frontier.points
        solved += [(point.instance, point.algorithm) for point in frontier.points]
    return solved


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("size", [4, 400, 5000])
def test_runs_add_up_in_the_association(found: list[Solved], dtype: str, size: int) -> None:
    for instance, algorithm in found:
        workload, results = Workload(size, dtype, ReduceOp.SUM), dict[Any, set[bytes]]()
        form = NodeMemory.form

        def record(
            self: NodeMemory,
            chunk: int,
            label: frozenset[int],
            form: Any = form,
            results: dict[Any, set[bytes]] = results,
        ) -> Any:
            data = form(self, chunk, label)
            results.setdefault((chunk, label), set()).add(data.tobytes())
            return data

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(NodeMemory, "form", record)
            assert execute(instance, algorithm, workload).ok
        inputs, orders = Inputs(instance, workload), associations(instance, algorithm)
        for chunk, row in enumerate(instance.pre):
            order = orders[sum(1 << int(n) for n in np.flatnonzero(row))]

            def added(
                mask: int, order: Association = order, chunk: int = chunk, of: Any = inputs.of
            ) -> Any:
                if mask not in order.parts:
                    return of(chunk, mask.bit_length() - 1)
                return ReduceOp.SUM(*map(added, order.parts[mask]))

            whole = frozenset(np.flatnonzero(row).tolist())
            assert results[chunk, whole] == {added(order.whole).tobytes()}


def random_orders(count: int, nodes: int) -> Iterator[list[int]]:
    """Partial sums of random associations."""
    random = Random(3)
    for _ in range(count):
        pieces = [1 << n for n in range(nodes)]
        sums = []
        while len(pieces) > 1:
            one, two = random.sample(pieces, 2)
            pieces = [x for x in pieces if x not in (one, two)] + [one | two]
            sums.append(one | two)
        yield sums


def test_sums_of_another_association_are_refused() -> None:
    """One chunk is added up along another tree, which the verifier accepts without the word."""
    every = np.ones((2, 6), dtype=bool)
    links = {(a, b): 9 for a in range(6) for b in range(6) if a != b}
    full = Topology.from_links("full", 6, links, [])
    refused = 0
    for orders in zip(random_orders(150, 6), list(random_orders(151, 6))[1:], strict=True):
        sends, carried = [], []
        for chunk, sums in enumerate(orders):
            ready = {1 << n: (n, 0) for n in range(6)}
            for step, mask in enumerate(sums):
                parts = [part for part in ready if part & mask]
                (to, _), (source, _) = (ready.pop(part) for part in parts)
                sends.append([chunk, source, to, step])
                carried.append([parts[1] >> n & 1 for n in range(6)])
                ready[mask] = to, step
            for n in range(6):
                if n != to:
                    sends.append([chunk, to, n, 5])
                    carried.append([1] * 6)
        draft = Algorithm((1,) * 6, sends, np.array(carried, dtype=bool))
        instance = Instance(full, "sums", 2, 6, 6, every, every, combining=True)
        require_valid(instance, draft)
        trees = [Association.of(63, sums) for sums in orders]
        try:
            require_valid(replace(instance, reproducible=True), draft)
        except VerificationError:  # others add in a common association at the nodes
            refused += 1
            assert str(trees[0]) != str(trees[1])
    assert refused > 100


def test_files_keep_the_word_and_both_checkers_agree() -> None:
    frontier = pareto("ring(4)", "allreduce reproducible", work=0.2, progress="none")
    document = json.loads(json.dumps(frontier_document(frontier)))
    assert document["schema"] == "syncoll/frontier/9"
    assert all(one.instance.reproducible for one in load_text(json.dumps(document), "x").algorithms)
    check(json.dumps(document).encode())
    random, refused = Random(5), 0
    for _ in range(15):
        changed = json.loads(json.dumps(document))
        changed.pop("digest", None)
        carried = random.choice(changed["points"])["algorithm"]["contributions"]
        one, two = random.sample(range(len(carried)), 2)
        carried[one], carried[two] = carried[two], carried[one]
        text, ours, theirs = json.dumps(changed), "", ""
        try:
            load_text(text, "x")
        except SyncollError as error:
            ours = str(error)
        try:
            check(text.encode())
        except (FileError, WrongError) as error:
            theirs = str(error)
        assert bool(ours) is bool(theirs), (ours, theirs)
        refused += bool(ours)
    assert refused > 7


def test_an_algorithm_without_the_word_is_for_another_collective() -> None:
    asked = syncoll.collective("allreduce reproducible")
    instance, _ = halving(4, [[2, 1]])
    require_same_instance(instance, asked)
    with pytest.raises(VerificationError, match="need not be reproducible sums"):
        require_same_instance(replace(instance, reproducible=False), asked)


@pytest.mark.parametrize(
    ("collective", "message"),
    [
        ("allgather reproducible", "adds nothing up"),
        ("inverse (reducescatter reproducible)", "its inverse adds nothing up"),
        ("allreduce reproducible + reducescatter", "reducescatter is not reproducible"),
    ],
)
def test_the_word_needs_sums(collective: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        syncoll.collective(collective)


def test_solvers_are_not_asked() -> None:
    with pytest.raises(UsageError, match="formulas have no associations"):
        syncoll.solve("ring(3)", "allreduce reproducible", chunks=3, steps=2, rounds=4)


def exchange(name: str) -> Solved:
    """A collective of one chunk by single contributions of 8 nodes on a switch, in one step."""
    topology = syncoll.topology("dgx_h100(nvls=true)")
    instance = syncoll.collective(name).instantiate(topology, chunks=1, steps=1, rounds=7)
    sends = [[0, a, b, 0] for a in range(8) for b in range(8) if a != b and instance.post[0, b]]
    carried = [[node == a for node in range(8)] for _, a, _, _ in sends]
    return instance, Algorithm((7,), np.array(sends), np.array(carried))


def written(folder: Path, name: str) -> Path:
    """The file of an exchange."""
    file = folder / "algorithm.json"
    file.write_text(json.dumps(algorithm_document(*exchange(name))))
    return file


def test_simulated_switches_add_up_no_reproducible_sums(tmp_path: Path) -> None:
    times = list[Fraction]()
    for name in ("reduce", "reduce reproducible"):
        source = written(tmp_path, name)
        found = syncoll.simulate(source, sizes="256MiB", classics=False, progress="none")
        times += found.algorithms[0].seconds
    assert times[1] > 6 * times[0]


def test_no_export_adds_up_reproducible_sums_in_switches() -> None:
    options, plan = {"channel": "switch"}, None
    for name in ("allreduce", "allreduce reproducible"):
        request = request_of(StoredAlgorithm(*exchange(name), "algorithm"), in_place=False)
        if plan is None:
            plan = export_verified(syncoll_mscclpp.RECORD, request, options)
            assert "not reproducible: switches" in plan.checked.added
            meant = Meant(None, syncoll.collective("allreduce reproducible"))
            with pytest.raises(VerificationError, match="not reproducible: switches"):
                syncoll_mscclpp.RECORD.load_checker().read(plan.exported.files, meant)
        else:
            with pytest.raises(ExportError, match="switches add up in no stated order"):
                export_verified(syncoll_mscclpp.RECORD, request, options)


@pytest.mark.parametrize("record", [syncoll_msccl_xml.RECORD, syncoll_mscclpp.RECORD])
def test_exports_in_two_associations_are_refused(record: ExporterRecord, tmp_path: Path) -> None:
    asked = syncoll.collective("allreduce reproducible")
    for orders, wrong in (
        ([[2, 1], [2, 1]], []),
        ([[2, 1], [1, 2]], ["not reproducible: chunk 0"]),
    ):
        instance, algorithm = halving(4, orders)
        instance = replace(instance, collective="allreduce", reproducible=False)
        request = request_of(StoredAlgorithm(instance, algorithm, "algorithm"), in_place=False)
        [(name, content)] = export_verified(record, request, {}).exported.files.items()
        (tmp_path / name).write_bytes(content)
        found = verify_exports(tmp_path / name, record, {}, collective=asked)
        assert [reason[:25] for _, reason in found.wrong] == wrong
        assert len(found.checked) + len(wrong) == 1


def test_a_plain_file_is_no_file_of_reproducible_sums(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is another collective than allreduce"):
        syncoll.simulate(
            written(tmp_path, "allreduce"), sizes="1MiB", collective="allreduce reproducible"
        )


def test_the_price_is_shown_next_to_the_bound() -> None:
    found = pareto("ring(3)", "reducescatter reproducible", work=1, progress="none")
    assert found.plain is not None
    assert found.plain.collective == "reducescatter"
    words = str(found.page())
    assert "Price of reproducible sums, next to reducescatter:" in words
    assert "proved price" in words


def trees(nodes: list[int]) -> Iterator[list[int]]:
    """The partial sums of every association of some nodes."""
    if len(nodes) == 1:
        yield []
        return
    first, *others = nodes
    for size in range(len(others)):
        for some in combinations(others, size):
            left, right = [first, *some], [n for n in others if n not in some]
            for one in trees(left):
                for two in trees(right):
                    yield [*one, *two, sum(1 << n for n in nodes)]


def least_bandwidth(graph: nx.Graph, sums: list[int]) -> float:
    """R/C of reducescatter in one association, by flows of its partial sums.

    Chunks are alike until they are finished: a flow for each partial sum, and a variable for the
    chunks whose partial sum a node forms.
    """
    nodes = graph.number_of_nodes()
    links = [*graph.edges, *[(b, a) for a, b in graph.edges]]
    order = Association.of((1 << nodes) - 1, sums)
    rows: list[tuple[dict[Any, float], float, float]] = []
    for mask in [*(1 << n for n in range(nodes)), *order.parts]:
        parents = [whole for whole, two in order.parts.items() if mask in two]
        for node in range(nodes):
            row: dict[Any, float] = {("flow", mask, a, b): 1.0 for a, b in links if b == node}
            row |= {("flow", mask, a, b): -1.0 for a, b in links if a == node}
            if mask in order.parts:
                row["made", mask, node] = 1.0
            low = 1.0 if mask == order.whole else 0.0
            for parent in parents:
                row["made", parent, node] = -1.0
            if mask == 1 << node:
                continue  # it has its own contribution to every chunk
            rows.append((row, low, np.inf))
    for a, b in links:
        masks = [*(1 << n for n in range(nodes)), *order.parts]
        rows.append(({"rounds": 1.0} | {("flow", m, a, b): -1.0 for m in masks}, 0.0, np.inf))
    columns, solver = dict[Any, Any](), highspy.Highs()
    solver.silent()
    for row, _, _ in rows:
        for key in row:
            if key not in columns:
                columns[key] = solver.addVariable(0.0, highspy.kHighsInf, float(key == "rounds"))
    for row, low, _ in rows:
        solver.addConstr(sum(value * columns[key] for key, value in row.items()) >= low)
    solver.run()
    return float(solver.getInfo().objective_function_value) / nodes


@pytest.mark.usefixtures("counted_work")
@pytest.mark.parametrize("nodes", [3, 4])
def test_the_seed_finds_the_best_association_of_small_graphs(nodes: int) -> None:
    collective = syncoll.collective("reducescatter reproducible")
    for graph in nx.graph_atlas_g():
        if graph.number_of_nodes() != nodes or not nx.is_connected(graph):
            continue
        edges = {(a, b): 1 for one in graph.edges for a, b in (one, one[::-1])}
        topology = Topology.from_links("graph", nodes, edges, [])
        best = min(least_bandwidth(graph, sums) for sums in trees(list(range(nodes))))
        limits = SeedLimits(seconds=0.5)
        options = {"seconds": 0.5, "chunks": 96}
        seed, costs = RECORD.load(), []
        for proposal in seed.propose(topology, collective, limits, options):
            if proposal is None:
                break
            algorithm = proposal.algorithm
            costs.append(Fraction(algorithm.rounds, proposal.chunks))
            units = proposal.chunks // nodes
            assert units <= 64 or units.bit_count() == 1  # they cut messages of a power of two
            how = {"chunks": proposal.chunks, "steps": algorithm.steps, "rounds": algorithm.rounds}
            require_valid(collective.instantiate(topology, **how), algorithm)
        # The packing is for many chunks in a row; steps to fill and drain it cost more.
        assert best * (1 - 1e-6) <= min(costs) <= best * 1.2
        demands = [Demand((1 << nodes) - 1, (n,), 1) for n in range(nodes)]
        network, wholes = SumNetwork(topology), [(1 << nodes) - 1]
        search = LocalSearch(
            next(beginnings(topology, wholes)), partial(_packing, network, demands, nodes)
        )
        while search.run(NEVER):
            pass
        assert search.best.value == pytest.approx(best, rel=1e-4)


def _packing(
    network: SumNetwork, demands: list[Demand], nodes: int, added: dict[int, Association]
) -> SumPacking:
    return SumPacking(network, demands, added, 2 * nodes, nodes, timeless=True)


@pytest.mark.usefixtures("counted_work")
def test_pairs_use_idle_neighbours_as_relays() -> None:
    """Relays of a complete graph: S - 1 chunks each, next to S on the pair's own link."""
    topology, pair = syncoll.topology("mi300x"), syncoll.collective("allreduce within [[0,1]]")
    proposals = RECORD.load().propose(
        topology, pair, SeedLimits(seconds=0.2), {"seconds": 1.0, "chunks": 64}
    )
    costs = {}
    for proposal in proposals:
        if proposal is None or len(costs) == 3:
            break
        algorithm = proposal.algorithm
        costs[algorithm.steps] = Fraction(algorithm.rounds, proposal.chunks)
    assert list(costs.items()) == [(2, Fraction(1, 4)), (1, Fraction(1)), (3, Fraction(1, 5))]


def test_classics_of_other_associations_are_not_chosen() -> None:
    costs: dict[str, Any] = {"alpha": "1us", "beta": "25GB/s", "progress": "none"}
    found = syncoll.recommend("ring(4)", "allreduce reproducible", sizes="1MiB", work=1, **costs)
    assert not any(one.is_classic for one in found.recommended)
    ranges = syncoll.plan(found.frontier, **costs).ranges
    assert ranges
    assert all(one.algorithm.instance.reproducible for one in ranges)
    assert found.association in str(found.page())
    assert found.document()["association"].startswith("association (0+")


def test_one_association_is_planned_for_all_sizes() -> None:
    """Of three algorithms the two fastest add up in different associations."""
    alike, other = halving(8, [[4, 2, 1]]), halving(8, [[1, 2, 4]])
    small, other_large, large = (
        StoredAlgorithm(*one, name)
        for one, name in ((alike, "small"), (other, "other_large"), (alike, "large"))
    )
    lines = {id(small): (1, 4), id(other_large): (9, 1), id(large): (10, 2)}

    def seconds(one: StoredAlgorithm, sizes: Any) -> list[Fraction]:
        return [lines[id(one)][0] + lines[id(one)][1] * Fraction(size) for size in sizes]

    model = CostModel(Fraction(1), Fraction(1))
    for sizes, names, words in (
        ([1, 8], ["small", "large"], "((0+4)+(2+6))+((1+5)+(3+7))"),
        ([1000, 2000], ["other_large"], "((0+1)+(2+3))+((4+5)+(6+7))"),
    ):
        plan = plan_sizes([small, other_large, large], model, seconds, sizes)
        assert [one.algorithm.where for one in plan.ranges] == names
        assert plan.association == f"association {words}"
    plain = [replace(one, instance=replace(one.instance, reproducible=False)) for one in (small,)]
    lines[id(plain[0])] = 1, 4
    assert plan_sizes(plain, model, seconds).association == ""
