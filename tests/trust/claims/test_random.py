"""Claims of searches on random machines are right, and no algorithm contradicts them."""

from __future__ import annotations

import json

import pytest

from syncoll.documents import frontier_document, load_text
from syncoll.errors import ModelError
from syncoll.ledger import SearchRequest
from syncoll.plugins import PluginManager
from syncoll.results import Scope
from syncoll.searching import search
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.testing.instances import random_topology
from syncoll.trust.claims import check_claims


@pytest.mark.slow
@pytest.mark.parametrize("name", ["allgather", "alltoall", "broadcast", "reducescatter"])
def test_claims_hold_and_more_chunks_do_not_contradict_them(name: str) -> None:
    """A frontier for few chunks, checked; then one for more chunks, which must respect its proofs.

    Proofs of the first for every C bind the second.
    """
    plugins = PluginManager.discover()
    folders = [record.folder for record in plugins.spec_libraries.values()]
    collective = SpecLibrary(folders).collective(name)
    proved = closed = 0
    with Solver(plugins, backend="cpsat") as solver:
        for seed in range(6):
            topology = random_topology(seed)
            try:
                few, more = (
                    search(
                        SearchRequest(
                            topology, collective, max_chunks=c, max_steps=4, point_limit=2.0
                        ),
                        solver,
                    )
                    for c in (topology.num_nodes, 2 * topology.num_nodes)
                )
            except ModelError:  # something cannot be reached
                continue
            for frontier in (few, more):
                text = json.dumps(frontier_document(frontier))
                check_claims(load_text(text, f"{collective.name} {seed}").claims())
            assert few.evidence is not None
            for proof in few.evidence.proofs:
                costs = (p.bandwidth for p in more.points if p.steps <= proof.steps)
                best = min(costs, default=None)
                if best is None:
                    continue
                proved += 1
                if proof.bound_chunks is None:
                    assert best >= proof.bound, seed
                if proof.scope is Scope.ALL:
                    closed += 1
                    assert best == proof.best, seed
            if few.complete:
                assert all(p.bandwidth >= few.least_bandwidth for p in more.points), seed
    assert proved >= 3
    assert closed >= 1
