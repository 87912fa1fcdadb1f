"""MultiTree's figures on small networks, and claims that come out as the times are."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.figure import Figure, Holds
from benchmarks.papers.multitree.bandwidths import (
    HIGHEST_TICKS,
    SIZES,
    claims_of_bandwidths,
    figure_10,
)
from benchmarks.papers.multitree.iterations import figure_11
from benchmarks.papers.multitree.times import DBTREE, HDRM, MESSAGES, MULTITREE, RING, RING2D
from benchmarks.papers.multitree.training import NETWORKS


def no_words(_: str) -> None:
    pass


def require_whole(figure: Figure) -> None:
    assert figure.rows
    assert figure.claims
    assert all(row.ours is not None and row.reason for row in figure.rows)
    for panel in figure.panels:
        for line in panel.lines:
            assert len(line.xs) == len(line.ys)
            assert all(y is not None and y > 0 for y in line.ys)
    for one in figure.tables:
        assert {len(row) for row in one.rows} == {len(one.columns)}


def test_weak_scaling_of_two_tori() -> None:
    found = figure_10(no_words, (2, 4))
    require_whole(found)
    of_four = {row.what: row.ours for row in found.rows}
    assert of_four["MultiTree with messages over ring, 16 nodes"] == pytest.approx(
        15 / 4 * 272 / 256, rel=0.01
    )
    assert of_four["MultiTree with messages over 2D-ring, 16 nodes"] == pytest.approx(
        1.5 * 272 / 256, rel=0.01
    )


def test_iterations_on_a_small_torus() -> None:
    found = figure_11(no_words, 2)
    require_whole(found)
    *iterations, text = found.panels
    assert len(text.categories) == len(found.rows)
    for panel in iterations:
        assert panel.categories == tuple(NETWORKS.values())
        lines = {line.label: np.array(line.ys) for line in panel.lines}
        assert (lines[RING] == 1).all()
        assert (lines[MESSAGES] <= lines[MULTITREE] * (1 + 1e-12)).all()


def made_up(slower: dict[tuple[str, str], float]) -> dict[str, dict[str, np.ndarray]]:
    """Times that fit every claim, except the ones in `slower`, which are multiplied.

    With little data each algorithm has its own latency.
    """
    found = {}
    sizes = np.array(SIZES, dtype=float)
    for where in HIGHEST_TICKS:
        grids = where.startswith(("torus", "mesh"))
        few = where in ("fat_tree(16,1)", "bigraph(4,8)")
        by_name = {MESSAGES: (1e5, 0.9), MULTITREE: (1e5, 1.0), RING: (1e6, 1.0)}
        by_name[DBTREE] = (8e5 if few else 2e5, 1.2)
        if grids:
            by_name |= {RING: (1e6, 2.0), DBTREE: (4e6, 4.0), RING2D: (5e5, 1.8)}
            if where == "mesh(8,8)":
                by_name[RING2D] = (2e6, 2.2)
        elif where.startswith("bigraph"):
            by_name[HDRM] = (3e5, 1.0)
        found[where] = {
            name: (latency + factor * sizes) * slower.get((where, name), 1.0)
            for name, (latency, factor) in by_name.items()
        }
    return found


def test_claims_hold_where_times_are_such() -> None:
    assert {one.holds for one in claims_of_bandwidths(made_up({}))} == {Holds.YES}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({("torus(8,8)", MULTITREE): 2.5}, "faster than all others"),
        ({("mesh(4,4)", DBTREE): 0.3}, "is the slowest"),
        ({("torus(4,4)", RING2D): 2.0}, "on torus(4,4) 2D-ring"),
        ({("mesh(8,8)", RING2D): 0.5}, "on the 8x8 mesh"),
        ({("fat_tree(8)", MULTITREE): 1.1}, "MultiTree is faster than the ring"),
        ({("bigraph(4,8)", DBTREE): 0.5}, "slower with much"),
        ({("bigraph(4,16)", HDRM): 0.5}, "HDRM"),
    ],
)
def test_claims_do_not_hold_where_times_are_not(
    changed: dict[tuple[str, str], float], word: str
) -> None:
    found = [one for one in claims_of_bandwidths(made_up(changed)) if word in one.says]
    assert len(found) == 1
    assert found[0].holds is not Holds.YES
