"""Composition: one algorithm after the other (SCCL paper, section 3.5).

Steps and rounds add up.  Where the first algorithm ends with chunks that are fewer and larger than
those with which the second begins, or the other way round, both are refined to a common multiple.
The second may number its chunks differently: a chunk of the first goes on as one of the second that
starts where the first left it.  After a combining algorithm the second moves finished results, so
its sends carry everybody's contributions.
"""

from __future__ import annotations

from math import lcm

import numpy as np

from syncoll.errors import ModelError
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.refinement import refine, renumber
from syncoll.model.rows import matching

__all__ = ["compose"]


def compose(
    first: tuple[Instance, Algorithm], second: tuple[Instance, Algorithm], collective: str
) -> tuple[Instance, Algorithm]:
    """The two as one algorithm of the collective called `collective`.

    Args:
        second: a non-combining problem on the same topology and its algorithm.

    Raises:
        ModelError: when the second combines, or does not start where the first ends.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> from syncoll.model import compose, invert
        >>> reduce = invert(broadcast, along, "reduce")
        >>> allreduce, algorithm = compose(reduce, (broadcast, along), "allreduce")
        >>> allreduce.combining, algorithm.steps
        (True, 4)
    """
    if second[0].combining:
        raise ModelError(
            f"{collective}: {second[0].collective} combines, so it cannot come after "
            f"{first[0].collective}",
            first[0].origin,
            "a collective that only moves data",
        )
    common = lcm(first[0].num_chunks, second[0].num_chunks)
    one, head = refine(*first, common // first[0].num_chunks)
    two, tail = refine(*second, common // second[0].num_chunks)
    number = matching(two.pre, one.post)
    if number is None:
        raise ModelError(
            f"{collective}: {two.collective} does not start where {one.collective} ends",
            first[0].origin,
            "a second collective whose pre is the post of the first",
        )
    two, tail = renumber(two, tail, number)
    instance = Instance(
        one.topology,
        collective,
        one.chunks,
        one.steps + two.steps,
        one.rounds + two.rounds,
        one.pre,
        two.post,
        combining=one.combining,
    )
    later = tail.sends.copy()
    later[:, 3] += one.steps
    carried = None
    if one.combining:
        assert head.contributions is not None
        carried = np.concatenate([head.contributions, one.pre[later[:, 0]]])
    return instance, Algorithm(
        head.rounds_per_step + tail.rounds_per_step,
        np.concatenate([head.sends, later]),
        carried,
    )
