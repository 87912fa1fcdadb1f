r"""Figures 9 to 11 of the MultiTree paper, in simulation.

::

    machines --> allreduces --> times --> bandwidths (9, 10), iterations (11)
    networks/ --> training --> iterations
"""

from benchmarks.papers.figure import Make
from benchmarks.papers.multitree.bandwidths import figure_9, figure_10
from benchmarks.papers.multitree.iterations import figure_11

__all__ = ["FIGURES"]

FIGURES: dict[str, Make] = {
    "multitree-9": figure_9,
    "multitree-10": figure_10,
    "multitree-11": figure_11,
}
