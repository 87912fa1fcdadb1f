"""A plot for each machine: time against size for ours, the better library, and the lower bound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.network.measurement import Row
from syncoll.planning import Picture
from syncoll.units import format_size

__all__ = ["plot"]

_LINES = {"library": "C1s-", "ours": "C0o-", "floor": "k:"}
_LABELS = {"library": "better library", "ours": "syncoll", "floor": "lower bound"}


def plot(rows: Sequence[Row], folder: Path) -> None:
    """Writes a picture of each machine."""
    folder.mkdir(exist_ok=True)
    for machine in dict.fromkeys(row.machine for row in rows):
        own = [row for row in rows if row.machine == machine]
        name = re.sub(r"\W+", "-", machine).strip("-")
        Picture(partial(_paint, own), (10, 2.6)).save(folder / f"network-{name}.svg")


def _paint(rows: Sequence[Row], canvas: Any) -> None:
    collectives = sorted({row.collective for row in rows})
    for axes, collective in zip(
        canvas.subplots(1, len(collectives), squeeze=False)[0], collectives, strict=True
    ):
        own = sorted((x for x in rows if x.collective == collective), key=lambda x: x.size)
        sizes = [row.size for row in own]
        for key, style in _LINES.items():
            times = [1e3 * getattr(row, key) for row in own]
            axes.plot(sizes, times, style, markersize=3, label=_LABELS[key])
        axes.set(xscale="log", yscale="log", title=collective, xlabel="bytes of a rank")
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.minorticks_off()
        axes.tick_params(labelsize=7)
    canvas.axes[0].set_ylabel("ms")
    canvas.axes[0].legend(frameon=False, fontsize=7)
    canvas.suptitle(rows[0].machine, fontsize=9)
