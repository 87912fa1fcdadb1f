"""Quick trees span, and are the result if time runs out."""

from __future__ import annotations

from random import Random

import pytest

from syncoll import forest
from syncoll.errors import OutOfTimeError
from syncoll.routing import bottleneck
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll import packer
from syncoll_forestcoll.quick import quick_forest
from tests.forestcoll.test_leaves import leaf_spine
from tests.oracles.fabrics import random_fabric, torus


def test_they_span_any_network() -> None:
    rng = Random(5)
    for i in range(40):
        fabric = random_fabric(rng, irregular=bool(i % 2))
        weights = [rng.randint(0, 2) for _ in range(fabric.num_nodes)]
        weights[rng.randrange(fabric.num_nodes)] = 1
        found, best = quick_forest(fabric, weights), bottleneck(fabric, weights)
        verify_forest(found)
        assert found.algbw <= best.algbw


def test_they_are_good_on_leaves() -> None:
    fabric = leaf_spine(3, 4, 2, 4, 8)
    found = quick_forest(fabric, [1] * fabric.num_nodes)
    assert found.height <= 2
    assert found.algbw > bottleneck(fabric).algbw * 3 / 4


@pytest.mark.parametrize(
    "collective", ["allgather", "reducescatter", "allreduce", "broadcast", "reduce"]
)
def test_without_time_for_better_ones(collective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise OutOfTimeError("the time limit was reached")

    fabric = torus(3, 3)
    best = forest(fabric, collective)
    monkeypatch.setattr(packer, "plans", late)
    found = forest(fabric, collective, time_limit=1000)
    assert found.algbw <= found.bound == best.bound
    sentence = "The time limit ended the search for better trees."
    assert (sentence in str(found)) == (found.algbw < found.bound)
    with pytest.raises(OutOfTimeError):
        forest(fabric, collective)  # without a limit there is nothing to fall back on
