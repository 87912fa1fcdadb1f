"""Replays an algorithm step by step from pre (SCCL paper, section 3.3).

What nodes hold starts at pre; in step s every send must carry what its sender holds when the step
begins; what arrives is held from the next step on. At the end every node of post must hold, or for
a combining collective be able to form, what it was promised. In every step the sends over each link
set L of the bandwidth relation are counted against b * r_s. The only inputs are the instance and
the algorithm: neither an encoding's pruning nor a backend's word is used, so an error in either
shows here.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance
from syncoll.trust.holdings import Copies, Partials, Violation
from syncoll.wording import counted

__all__ = ["require_valid", "violations"]


def require_valid(instance: Instance, algorithm: Algorithm, *, in_order: bool = False) -> None:
    """Passes a valid algorithm.

    Args:
        instance: the problem.
        algorithm: what claims to solve it.
        in_order: whether the reduction may not be commutative; see `violations`.

    Raises:
        VerificationError: naming the first things that are wrong.

    Examples:
        >>> from syncoll.api import Algorithm, Collective, Topology
        >>> ring = Topology.from_links("ring", 3, {(0, 1): 1, (1, 2): 1, (2, 0): 1})
        >>> shift = Collective.from_relations(
        ...     "shift",
        ...     chunks=lambda P, C: P * C,
        ...     pre=lambda c, n, P, C: n == c % P,
        ...     post=lambda c, n, P, C: n == (c + 1) % P,
        ... )
        >>> instance = shift.instantiate(ring, chunks=1, steps=1, rounds=1)
        >>> from syncoll.api import require_valid
        >>> require_valid(instance, Algorithm((1,), [[0, 0, 1, 0], [1, 1, 2, 0], [2, 2, 0, 0]]))
        >>> require_valid(instance, Algorithm((1,), [[0, 0, 1, 0], [1, 1, 2, 0]]))
        Traceback (most recent call last):
        ...
        syncoll.errors.VerificationError: not a valid ...: chunk 2 never reaches node 0
    """
    found = violations(instance, algorithm, limit=4, in_order=in_order)
    if found:
        more = " …" if len(found) == 4 else ""
        raise VerificationError(
            f"not a valid algorithm for {instance.collective} on {instance.topology.name}: "
            + "; ".join(v.message for v in found[:3])
            + more
        )


def violations(
    instance: Instance, algorithm: Algorithm, limit: int = 100, *, in_order: bool = False
) -> list[Violation]:
    """Everything that is wrong, at most about `limit` entries; empty for a valid algorithm.

    Args:
        instance: the problem.
        algorithm: what claims to solve it.
        limit: stop looking after so many.
        in_order: for combining instances: whether the order of the contributors must be kept, as
            a reduction that is not commutative needs it.
    """
    found = _shape(instance, algorithm, limit)
    if found:  # without a sane shape the replay below would index out of its arrays
        return found[:limit]
    topology, sends = instance.topology, algorithm.sends
    number = np.full((topology.num_nodes, topology.num_nodes), -1, dtype=np.int64)
    for i, (a, b) in enumerate(topology.links):
        number[a, b] = i
    bounds = [
        (bound, np.array([number[link] for link in bound.links])) for bound in topology.bounds
    ]
    holdings = (
        Partials(instance, algorithm, in_order=in_order) if instance.combining else Copies(instance)
    )
    starts = np.searchsorted(sends[:, 3], np.arange(instance.steps + 1)).tolist()
    for step, rounds in enumerate(algorithm.rounds_per_step):
        first = starts[step]
        now = sends[first : starts[step + 1]]
        found += islice(holdings.missing(step, now, first), limit)
        load = np.bincount(number[now[:, 1], now[:, 2]], minlength=len(topology.links))
        for bound, members in bounds:
            total, per_round = int(load[members].sum()), bound.chunks_per_round
            if total * per_round.denominator > per_round.numerator * rounds:
                what = bound.label or ", ".join(f"{a}->{z}" for a, z in bound.links[:4])
                what += ", …" if not bound.label and len(bound.links) > 4 else ""
                found.append(
                    Violation(
                        "bandwidth",
                        f"step {step} of {counted(rounds, 'round')} sends "
                        f"{counted(total, 'chunk')} over {what}, "
                        f"more than {per_round} a round",
                    )
                )
        holdings.arrive(now, first)
        if len(found) >= limit:
            return found[:limit]
    found += islice(holdings.unmet(instance), limit)
    return found[:limit]


def _shape(instance: Instance, algorithm: Algorithm, limit: int) -> list[Violation]:
    """Numbers of steps and rounds, ranges of the columns, links that exist, repeats."""
    found: list[Violation] = []
    topology, sends = instance.topology, algorithm.sends
    if algorithm.steps != instance.steps:
        steps = counted(algorithm.steps, "step")
        found.append(Violation("shape", f"{steps}, not {instance.steps}"))
    if any(r < 0 for r in algorithm.rounds_per_step):
        found.append(Violation("shape", f"negative rounds in {algorithm.rounds_per_step}"))
    if algorithm.rounds != instance.rounds:
        rounds = counted(algorithm.rounds, "round")
        found.append(Violation("shape", f"{rounds}, not {instance.rounds}"))
    given = instance.rounds_per_step
    if given is not None and algorithm.rounds_per_step != given:
        found.append(Violation("shape", f"rounds {algorithm.rounds_per_step}, not {given}"))
    columns = ("chunk", "source node", "destination node", "step")
    ends = (instance.num_chunks, topology.num_nodes, topology.num_nodes, instance.steps)
    for column, (name, end) in enumerate(zip(columns, ends, strict=True)):
        values = sends[:, column]
        for i in np.flatnonzero((values < 0) | (values >= end))[:limit]:
            found.append(
                Violation(
                    "send",
                    f"send {sends[i].tolist()}: {name} {values[i]} is not within 0 to {end - 1}",
                )
            )
    if found:
        return found[:limit]
    nodes = topology.num_nodes
    is_link = np.zeros(nodes * nodes, dtype=bool)
    is_link[[a * nodes + b for a, b in topology.links]] = True
    pairs = sends[:, 1] * nodes + sends[:, 2]
    for pair in np.unique(pairs[~is_link[pairs]])[:limit].tolist():
        a, b = divmod(pair, nodes)
        found.append(Violation("send", f"a send from node {a} to node {b}: no such link"))
    if instance.combining != (algorithm.contributions is not None):
        what = "lacks" if instance.combining else "has"
        found.append(Violation("shape", f"the algorithm {what} the contributions of its sends"))
    elif algorithm.contributions is not None:
        if algorithm.contributions.shape[1] != topology.num_nodes:
            width = algorithm.contributions.shape[1]
            found.append(Violation("shape", f"contributions of {counted(width, 'node')}"))
        # One link may carry several partial results of a chunk in a step, but none twice.
        sends = np.concatenate([sends, algorithm.contributions], axis=1)
    elif instance.num_chunks * nodes * nodes * max(1, instance.steps) < 1 << 62:
        # One number for each send tells at once whether any is there twice.
        key = (sends[:, 3] * instance.num_chunks + sends[:, 0]) * (nodes * nodes) + pairs
        key.sort()
        if (key[1:] != key[:-1]).all():
            return found
    distinct, counts = np.unique(sends, axis=0, return_counts=True)
    for i in np.flatnonzero(counts > 1)[:limit]:
        found.append(
            Violation("send", f"send {distinct[i, :4].tolist()} is listed {counts[i]} times")
        )
    return found
