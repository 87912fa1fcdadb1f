"""How the bounds of a topology count an algorithm that is given other rounds."""

from __future__ import annotations

from dataclasses import replace

from syncoll.model import Algorithm, Instance, Topology
from syncoll.trust.replay import is_valid_summed, without_sums

__all__ = ["as_counted"]


def as_counted(instance: Instance, algorithm: Algorithm) -> Topology:
    """The topology whose bounds say how many rounds an algorithm needs.

    Switches add up all that they can, or nothing where an algorithm needs what would be added up
    apart: then it needs rounds for each of these sends.

    Args:
        instance: of any S and R.
        algorithm: does what is asked for with rounds enough.
    """
    topology = instance.topology
    if not (topology.counts_copies and instance.combining):
        return topology
    ample = algorithm.tightened(topology.conservative)
    asked = replace(instance, steps=ample.steps, rounds=ample.rounds, rounds_per_step=None)
    return topology if is_valid_summed(asked, ample) else without_sums(topology)
