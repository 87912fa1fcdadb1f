"""Replays an algorithm step by step from pre (SCCL paper, section 3.3).

In step s every send must carry a chunk, or a partial result, that its sender holds when the step
begins.  At the end every node of post must hold its chunks, or be able to form their results.  In
every step the sends over each link set L of the bandwidth relation are counted against b * r_s.
The only inputs are the instance and the algorithm: errors of encodings and backends show.

Of an algorithm with carriers the chunks with own sends are replayed, with the loads of all images.
Chunks that `syncoll.trust.sums` accepts together are not replayed one by one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Counting, Instance, OrbitAlgorithm, Topology
from syncoll.model.associations import associations
from syncoll.model.counting import CountedSends, bound_loads
from syncoll.trust.carriers import carrier_violations, watched_chunks
from syncoll.trust.holdings import Copies, Partials, Violation
from syncoll.trust.sums import not_summed
from syncoll.wording import counted

_MOST = 1 << 62
"""More chunks than are ever sent; fits in arrays."""


def require_valid(instance: Instance, algorithm: Algorithm, *, in_order: bool = False) -> None:
    """Checks that an algorithm solves an instance.

    Args:
        in_order: whether the reduction may not be commutative; see `violations`.

    Raises:
        VerificationError: with the first errors.

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
    """The errors of an algorithm, at most about `limit`; empty for a valid algorithm.

    Args:
        in_order: for combining instances: whether contributions must be reduced in the order of
            their nodes, as for a reduction that is not commutative.
    """
    topology = instance.topology
    if isinstance(algorithm, OrbitAlgorithm) and (
        ((in_order or instance.reproducible) and instance.combining) or topology.counts_copies
    ):
        # Carriers need not keep the order of nodes, and single sends count together.
        algorithm = algorithm.expanded()
    if topology.counts_copies and instance.combining:
        # Switches add up in any order, and only if no node needs the summands.
        plain = replace(instance, topology=without_sums(topology))
        if in_order or instance.reproducible:
            return _violations(plain, algorithm, limit, in_order=in_order)
        found = _violations(instance, algorithm, limit, in_order=False, summed=True)
        return found if found and _violations(plain, algorithm, limit, in_order=False) else []
    return _violations(instance, algorithm, limit, in_order=in_order)


def is_valid_summed(instance: Instance, algorithm: Algorithm) -> bool:
    """Whether a combining algorithm is valid if switches add up all that they can.  Nodes then get
    sums, not summands; an invalid one may still be valid if switches add up none."""
    own = algorithm.expanded() if isinstance(algorithm, OrbitAlgorithm) else algorithm
    return not _violations(instance, own, 1, in_order=False, summed=True)


def as_counted(instance: Instance, algorithm: Algorithm) -> Topology:
    """The topology whose bounds define the rounds that an algorithm needs: switches add up all that
    they can, or nothing if it needs summands separately, so that each of these sends needs
    rounds."""
    topology = instance.topology
    if not (topology.counts_copies and instance.combining):
        return topology
    if instance.reproducible:  # switches add up in any order
        return without_sums(topology)
    ample = algorithm.tightened(topology.conservative)
    asked = replace(instance, steps=ample.steps, rounds=ample.rounds, rounds_per_step=None)
    return topology if is_valid_summed(asked, ample) else without_sums(topology)


def without_sums(topology: Topology) -> Topology:
    """The topology whose switches copy, but do not add up."""
    bounds = tuple(
        replace(bound, counts=Counting.SENDS) if bound.counts is Counting.DESTINATIONS else bound
        for bound in topology.bounds
    )
    return replace(topology, bounds=bounds, fabric=None)


def _violations(
    instance: Instance, algorithm: Algorithm, limit: int, *, in_order: bool, summed: bool = False
) -> list[Violation]:
    """The errors if switches add up all that they can (`summed`), or nothing."""
    own, watched = algorithm, np.arange(instance.num_chunks)
    found = _shape(instance, algorithm, limit)
    if isinstance(algorithm, OrbitAlgorithm):
        found = found or carrier_violations(instance, algorithm, limit)
        own = algorithm.representative
    if found:  # the replay would index out of its arrays
        return found[:limit]
    if isinstance(algorithm, OrbitAlgorithm):
        watched = watched_chunks(algorithm)
    exceeded = _exceeded(instance.topology, algorithm)
    brought = CountedSends(instance.topology, own).arrivals() if summed else None
    added = None
    if instance.reproducible:
        try:
            added = associations(instance, algorithm)
        except VerificationError as error:
            return [Violation("order", str(error))]
    if instance.combining and not in_order and added is None:
        watched = not_summed(instance, own, watched, brought)
        own = _only(own, watched)
    if brought is not None:
        brought = CountedSends(instance.topology, own).arrivals()
    sends = own.sends
    holdings = (
        Partials(instance, own, watched, in_order=in_order, arrivals=brought, added=added)
        if instance.combining
        else Copies(instance, watched)
    )
    starts = np.searchsorted(sends[:, 3], np.arange(instance.steps + 1)).tolist()
    for step in range(algorithm.steps):
        first = starts[step]
        now = sends[first : starts[step + 1]]
        found += islice(holdings.missing(step, now, first), limit)
        found += islice(exceeded.get(step, ()), limit)
        holdings.arrive(now, first)
        if len(found) >= limit:
            return found[:limit]
    found += islice(holdings.unmet(instance), limit)
    return found[:limit]


def _only(algorithm: Algorithm, chunks: Ints) -> Algorithm:
    """The sends of some chunks of a combining algorithm."""
    assert algorithm.contributions is not None
    kept = np.isin(algorithm.sends[:, 0], chunks)
    return replace(
        algorithm, sends=algorithm.sends[kept], contributions=algorithm.contributions[kept]
    )


def _exceeded(topology: Topology, algorithm: Algorithm) -> dict[int, list[Violation]]:
    """For each step the bounds that its sends exceed."""
    found: dict[int, list[Violation]] = {}
    if not topology.bounds or not algorithm.steps:
        return found
    totals = bound_loads(topology, algorithm)
    rates = [bound.chunks_per_round for bound in topology.bounds]
    kinds = {rate: i for i, rate in enumerate(set(rates))}
    room = np.array(
        [
            [min(_MOST, r * rate.numerator // rate.denominator) for r in algorithm.rounds_per_step]
            for rate in kinds
        ]
    )[[kinds[rate] for rate in rates]]
    for i, step in np.argwhere(totals > room).tolist():
        bound, rounds = topology.bounds[i], algorithm.rounds_per_step[step]
        what = bound.label or ", ".join(f"{a}->{z}" for a, z in bound.links[:4])
        what += ", …" if not bound.label and len(bound.links) > 4 else ""
        found.setdefault(step, []).append(
            Violation(
                "bandwidth",
                f"step {step} of {counted(rounds, 'round')} sends "
                f"{counted(int(totals[i, step]), 'chunk')} over {what}, "
                f"more than {bound.chunks_per_round} a round",
            )
        )
    return found


def _shape(instance: Instance, algorithm: Algorithm, limit: int) -> list[Violation]:
    """Errors of steps and rounds, ranges of the columns, links, contributions, and repeats."""
    found: list[Violation] = []
    if isinstance(algorithm, OrbitAlgorithm):
        algorithm = algorithm.representative
    topology, sends = instance.topology, algorithm.sends
    if algorithm.steps != instance.steps:
        steps = counted(algorithm.steps, "step")
        found.append(Violation("shape", f"{steps}, not {instance.steps}"))
    if any(r < 0 for r in algorithm.rounds_per_step):
        found.append(Violation("shape", f"negative rounds in {algorithm.rounds_per_step}"))
    if algorithm.rounds != instance.rounds:
        rounds = counted(algorithm.rounds, "round")
        found.append(Violation("shape", f"{rounds}, not {instance.rounds}"))
    if any(rounds * topology.grains % 1 for rounds in algorithm.rounds_per_step):
        odd = next(rounds for rounds in algorithm.rounds_per_step if rounds * topology.grains % 1)
        found.append(
            Violation("shape", f"{odd} rounds of a step, no multiple of 1/{topology.grains}")
        )
    given = instance.rounds_per_step
    if given is not None and algorithm.rounds_per_step != given:
        found.append(Violation("shape", f"rounds {algorithm.rounds_per_step}, not {given}"))
    columns = ("chunk", "source node", "destination node", "step")
    ends = (instance.num_chunks, topology.num_nodes, topology.num_nodes, instance.steps)
    for column, (name, end) in enumerate(zip(columns, ends, strict=True)):
        values = sends[:, column]
        for i in np.flatnonzero((values < 0) | (values >= end))[:limit]:
            text = f"send {sends[i].tolist()}: {name} {values[i]} is not within 0 to {end - 1}"
            found.append(Violation("send", text))
    if found:
        return found[:limit]
    nodes = topology.num_nodes
    is_link = np.zeros(nodes * nodes, dtype=bool)
    is_link[[a * nodes + b for a, b in topology.links]] = True
    pairs = sends[:, 1] * nodes + sends[:, 2]
    for pair in np.unique(pairs[~is_link[pairs]])[:limit].tolist():
        a, b = divmod(pair, nodes)
        found.append(Violation("send", f"a send from node {a} to node {b}: no such link"))
    carried = algorithm.contributions
    if instance.combining != (carried is not None):
        what = "lacks" if instance.combining else "has"
        found.append(Violation("shape", f"the algorithm {what} the contributions of its sends"))
        carried = None
    elif carried is not None and carried.shape[1] != nodes:
        width = carried.shape[1]
        found.append(Violation("shape", f"contributions of {counted(width, 'node')}"))
    found += islice(_repeated(sends, carried), limit)
    return found


def _repeated(sends: Ints, carried: Bools | None) -> Iterator[Violation]:
    """Sends that are listed more than once, with the same partial result."""
    # Sends are in order, so equal ones are adjacent.
    same = (sends[1:] == sends[:-1]).all(axis=1)
    if not same.any():
        return
    several = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = sends[several]
    if carried is not None:
        rows = np.concatenate([rows, carried[several]], axis=1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    for i in np.flatnonzero(counts > 1):
        yield Violation("send", f"send {distinct[i, :4].tolist()} is listed {counts[i]} times")
