"""Verbs and values of `syncoll` in programs."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import syncoll
from syncoll.documents import read_file
from syncoll.errors import ModelError, SyncollError, UsageError, VerificationError

F = Fraction


@pytest.fixture(scope="module")
def found() -> syncoll.FrontierResult:
    return syncoll.pareto("dgx1", "allgather", max_steps=4, progress="none")


def test_every_public_name_exists() -> None:
    import syncoll.api

    assert sorted(syncoll.api.__all__) == sorted(set(syncoll.__all__) - {"__version__"})
    for name in syncoll.__all__:
        assert getattr(syncoll, name) is not None
    assert set(syncoll.__all__) <= set(dir(syncoll))
    with pytest.raises(AttributeError, match="no attribute 'paretto'"):
        _ = syncoll.paretto  # type: ignore[attr-defined]


def test_the_package_alone_imports_next_to_nothing() -> None:
    code = "import sys, syncoll; print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "ortools", "lark", "pluggy"} & set(done.stdout.split())


def test_a_frontier_is_a_sequence_that_shows_itself(found: syncoll.FrontierResult) -> None:
    assert [(p.steps, p.bandwidth) for p in found] == [(2, F(3, 2)), (3, F(7, 6))]
    assert len(found) == 2
    assert found[-1].chunks == 6
    assert len(found[:1]) == 1
    assert f"2        3        2        {found[0].messages}  3/2" in repr(found)
    assert "No algorithm has fewer than 2 steps" in str(found)
    html = found._repr_html_()
    assert "<table>" in html
    assert "<svg" in html
    assert "112 sends\nstep 0, " in str(found[0])


def test_tables(found: syncoll.FrontierResult) -> None:
    pytest.importorskip("pandas")
    table = found.to_pandas()
    assert table["exact_bandwidth"].tolist() == ["3/2", "7/6"]
    assert table["optimal_for"].tolist() == ["all", "all"]
    assert len(found[0].sends_to_pandas()) == len(found[0].sends) == 112


def test_a_point_is_saved_as_a_file_of_its_own(
    found: syncoll.FrontierResult, tmp_path: Path
) -> None:
    found[1].save(tmp_path / "point.json")
    loaded = syncoll.load(tmp_path / "point.json")
    assert isinstance(loaded, syncoll.StoredResult)
    assert (loaded.sends == found[1].sends).all()
    assert loaded.document() == found[1].document()
    assert syncoll.show(found[1]).document() == found[1].document()
    assert str(syncoll.show(loaded)) == str(loaded)


def test_sends_are_a_copy(found: syncoll.FrontierResult) -> None:
    found[0].sends[:] = 0
    assert found[0].sends.any()


def test_pictures(found: syncoll.FrontierResult, tmp_path: Path) -> None:
    assert "7/6" in found.plot().svg
    assert found.plot().svg == found.plot().svg
    over_sizes = found.plot(alpha="0.7us", beta="25GB/s")
    assert "alpha 700 ns" in over_sizes.svg
    over_sizes.save(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"ends in \.png or \.svg"):
        over_sizes.save(tmp_path / "plan.txt")
    with pytest.raises(UsageError, match="alpha too"):
        found.plot(beta="25GB/s")


def test_plans(found: syncoll.FrontierResult, tmp_path: Path) -> None:
    plan = found.plan(alpha="0.7us", beta="25GB/s", timing="lockstep")
    assert [one.steps for one in plan.ranges] == [2, 3]
    assert "410.2 KiB" in repr(plan)
    with pytest.raises(UsageError, match="beta is missing"):
        found.plan(alpha="0.7us")
    found.save(tmp_path / "f.json")
    again = syncoll.plan(tmp_path / "f.json", alpha="0.7us", beta="25GB/s", timing="lockstep")
    assert repr(again) == repr(plan)
    with pytest.raises(UsageError, match="timing: 'sync'; expected lockstep or asynchronous"):
        found.plan(alpha="0.7us", beta="25GB/s", timing="sync")  # type: ignore[arg-type]


def test_a_searched_frontier_is_checked_in_full(
    found: syncoll.FrontierResult, tmp_path: Path
) -> None:
    assert not found.check().unchecked
    assert "everything claimed holds" in repr(found.check())
    found.save(tmp_path / "f.json")
    loaded = syncoll.load(tmp_path / "f.json")
    assert isinstance(loaded, syncoll.FrontierResult)
    assert not loaded.check().unchecked
    assert loaded.check().compared == "allgather"
    unnamed = replace(loaded, collective="mine")
    assert [one.kind for one in unnamed.check().unchecked] == ["scales"]
    assert not unnamed.check("allgather").unchecked
    assert not syncoll.check(tmp_path / "f.json", "allgather").unchecked
    with pytest.raises(VerificationError, match="is not alltoall"):
        loaded.check("alltoall")


def test_a_broken_algorithm_does_not_pass(found: syncoll.FrontierResult) -> None:
    short = replace(found[0].algorithm, sends=found[0].sends[1:])
    broken = replace(found, points=(replace(found.points[0], algorithm=short), *found.points[1:]))
    with pytest.raises(VerificationError):
        broken.check()


def test_data_runs(found: syncoll.FrontierResult) -> None:
    done = found[0].run("96KiB", dtype="bfloat16")
    assert done.ok
    assert repr(done).startswith("OK: 2 steps")
    assert all(one.ok for one in syncoll.run(found, 4096 * 3))
    with pytest.raises(UsageError, match="not a size"):
        found[0].run("much")


def test_a_single_answer() -> None:
    yes = syncoll.solve("dgx1", "allgather", chunks=6, steps=3, rounds=7)
    assert yes.found.bandwidth == F(7, 6)
    assert len(yes.sends) == 336
    assert "sat: allgather on dgx1" in repr(yes)
    no = syncoll.solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1)
    assert "unsat" in repr(no)
    with pytest.raises(UsageError, match="the answer is unsat"):
        _ = no.sends


def test_an_answer_is_true_where_there_is_an_algorithm(tmp_path: Path) -> None:
    yes = syncoll.solve("ring(4)", "allgather", chunks=1, steps=2, rounds=2)
    assert yes
    assert not syncoll.solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1)
    yes.save(tmp_path / "yes.json")
    (done,) = syncoll.run(tmp_path / "yes.json", dtype="fp16")
    assert done.ok
    (saved,) = syncoll.export(yes.found, "csv", tmp_path / "out")
    assert saved.files[0].parent == tmp_path / "out"
    with pytest.raises(UsageError, match="nothing to refute"):
        yes.prove(tmp_path)


def test_an_impossible_problem_is_proved(tmp_path: Path) -> None:
    no = syncoll.solve("dgx1", "gather", chunks=6, steps=2, rounds=6)
    assert str(no.verdict) == "unsat"
    proof = no.prove(tmp_path / "proofs").file
    assert proof is not None
    assert proof.exists()


def test_formats_of_several_files_get_a_folder_for_each(
    found: syncoll.FrontierResult, tmp_path: Path
) -> None:
    for _ in range(2):  # the second time over the first
        done = syncoll.export(found, "chakra", tmp_path / "traces")
        folders = [{path.parent.name for path in one.files} for one in done]
        assert folders == [{"dgx1-allgather-C2-S2-R3"}, {"dgx1-allgather-C6-S3-R7"}]
        assert {path.name for path in (tmp_path / "traces").iterdir()} == set.union(*folders)


def test_a_request_says_its_limits_itself() -> None:
    request = syncoll.SearchRequest(syncoll.topology("ring(4)"), syncoll.collective("allgather"))
    with pytest.raises(UsageError, match="max_steps, strategy: the request has this"):
        syncoll.search(request, max_steps=9, strategy="paper")
    with syncoll.Solver(syncoll.discover(), backend="pysat") as solver:
        with pytest.raises(UsageError, match="threads: the solver has this"):
            syncoll.search(request, solver, threads=2)
        assert {point.backend for point in syncoll.search(request, solver)} == {"pysat"}
    with pytest.raises(UsageError, match="a solver goes with a request"):
        syncoll.search("dgx1_allgather", solver)
    assert len(syncoll.search("dgx1_allgather", max_steps=2, progress="none")) == 1


def test_values_travel_without_their_session(found: syncoll.FrontierResult) -> None:
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert again.session is None
    assert again[0].run(4096).ok


def test_a_full_disk_does_not_cost_the_frontier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise UsageError("no space left")

    monkeypatch.setattr("syncoll.documents.write_document", full)
    assert syncoll.pareto(*RING, output=tmp_path / "f.json", progress="none")
    assert caplog.text.count("no space left") == 1


@pytest.mark.parametrize(("seconds_a_send", "least"), [(1e-9, 2), (1e9, 1)])
def test_a_large_frontier_is_only_saved_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds_a_send: float, least: int
) -> None:
    saved: list[Path] = []
    monkeypatch.setattr("syncoll.documents.growing._SECONDS_A_SEND", seconds_a_send)
    monkeypatch.setattr("syncoll.documents.write_document", lambda path, _: saved.append(path))
    found = syncoll.pareto(*RING, output=tmp_path / "f.json", progress="none", time_limit=60.0)
    assert found
    assert min(len(saved), 2) == least


def test_relations_of_single_numbers_negate_comparisons() -> None:
    """With `and`, which needs single numbers, `~` still negates a comparison."""

    def relation(post: Callable[..., Any]) -> syncoll.Collective:
        return syncoll.Collective.from_relations(
            "rest", lambda p, each: p * each, lambda c, n, p, each: n == c % p, post
        )

    plain = relation(lambda c, n, p, each: n != c % p and n != 0)
    odd = relation(lambda c, n, p, each: ~(n == c % p) and n != 0)
    assert (plain.tabulate(4, 1).post == odd.tabulate(4, 1).post).all()
    assert not odd.tabulate(4, 1).post[:, 0].any()
    with pytest.raises(ModelError, match="a relation gave 7"):
        relation(lambda c, n, p, each: n if n > c else 7).tabulate(4, 1)


def test_bandwidths_are_as_written() -> None:
    star = syncoll.Fabric.from_links(
        "star",
        2,
        1,
        [(0, 2, 0.1), (2, 1, "1/2")],
        measure="chunks per round",  # type: ignore[list-item]
    )
    assert [link.bandwidth for link in star.links] == [F(1, 10), F(1, 2)]
    assert star.measure == "chunks per round"


def test_bounds_and_forests() -> None:
    bounds = syncoll.bounds("torus(3,3)", "alltoall", max_steps=3)
    assert bounds.bandwidth == F(1, 3)
    assert "at least 1/3" in repr(bounds)
    assert syncoll.forest("a100(boxes=2)").algbw == F(1040, 3)
    assert "1040/3 GB/s" in repr(syncoll.forest("a100(boxes=2)"))


def test_bounds_name_the_prices_that_prove_them() -> None:
    bounds = syncoll.bounds("ring(4)", "allgather", max_steps=3)
    assert bounds.prices()[0].keys() == {"links", "step", "price"}
    assert "R >= " in str(bounds.page(prices=True))
    with pytest.raises(UsageError, match="expected one of"):
        bounds.prices(99)


def test_bounds_are_checked_as_their_file_is(tmp_path: Path) -> None:
    bounds, file = syncoll.bounds("ring(4)", "allreduce", max_steps=3), tmp_path / "bounds.json"
    bounds.save(file)
    for collective in ("allreduce", None):
        expected = str(syncoll.check(file, collective))
        assert "0 algorithms replayed" in expected
        for source in (bounds, bounds.frontier(), syncoll.load(file), read_file(file)):
            assert str(syncoll.check(source, collective)) == expected
        compared = str(bounds.check(collective, "ring(4)")).splitlines()
        stated = "  machine: as the file describes it; --topology compares it with the one you mean"
        ours = ["  machine: ring(4)" if line == stated else line for line in expected.splitlines()]
        assert compared == ours != expected.splitlines()
    with pytest.raises(VerificationError, match=r"is not ring\(5\)"):
        bounds.check(topology="ring(5)")


def test_values_without_claims_are_refused(tmp_path: Path) -> None:
    bounds = syncoll.bounds("ring(4)", "allgather", max_steps=2)
    for wrong in (None, 5, syncoll.forest("ring(4)")):
        with pytest.raises(UsageError, match=r"source is of type \w+; expected a frontier, bounds"):
            syncoll.check(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="path is of type int"):
        syncoll.load(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="proofs is of type int"):
        syncoll.check(bounds, "allgather", 5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"proofs: there is no folder .*none"):
        syncoll.check(bounds, "allgather", tmp_path / "none")


def test_forests_are_saved(tmp_path: Path) -> None:
    forest = syncoll.forest("ring(4)", "broadcast", root=2)
    forest.save(tmp_path / "forest.json")
    assert json.loads((tmp_path / "forest.json").read_text()) == forest.document()
    assert "root 2" in str(forest.page(trees=True))


def test_plans_are_exported(found: syncoll.FrontierResult, tmp_path: Path) -> None:
    costs = {"alpha": "0.7us", "beta": "25GB/s"}
    plan = found.plan(**costs, exports=tmp_path / "out", to="msccl-xml")
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert index == plan.document()
    assert len(index["exports"]["algorithms"]) == len(list((tmp_path / "out/algorithms").iterdir()))
    with pytest.raises(UsageError, match="exports need a format"):
        found.plan(**costs, exports=tmp_path / "other")


def test_a_search_writes_its_proofs(tmp_path: Path) -> None:
    limits = {"max_chunks": 2, "max_steps": 2, "progress": "none", "proofs": tmp_path / "proofs"}
    proved = syncoll.pareto("hub(4)", "reduce", **limits)  # type: ignore[arg-type]
    assert proved.check(proofs=tmp_path / "proofs").proved_by_file
    assert (proved.unsaved, proved.unproved) == ("", "")


def test_errors_differ_from_unchecked_results(
    found: syncoll.FrontierResult, tmp_path: Path
) -> None:
    found.save(tmp_path / "f.json")
    assert "points[1]: verified" in str(syncoll.verify(tmp_path / "f.json", in_order=True))
    found[0].export("mscclpp", tmp_path / "plan.json")
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "own.json").write_text(json.dumps({**plan, "collective": "mine"}))
    with pytest.raises(syncoll.UncheckedError, match="does not define the places of chunks"):
        syncoll.verify(tmp_path / "own.json", collective="alltoall")
    found[0].export("msccl-xml", tmp_path / "a.xml")
    verified = syncoll.verify(tmp_path / "a.xml", collective=found.collective).document()
    assert verified["meant"] == found.collective
    with pytest.raises(VerificationError) as raised:
        syncoll.verify(tmp_path / "a.xml", collective="alltoall")
    assert not isinstance(raised.value, syncoll.UncheckedError)
    with pytest.raises(UsageError, match="in_order does not apply"):
        syncoll.verify(tmp_path / "a.xml", in_order=True)


def test_plugins_are_listed() -> None:
    assert "able to run" in str(syncoll.list_plugins())
    assert "option" in str(syncoll.list_plugins(options=True))


def test_checking_a_file_loads_nothing_that_searches(
    found: syncoll.FrontierResult, tmp_path: Path
) -> None:
    found.save(tmp_path / "f.json")
    code = (
        "import sys, syncoll\n"
        f"syncoll.load({str(tmp_path / 'f.json')!r}).check()\n"
        "print(*(name for name in sys.modules if name.startswith('syncoll')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    searching = ("searching", "solving", "lowerings", "planning", "runtime", "mpi", "cli")
    assert not {f"syncoll.{name}" for name in searching} & set(loaded)


def test_objects_of_python() -> None:
    """A topology with switches and a collective, both objects, work like files."""
    fabric = syncoll.Fabric.from_links("star", 4, 1, [(n, 4, 1) for n in range(4)], both_ways=True)
    assert syncoll.topology(fabric).num_nodes == 4
    assert syncoll.forest(fabric).algbw == F(4, 3)
    assert len(syncoll.pareto(fabric, "allgather", max_chunks=2, progress="none"))


def test_lines_for_types() -> None:
    assert repr(syncoll.topology("ring(3)")) == "<topology ring(3): 3 nodes, 6 links>"
    assert "0 switches" in repr(syncoll.fabric("ring(3)"))
    assert repr(syncoll.collective("allgather")) == "<collective allgather>"
    instance = syncoll.solve("ring(3)", "allgather", chunks=1, steps=1, rounds=1).instance
    assert repr(instance) == "<instance allgather on ring(3): C = 1, S = 1, R = 1>"


RING = ("ring(4)", "allgather")


def wrong(**settings: Any) -> Callable[[], object]:
    return lambda: syncoll.pareto(*RING, progress="none", **settings)


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: syncoll.pareto("dgx9", "allgather"), "no topology `dgx9`"),
    (lambda: syncoll.pareto(8, "allgather"), "8 is not a topology"),  # type: ignore[arg-type]
    (lambda: syncoll.pareto(nx.path_graph(3), "allgather"), "from_networkx"),  # type: ignore[arg-type]
    (lambda: syncoll.pareto(np.eye(3), "allgather"), "from_matrix"),  # type: ignore[arg-type]
    (wrong(thread=2), "did you mean threads?"),
    (wrong(strategy="best"), "certified or paper"),
    (wrong(threads=0), "threads is 0"),
    (wrong(jobs=-3), "jobs is -3"),
    (wrong(seed="a"), "seed is 'a'"),
    (wrong(seeds=5), "seeds is 5"),
    (wrong(store=""), "store is ''"),
    (wrong(backend=["cpsat", "pysat"]), "names joined with +"),
    (wrong(backend_options=["a=1"]), "values by name"),
    (wrong(max_steps="4"), "max_steps is '4'"),
    (wrong(max_chunks=2.0), "max_chunks is 2.0"),
    (wrong(time_limit="soon"), "not a time"),
    (wrong(time_limit=-1), "not a time"),
    (wrong(backend="cpsatt"), "did you mean cpsat?"),
    (wrong(backend="ring", jobs=2), "asks no solver"),
    (wrong(output="no/such/f.json"), "there is no folder no/such"),
    (lambda: syncoll.pareto(*RING, progress="much"), "auto or live"),
    (lambda: syncoll.search(syncoll.SearchRequest(*RING)), "is not a Topology"),  # type: ignore[arg-type]
    (lambda: syncoll.solve(*RING, chunks="1", steps=1, rounds=1), "chunks is '1'"),  # type: ignore[arg-type]
    (lambda: syncoll.solve(*RING, chunks=1, steps=2.5, rounds=3), "steps is 2.5"),  # type: ignore[arg-type]
    (
        lambda: syncoll.solve(*RING, chunks=1, steps=1, rounds=1, jobs=4),
        "solve has no keyword jobs",
    ),
    (lambda: syncoll.bounds(*RING, max_steps=-1), "max_steps is -1"),
    (lambda: syncoll.design(8, "allgather"), "8 is not a topology"),  # type: ignore[arg-type]
    (lambda: syncoll.design([None], "allgather"), "None is not a topology"),  # type: ignore[list-item]
    (lambda: syncoll.design(nx.path_graph(3), "allgather"), "by Topology.from_networkx"),
    (lambda: syncoll.design("ring(4)", None), "None is not a collective"),  # type: ignore[arg-type]
    (lambda: syncoll.design(*RING, where=5), "where: 5 is no condition"),  # type: ignore[arg-type]
    (lambda: syncoll.design(*RING, where=[5]), "no condition; expected a condition such as"),  # type: ignore[list-item]
    (lambda: syncoll.forest("dgx1", "alltoall"), "not packed for 'alltoall', only for"),
    (lambda: syncoll.forest("dgx1", "allgather", root=1), "every node is a root"),
    (lambda: syncoll.forest("dgx1", "reduce", root="1"), "root is '1'"),  # type: ignore[arg-type]
    (lambda: syncoll.forest("dgx1", k=1.5), "k is 1.5"),  # type: ignore[arg-type]
    (lambda: syncoll.load("missing.json"), "cannot read missing.json"),
    (lambda: syncoll.export("missing.json", "csv", "out"), "cannot read missing.json"),
    (lambda: syncoll.show("dgx9"), "did you mean"),
    (lambda: syncoll.file_schema("nope"), "is not a kind of file"),
    (lambda: syncoll.Fabric.from_links("x", 2, 0, [(0, 1)]), "(source, destination, bandwidth)"),  # type: ignore[list-item]
    (lambda: syncoll.Fabric.from_links("x", 2, 0, [(0, 1, float("nan"))]), "a rational number"),
    (lambda: syncoll.Collective.from_arrays("a", [["0", "1"]], [["1", "1"]]), "True and False"),
    (lambda: syncoll.Collective.from_arrays("a", [[0, 1], [1]], [[1, 1]]), "True and False"),
]


@pytest.mark.parametrize(("ask", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_mistakes_are_explained(
    ask: Callable[[], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SyncollError) as raised:
        ask()
    assert words in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_keeps_found_points() -> None:
    class Impatient(syncoll.Observer):
        def found(self, points: tuple[syncoll.Point, ...]) -> None:
            raise KeyboardInterrupt

    stopped = syncoll.pareto("dgx1", "allgather", seeds="none", progress=Impatient())
    assert stopped.interrupted
    assert "interrupted" in repr(stopped)
