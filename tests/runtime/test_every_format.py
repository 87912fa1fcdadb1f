"""Frontier algorithms of dgx1 and ring(8) in every format, executed by the format's checker."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from syncoll.clock import counting
from syncoll.errors import ExportError
from syncoll.ledger import SearchRequest
from syncoll.model import Algorithm
from syncoll.plugins import ExporterRecord, ExportRequest, PluginManager
from syncoll.results import Point
from syncoll.routing import as_topology
from syncoll.runtime import export_verified
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary

MANAGER = PluginManager.discover()
LIBRARY = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])
CASES = [
    (topology, collective)
    for topology, collectives in (
        ("dgx1", ("allreduce",)),
        (
            "ring(5)",
            (
                *("allgather", "reducescatter", "allreduce", "alltoall"),
                *("broadcast", "reduce", "gather", "scatter"),
            ),
        ),
    )
    for collective in collectives
]
REFUSED = {
    ("msccl", "gather"): "does not run gather from a file",
    ("msccl", "scatter"): "does not run scatter from a file",
    ("msccl", "alltoall", "in place"): "does not run alltoall in place",
    ("executor", "gather"): "does not run gather from a file",
    ("executor", "scatter"): "does not run scatter from a file",
    ("rccl", "gather", "in place"): "cannot express gather in place",
    ("rccl", "scatter", "in place"): "cannot express scatter in place",
    ("auto", "scatter", "in place"): "cannot express scatter in place",
    ("memory", "scatter", "in place"): "cannot express scatter in place",
    ("port", "gather", "in place"): "cannot express gather in place",
    ("port", "scatter", "in place"): "cannot express scatter in place",
}
"""All refusals, by the dialect or kind of channel, collective and placement."""


def columns() -> Iterator[tuple[ExporterRecord, dict[str, str]]]:
    for record in MANAGER.exporters.values():
        option = next((o for o in record.options if o.name in ("dialect", "channel")), None)
        for choice in option.choices if option else ("",):
            if choice == "switch" or record.name in ("nccl-graph", "sccl"):
                continue  # see tests/inswitch/test_export.py, tests/nccl_graph and tests/sccl
            yield record, {option.name: choice} if option else {}


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(MANAGER, backend="pysat") as solver:
        yield solver


def some_points(topology: str, collective: str, solver: Solver) -> tuple[Point, ...]:
    """The two points with the fewest sends of a short search."""
    seeds = [MANAGER.seeds[name] for name in ("multitree", "ring", "all_pairs")]
    options = {
        record.name: {option.name: option.default for option in record.options} for record in seeds
    }
    seeding = Seeding([ChosenSeed(record, options[record.name]) for record in seeds])
    request = SearchRequest(
        as_topology(LIBRARY.topology(topology)),
        LIBRARY.collective(collective),
        time_limit=0.5,
        point_limit=0.25,
        max_chunks=None,
    )
    with counting():
        points = search(request, AnswerSource(solver, seeding=seeding)).points
    return tuple(sorted(points, key=lambda point: len(point.algorithm.sends))[:2])


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "collective"), CASES)
def test_every_supported_export_passes(topology: str, collective: str, solver: Solver) -> None:
    points = some_points(topology, collective, solver)
    assert points
    for record, options in columns():
        variant = next(iter(options.values()), record.name)
        for in_place, point in ((False, points[0]), (True, points[-1])):
            place = ("in place",) if in_place else ()
            why = REFUSED.get((variant, collective, *place)) or REFUSED.get((variant, collective))
            request = ExportRequest("all", collective, point.instance, point.algorithm, in_place)
            if why is None:
                assert export_verified(record, request, options).checked.result_checked
                continue
            with pytest.raises(ExportError, match=why):
                export_verified(record, request, options)


@pytest.mark.parametrize("collective", ["allreduce", "reduce + allgather", "alltoall"])
@pytest.mark.parametrize("record", MANAGER.exporters.values(), ids=list(MANAGER.exporters))
def test_one_node_without_sends(record: ExporterRecord, collective: str) -> None:
    """An export is refused with a reason, or the checker passes it."""
    asked = LIBRARY.collective(collective)
    instance = asked.instantiate(LIBRARY.topology("line(1)"), chunks=1, steps=0, rounds=0)
    carried = np.zeros((0, 1), dtype=bool) if asked.combining else None
    request = ExportRequest("one", collective, instance, Algorithm((), [], carried))
    said = ""
    try:
        assert export_verified(record, request, {}).exported.files
    except ExportError as error:
        said = str(error)
    assert "a bug of" not in said
