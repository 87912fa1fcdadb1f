"""Draws the start page's picture: ``python docs/picture.py``.

Left the simulated times of an allreduce on two DGX H100 boxes, with ring and double binary tree;
right the speed-up over both.  The picture holds its data, so that a test can compare it with a
search.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import syncoll

PICTURE = Path(__file__).with_name("allreduce.svg")
_CLASSICS = {"ring": "ring", "double_binary_tree": "double binary tree"}
_SIZES = [4**power for power in range(5, 16)]  # bytes
_WORK = 3  # units, so that every run finds the same
_SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "syncoll",
}
_COLOURS = {"syncoll": "#3f51b5", "ring": "#757575", "double binary tree": "#b0764a"}

Times = dict[str, list[float]]
"""Microseconds for each size, by name."""


def simulated() -> Times:
    """The data of the picture, from a search."""
    frontier = syncoll.pareto("dgx_h100(boxes=2)", "allreduce", work=_WORK, progress="none")
    found = syncoll.simulate(frontier, sizes=_SIZES, classics=list(_CLASSICS))
    numbers = range(len(_SIZES))
    times = {"syncoll": [found.best(i).seconds[i] for i in numbers]}
    for name, label in _CLASSICS.items():
        forms = [one for one in found.classics if one.name.partition("[")[0] == name]
        times[label] = [min(one.seconds[i] for one in forms) for i in numbers]
    return {name: [round(float(s) * 1e6, 3) for s in each] for name, each in times.items()}


def recorded(picture: bytes) -> Times:
    """The data of a picture."""
    match = re.search(r"<dc:description>(.*?)</dc:description>", picture.decode("utf-8"))
    if match is None:
        raise ValueError("the picture has no data in its description")
    found: Times = json.loads(match[1])
    return found


def draw(times: Times) -> bytes:
    """The picture."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        best = times["syncoll"]
        for name, each in times.items():
            left.plot(_SIZES, each, color=_COLOURS[name], label=name, marker=".")
            if name != "syncoll":
                gain = [one / least for one, least in zip(each, best, strict=True)]
                right.plot(_SIZES, gain, color=_COLOURS[name], label=f"over {name}", marker=".")
        for axes in left, right:
            axes.set_xscale("log", base=2)
            axes.set_xticks([2**10, 2**15, 2**20, 2**25, 2**30])
            axes.set_xticklabels(["1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"])
            axes.minorticks_off()
            axes.set(xlim=(_SIZES[0], _SIZES[-1]), xlabel="message")
            axes.legend(frameon=False)
        left.set_yscale("log")
        left.set(ylabel="us")
        left.set_title("allreduce on two DGX H100 boxes, simulated", fontsize=10)
        right.axhline(1, color="#757575", linewidth=1, linestyle="--")
        right.set(ylim=(0, None))
        right.set_title("speed-up of syncoll", fontsize=10)
        content = io.BytesIO()
        figure.savefig(
            content,
            format="svg",
            metadata={"Date": None, "Creator": None, "Description": json.dumps(times)},
        )
    return content.getvalue()


if __name__ == "__main__":
    PICTURE.write_bytes(draw(simulated()))
