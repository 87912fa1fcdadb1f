"""Draws the start page's picture: ``python docs/picture.py``.

Left the frontier of allgather on a DGX-1 and the area that is proved impossible; right the
speed-up over rings, with the costs of `syncoll plan`.  The picture holds its data, so that a test
can compare it with a search.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from syncoll.cli.main import main

PICTURE = Path(__file__).with_name("frontier.svg")
RING = ["pareto", "dgx1", "allgather", "--backend", "ring", "-o"]
_FRONTIER = ["pareto", "dgx1", "allgather", "-o"]
_ALPHA, _BETA = 0.7e-6, 1 / 25e9  # seconds: of a step; of a byte of one chunk per round
_SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "syncoll",
}
_FOUND, _OTHER, _IMPOSSIBLE = "#3f51b5", "#757575", "#e8eaf0"

Facts = dict[str, list[list[str]]]
"""Points of the frontier with steps, R/C and the proved bound; and that of the rings."""


def facts(frontier: Path, ring: Path) -> Facts:
    """The data of the picture, from the files of two searches."""

    def points(file: Path) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["points"]
        return found

    return {
        "frontier": [[str(p["steps"]), p["bandwidth"], p["bound"]] for p in points(frontier)],
        "ring": [[str(p["steps"]), p["bandwidth"]] for p in points(ring)],
    }


def recorded(picture: bytes) -> Facts:
    """The data of a picture."""
    match = re.search(r"<dc:description>(.*?)</dc:description>", picture.decode("utf-8"))
    if match is None:
        raise ValueError("the picture has no data in its description")
    found: Facts = json.loads(match[1])
    return found


def draw(drawn: Facts) -> bytes:
    """The picture."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    points = [(int(s), float(Fraction(r)), float(Fraction(b))) for s, r, b in drawn["frontier"]]
    ((ring_steps, ring_cost),) = [(int(s), float(Fraction(r))) for s, r in drawn["ring"]]
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        first, last, top = points[0][0], ring_steps + 2, 2.0
        steps = [0, *(s for s, _, _ in points), last]
        proved = [top, *(b for _, _, b in points), points[-1][2]]
        left.fill_between(steps, proved, step="post", color=_IMPOSSIBLE, linewidth=0)
        left.text(first + 1.1, 0.55, "proved impossible\nfor every algorithm", color=_OTHER)
        left.plot(ring_steps, ring_cost, "o", mfc="none", color=_OTHER, markersize=9)
        left.annotate("best rings", (ring_steps, ring_cost), (8, -14), textcoords="offset points")
        for (s, _, _), (_, cost, _) in zip(points, drawn["frontier"], strict=True):
            value = float(Fraction(cost))
            left.plot(s, value, "o", color=_FOUND, markersize=9)
            left.annotate(f"S = {s}, R/C = {cost}", (s, value), (8, 7), textcoords="offset points")
        left.set(xlim=(0.5, last), ylim=(0, top), xlabel="steps S", ylabel="bandwidth cost R/C")
        left.set_title("allgather on a DGX-1", fontsize=10)
        _speed_up(right, [(s, r) for s, r, _ in points], (ring_steps, ring_cost))
        content = io.BytesIO()
        figure.savefig(
            content,
            format="svg",
            metadata={"Date": None, "Creator": None, "Description": json.dumps(drawn)},
        )
    return content.getvalue()


def _speed_up(axes: Any, points: list[tuple[int, float]], ring: tuple[int, float]) -> None:
    """How much faster than rings the best point is, for each size of one GPU's data."""

    def seconds(point: tuple[int, float], size: float) -> float:
        return point[0] * _ALPHA + point[1] * size * _BETA

    sizes = [2 ** (power / 8) for power in range(8 * 10, 8 * 30 + 1)]
    gain = [seconds(ring, size) / min(seconds(p, size) for p in points) for size in sizes]
    axes.plot(sizes, gain, color=_FOUND, linewidth=2)
    axes.axhline(1, color=_OTHER, linewidth=1, linestyle="--")
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**10, 2**15, 2**20, 2**25, 2**30])
    axes.set_xticklabels(["1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"])
    axes.minorticks_off()
    axes.set(xlim=(sizes[0], sizes[-1]), ylim=(0, 2.2), xlabel="data of one GPU")
    axes.set_title("speed-up over the best rings (alpha 0.7 us, beta 25 GB/s)", fontsize=10)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "frontier.json"), Path(folder, "ring.json")
        for words, file in zip((_FRONTIER, RING), files, strict=True):
            with contextlib.redirect_stdout(io.StringIO()):
                if main([*words, str(file)]):
                    raise SystemExit("the search failed")
        PICTURE.write_bytes(draw(facts(*files)))
