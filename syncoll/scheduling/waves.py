"""Waves: an algorithm that is started again in every step, any number of times.

A tree or a path that takes its first edges in the first step, the next ones in the next, is a wave
of as many steps as its height.  If waves start in every step, each middle step has the load of all
edges together.  As steps grow, R/C approaches the need of the busiest link set for one wave over
its chunks.  That is a family in closed form (`syncoll.results.Family`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.results import Family, Part
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.schedule import algorithm_of
from syncoll.scheduling.streams import SendPlan, Streams


def family_of_waves(
    wave: Part,
    rounds: int,
    ramp_up: Sequence[int],
    ramp_down: Sequence[int],
    *,
    head: Part | None = None,
    tail: Part | None = None,
) -> Family | None:
    """A wave of d steps started in every step; None if R/C does not fall with more waves.

    Args:
        rounds: of a step in which d waves are at work.
        ramp_up: of the first d - 1 steps, in which fewer have been started.
        ramp_down: of the last d - 1 steps, in which fewer are left.
        head: chunks whose steps count from the first one.
        tail: chunks that end with the last step.
    """
    up, down = _trimmed(ramp_up, rounds), _trimmed(ramp_down[::-1], rounds)[::-1]
    # S is d - 1 + m: there must be room for both ramps, for the tail behind the first one, and some
    # chunks.
    least = len(up) if tail is not None else int(head is None)
    first = max(len(up) + len(down) - (wave.steps - 1), least)
    try:
        return Family(wave, (rounds,), first, up, down, head, tail)
    except ModelError:
        return None


def _trimmed(ramp: Sequence[int], usual: int) -> tuple[int, ...]:
    """A ramp from the outside, without its inner steps of the usual rounds."""
    different = [step for step, own in enumerate(ramp) if own != usual]
    return tuple(ramp[: different[-1] + 1]) if different else ()


def waves_of_streams(
    topology: Topology, collective: Collective, streams: Streams, chunks: int
) -> Family | None:
    """Streams as waves, each send as soon as its chunk is there; None if R/C would not fall.  The
    collective does not combine."""
    sets, depth = LinkSets(topology, streams.num_sends, streams.copies), streams.height
    every = np.arange(len(streams.link))
    plan = SendPlan.of(streams, sets, depth, every, streams.depth, streams.count)
    algorithm = algorithm_of(topology, streams, plan)
    instance = collective.instantiate(topology, chunks=chunks, steps=depth, rounds=algorithm.rounds)

    def rounds(now: npt.NDArray[np.bool_]) -> int:
        return max(1, sets.rounds(sets.load(streams.link[now], streams.count[now])))

    begun = [streams.depth <= step for step in range(depth)]
    return family_of_waves(
        Part(instance, algorithm),
        rounds(begun[-1]),
        [rounds(now) for now in begun[:-1]],
        [rounds(~now) for now in begun[:-1]],
    )
