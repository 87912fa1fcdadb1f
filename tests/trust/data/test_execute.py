"""Algorithms on data: right ones end with the collective's result, wrong ones show the place."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from math import prod
from pathlib import Path

import numpy as np
import pytest

import syncoll.trust.data
from syncoll.errors import UsageError
from syncoll.model import Algorithm, Instance
from syncoll.trust import violations
from syncoll.trust.data import BFLOAT16, DTYPES, ReduceOp, Workload, execute
from syncoll.trust.data.definition import Inputs, reduction
from syncoll.trust.data.execute import NodeMemory
from syncoll.trust.data.workload import Array, narrow, widen

from .conftest import SEARCHED, Pair, line_broadcast, line_reduce, ring_allreduce

INT64 = Workload(96, "int64")


def altered(algorithm: Algorithm, row: int, **changes: object) -> Algorithm:
    """With one send changed: `chunk`, `source`, `destination`, `step` or `contributors`."""
    columns = ("chunk", "source", "destination", "step")
    sends = algorithm.sends.copy()
    carried = algorithm.contributions
    for name, value in changes.items():
        if name == "contributors":
            assert carried is not None
            assert isinstance(value, list)
            carried = carried.copy()
            carried[row] = [n in value for n in range(carried.shape[1])]
        else:
            assert isinstance(value, int)
            sends[row, columns.index(name)] = value
    return Algorithm(algorithm.rounds_per_step, sends, carried)


def without(algorithm: Algorithm, row: int) -> Algorithm:
    kept = np.arange(len(algorithm.sends)) != row
    carried = algorithm.contributions
    return replace(
        algorithm,
        sends=algorithm.sends[kept],
        contributions=None if carried is None else carried[kept],
    )


@pytest.mark.parametrize("operation", ReduceOp)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_ring_allreduce_is_right(dtype: str, operation: ReduceOp) -> None:
    instance, algorithm = ring_allreduce(5)
    result = execute(instance, algorithm, Workload(8000, dtype, operation, seed=3))
    assert result.mismatch is None
    assert result.steps == 8
    assert result.bytes_sent == 2 * 4 * 8000, "2 (P - 1) / P of the data from every node"
    exact = dtype.startswith("int") or operation in (ReduceOp.MAX, ReduceOp.MIN)
    assert (result.largest_error == 0) == exact, "float sums of five in another order are not equal"


@pytest.mark.parametrize("elements", [1, 2, 3, 4, 5, 6, 7, 99])
def test_sizes_that_do_not_divide_evenly(elements: int) -> None:
    instance, algorithm = ring_allreduce(5)
    inputs = Inputs(instance, Workload(4 * elements, "int32"))
    assert sum(inputs.lengths) == elements
    assert inputs.lengths == sorted(inputs.lengths, reverse=True), "the last ones are shorter"
    result = execute(instance, algorithm, Workload(4 * elements, "int32"))
    assert result.ok
    assert result.bytes_sent == 2 * 4 * 4 * elements


@pytest.mark.parametrize(("machine", "collective"), SEARCHED)
def test_algorithms_of_the_search_are_right(
    machine: str, collective: str, searched: dict[str, list[Pair]]
) -> None:
    pairs = searched[f"{machine} {collective}"]
    assert pairs
    for instance, algorithm in pairs:
        for dtype in DTYPES:
            for operation in ReduceOp if instance.combining else (ReduceOp.SUM,):
                result = execute(instance, algorithm, Workload(1000, dtype, operation))
                assert result.mismatch is None
                if not instance.combining:
                    assert result.largest_error == 0


def test_nodes_end_with_the_result_of_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against Python's own integers, reduced to the ring's range."""
    ends: dict[tuple[int, frozenset[int]], Array] = {}
    form = NodeMemory.form

    def record(self: NodeMemory, chunk: int, label: frozenset[int]) -> Array | None:
        data = form(self, chunk, label)
        assert data is not None
        ends[chunk, label] = data
        return data

    monkeypatch.setattr(NodeMemory, "form", record)
    instance, algorithm = ring_allreduce(4)
    combine: dict[ReduceOp, Callable[[list[int]], int]] = {
        ReduceOp.SUM: sum,
        ReduceOp.PROD: prod,
        ReduceOp.MAX: max,
        ReduceOp.MIN: min,
    }
    for operation, function in combine.items():
        workload = Workload(36, "int32", operation)
        inputs = Inputs(instance, workload)
        assert execute(instance, algorithm, workload).ok
        wrapped = 0
        for chunk in range(4):
            own = [inputs.of(chunk, n).tolist() for n in range(4)]
            exact = [function([own[n][i] for n in range(4)]) for i in range(len(own[0]))]
            ring = [(x + 2**31) % 2**32 - 2**31 for x in exact]
            assert ends[chunk, frozenset(range(4))].tolist() == ring
            wrapped += exact != ring
        assert bool(wrapped) == (operation in (ReduceOp.SUM, ReduceOp.PROD))


def test_a_step_reads_data_from_its_beginning() -> None:
    instance, algorithm = line_broadcast()
    wrong = execute(instance, altered(algorithm, 2, step=0), INT64).mismatch
    assert wrong is not None
    assert (wrong.step, wrong.chunk, wrong.node) == (0, 0, 1)
    assert wrong.message == (
        "step 0 sends chunk 0 from node 1 to node 2, but node 1 does not have chunk 0 then"
    )
    instance, algorithm = line_reduce()
    wrong = execute(instance, altered(algorithm, 1, step=0), INT64).mismatch
    assert wrong is not None
    assert (wrong.step, wrong.node, wrong.contributor) == (0, 1, 2)
    assert "node 1 lacks the contribution of node 2 to chunk 0 then" in wrong.message


def test_a_chunk_that_never_arrives() -> None:
    instance, algorithm = line_broadcast()
    wrong = execute(instance, without(algorithm, 3), INT64).mismatch
    assert wrong is not None
    assert wrong.message == "node 2 does not have chunk 1 after the last step"
    assert (wrong.chunk, wrong.node, wrong.step) == (1, 2, None)


def test_a_contribution_that_never_arrives() -> None:
    instance, algorithm = line_reduce()
    wrong = execute(instance, altered(algorithm, 1, contributors=[1]), INT64).mismatch
    assert wrong is not None
    assert (wrong.chunk, wrong.node, wrong.step, wrong.contributor) == (0, 0, None, 2)
    assert "lacks the contribution of node 2 to chunk 0 after the last step" in wrong.message


def test_a_contribution_that_would_count_twice() -> None:
    everybody = np.ones((1, 3), dtype=bool)
    links = {(a, b): 1 for a in range(3) for b in range(3) if a != b}
    topology = syncoll.model.Topology.from_links("full", 3, links)
    instance = Instance(topology, "allreduce", 1, 2, 2, everybody, everybody, combining=True)
    # Nodes 0 and 2 each add 1's contribution and send the sum to the other.
    sends = [(0, 1, 0, 0), (0, 1, 2, 0), (0, 0, 2, 1), (0, 2, 0, 1)]
    carried = np.array([[0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=bool)
    result = execute(instance, Algorithm((1, 1), np.array(sends), carried), INT64)
    assert result.mismatch is not None
    assert (result.mismatch.chunk, result.mismatch.node) == (0, 1), "the first one that fails"
    only = replace(instance, post=np.array([[False, False, True]]))
    disjoint = execute(only, Algorithm((1, 1), np.array(sends), carried), INT64)
    assert disjoint.ok, "node 2 has its own and the sum of 0's and 1's"
    overlap = [(0, 1, 0, 0), (0, 1, 2, 0), (0, 2, 0, 1)]
    carried = np.array([[0, 1, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    at_0 = replace(instance, post=np.array([[True, False, False]]))
    assert execute(at_0, Algorithm((1, 1), np.array(overlap), carried), INT64).ok
    # Sums of 0 and 1, and of 1 and 2, are useless at a node without other data.
    far = replace(
        instance,
        topology=syncoll.model.Topology.from_links(
            "far", 4, {**links, (0, 3): 1, (2, 3): 1, (3, 0): 1}
        ),
        steps=2,
        pre=np.array([[True, True, True, False]]),
        post=np.array([[False, False, False, True]]),
    )
    sends = [(0, 1, 0, 0), (0, 1, 2, 0), (0, 0, 3, 1), (0, 2, 3, 1)]
    carried = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool)
    wrong = execute(far, Algorithm((1, 1), np.array(sends), carried), INT64).mismatch
    assert wrong is not None
    assert wrong.contributor == 1
    assert "only by counting the contribution of node 1 twice" in wrong.message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chunk": 2}, "no such chunk"),
        ({"chunk": -1}, "no such chunk"),
        ({"destination": 2}, "no such link"),
        ({"source": -3, "destination": 1}, "no such link"),
        ({"step": 2}, "sent in step 2; the steps are 0 to "),
        ({"step": -1}, "sent in step -1; the steps are 0 to "),
    ],
)
def test_sends_that_cannot_even_be_tried(changes: dict[str, object], words: str) -> None:
    instance, algorithm = line_broadcast()
    wrong = execute(instance, altered(algorithm, 0, **changes), INT64).mismatch
    assert wrong is not None
    assert words in wrong.message


def test_contributions_belong_to_combining_algorithms_only() -> None:
    instance, algorithm = line_reduce()
    bare = execute(instance, replace(algorithm, contributions=None), INT64).mismatch
    assert bare is not None
    assert "does not state whose" in bare.message
    empty = execute(instance, altered(algorithm, 0, contributors=[]), INT64).mismatch
    assert empty is not None
    instance, algorithm = line_broadcast()
    labelled = replace(algorithm, contributions=np.ones((4, 3), dtype=bool))
    wrong = execute(instance, labelled, INT64).mismatch
    assert wrong is not None
    assert "only moves data" in wrong.message


@pytest.mark.parametrize(("factor", "trouble"), [(0, "is missing"), (2, "counts twice")])
@pytest.mark.parametrize("dtype", DTYPES)
def test_wrong_data_is_noticed_and_explained(
    dtype: str, factor: int, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If labels and data ever differed, the data would show it."""
    keep = NodeMemory.keep

    def tamper(self: NodeMemory, chunk: int, label: frozenset[int], data: Array) -> None:
        if label == {2} and chunk == 1:
            data = data * factor if data.dtype != BFLOAT16 else narrow(widen(data) * factor)
        keep(self, chunk, label, data)

    monkeypatch.setattr(NodeMemory, "keep", tamper)
    instance, algorithm = ring_allreduce(4)
    result = execute(instance, algorithm, Workload(400, dtype))
    assert result.mismatch is not None
    assert result.mismatch.message.endswith(f"; the contribution of node 2 {trouble}")
    assert (result.mismatch.chunk, result.mismatch.contributor) == (1, 2)
    assert result.largest_error > 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_wrong_element_is_noticed(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = NodeMemory.keep

    def tamper(self: NodeMemory, chunk: int, label: frozenset[int], data: Array) -> None:
        data = data.copy()
        if len(label) == 4 and chunk == 3:
            if data.dtype == BFLOAT16:
                data[7:8] = narrow(widen(data[7:8]) + np.float32(0.5))
            else:
                small = 1 if data.dtype.kind == "i" else 1e-4 if data.dtype.itemsize > 2 else 0.1
                data[7] += data.dtype.type(small)
        keep(self, chunk, label, data)

    monkeypatch.setattr(NodeMemory, "keep", tamper)
    instance, algorithm = ring_allreduce(4)
    result = execute(instance, algorithm, Workload(800, dtype))
    assert result.mismatch is not None
    assert result.mismatch.message.startswith("chunk 3 at node ")
    assert "element 7 is" in result.mismatch.message


def mutant(rng: random.Random, instance: Instance, algorithm: Algorithm) -> Algorithm:
    """One or two random changes, which mostly break the algorithm."""
    for _ in range(rng.choice((1, 1, 2))):
        row = rng.randrange(len(algorithm.sends))
        nodes, kind = instance.topology.num_nodes, rng.randrange(6)
        if kind == 0 and len(algorithm.sends) > 1:
            algorithm = without(algorithm, row)
        elif kind == 1:
            algorithm = altered(algorithm, row, step=rng.randrange(algorithm.steps))
        elif kind == 2:
            algorithm = altered(algorithm, row, chunk=rng.randrange(instance.num_chunks))
        elif kind == 3:
            a, b = rng.choice(instance.topology.links)
            algorithm = altered(algorithm, row, source=a, destination=b)
        elif kind == 4:
            a, b = rng.randrange(nodes), rng.randrange(nodes)
            algorithm = altered(algorithm, row, source=a, destination=b)
        elif algorithm.contributions is not None:
            who = [n for n in range(nodes) if algorithm.contributions[row, n]]
            other = rng.randrange(nodes)
            who = [n for n in who if n != other] if other in who else [*who, other]
            algorithm = altered(algorithm, row, contributors=who)
    return algorithm


def test_it_agrees_with_the_verifier_on_broken_algorithms(searched: dict[str, list[Pair]]) -> None:
    """Two checks that share no code: both refuse the same data errors."""
    rng = random.Random(5)
    pairs = [pair for found in searched.values() for pair in found]
    pairs += [ring_allreduce(4), line_reduce(), line_broadcast()]
    refused = accepted = 0
    for instance, algorithm in pairs:
        for _ in range(60):
            broken = mutant(rng, instance, algorithm)
            found = violations(instance, broken)
            if any("is listed" in v.message for v in found):  # a repeated send: it stops there
                continue
            matter = [v for v in found if v.kind != "bandwidth"]  # rounds do not matter for data
            result = execute(instance, broken, Workload(64, "int64"))
            assert result.ok == (not matter), (matter, result.mismatch, broken.sends.tolist())
            refused += not result.ok
            accepted += result.ok
    assert refused > 500, refused
    assert accepted > 50, accepted


def test_nodes_share_no_memory() -> None:
    memory = NodeMemory(ReduceOp.SUM)
    data = np.arange(4)
    memory.keep(0, frozenset({0}), data)
    data[0] = 9
    kept = memory.form(0, frozenset({0}))
    assert kept is not None
    assert kept.tolist() == [0, 1, 2, 3]
    assert not kept.flags.writeable


def test_data_depends_only_on_the_seed() -> None:
    instance, _ = ring_allreduce(3)
    one, again, other = (
        Inputs(instance, Workload(120, "float64", seed=s)).of(1, 2).tolist() for s in (4, 4, 5)
    )
    assert one == again
    assert one != other
    inputs = Inputs(instance, Workload(120, "float64"))
    assert inputs.of(1, 2).tolist() != inputs.of(1, 0).tolist(), "every node has its own"


def test_copies_of_a_chunk_are_equal() -> None:
    topology = line_broadcast()[0].topology
    pre = np.array([[True, True, False]])
    instance = Instance(topology, "two sources", 1, 1, 1, pre, np.ones((1, 3), dtype=bool))
    inputs = Inputs(instance, Workload(80, "int64"))
    assert inputs.of(0, 0).tolist() == inputs.of(0, 1).tolist()
    assert execute(instance, Algorithm((1,), np.array([(0, 1, 2, 0)])), INT64).ok


def test_requests_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="multiple of 8"):
        Workload(12, "float64")
    with pytest.raises(UsageError, match="multiple of 4"):
        Workload(0)
    with pytest.raises(UsageError, match="multiple of 2"):
        Workload(5, "bfloat16")
    with pytest.raises(UsageError, match="no type 'int16'"):
        Workload(8, "int16")
    with pytest.raises(UsageError, match="use a smaller size"):
        execute(*ring_allreduce(4), Workload(1 << 60))


def test_it_shares_no_code_with_the_verifier() -> None:
    for file in Path(syncoll.trust.data.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("syncoll"):
                own = (node.module or "").startswith("syncoll.trust.data")
                shared = {"errors", "model", "wording"}
                assert own or (node.module or "").split(".")[1] in shared


def test_bfloat16_has_the_right_values() -> None:
    """Each of the 65,536 is a float32 and back; halfway between two the even one is taken."""
    every = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16)
    wide = widen(every)
    finite = np.isfinite(wide)
    assert (narrow(wide)[finite] == every[finite]).all()
    assert np.isnan(widen(narrow(wide[np.isnan(wide)]))).all()
    bits = np.arange(0x3F00, 0x4000, dtype=np.uint32)
    for below, rounded in ((0x7FFF, bits), (0x8000, bits + bits % 2), (0x8001, bits + 1)):
        between = ((bits << np.uint32(16)) + np.uint32(below)).view(np.float32)
        assert (narrow(between).view(np.uint16) == rounded).all()
    assert widen(narrow(np.float32([3.4e38, -np.inf]))).tolist() == [np.inf, -np.inf]
    drawn = widen(Workload(4096, "bfloat16").draw(2048, 1))
    assert (narrow(drawn) == Workload(4096, "bfloat16").draw(2048, 1)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_tolerance_of_sums_is_kept_and_sharp(dtype: str) -> None:
    """Sums in any order stay within k eps sum |x|; a contribution more or less does not."""
    rng = random.Random(dtype)
    for nodes in (2, 8, 64):
        parts = [Workload(2000, dtype, seed=7).draw(1000, node) for node in range(nodes)]
        wanted = reduction(parts, ReduceOp.SUM)
        for _ in range(5):
            heap = parts.copy()
            while len(heap) > 1:
                one, other = (heap.pop(rng.randrange(len(heap))) for _ in range(2))
                heap.append(ReduceOp.SUM(one, other))
            assert not wanted.wrong(heap[0]).any()
        if nodes == 8:
            assert wanted.wrong(reduce(ReduceOp.SUM, parts[1:])).mean() > 0.9


def test_int8_wraps_around() -> None:
    one = np.array([100, -128, 127], np.int8)
    assert ReduceOp.SUM(one, one).tolist() == [-56, 0, -2]
    assert reduction([one, one, one], ReduceOp.SUM).value.tolist() == [44, -128, 125]
