"""Replays an algorithm step by step from pre (SCCL paper, section 3.3).

V_0 = pre; in step s every send must start where its chunk is in V_s; what arrives is added to
V_{s+1}.  At the end post must be a subset of V_S.  In every step the sends over each link set L of
the bandwidth relation are counted against b * r_s.  The only inputs are the instance and the
algorithm: neither an encoding's pruning nor a backend's word is used, so an error in either shows
here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance

__all__ = ["Violation", "require_valid", "violations"]


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with an algorithm.

    Args:
        kind: ``shape``, ``send``, ``causality``, ``bandwidth`` or ``post``.
        message: what is wrong, with the send, step or link set in question.
    """

    kind: str
    message: str


def require_valid(instance: Instance, algorithm: Algorithm) -> None:
    """Passes a valid algorithm.

    Raises:
        VerificationError: naming the first things that are wrong.
    """
    found = violations(instance, algorithm, limit=4)
    if found:
        more = " …" if len(found) == 4 else ""
        raise VerificationError(
            f"not a valid algorithm for {instance.collective} on {instance.topology.name}: "
            + "; ".join(v.message for v in found[:3])
            + more
        )


def violations(instance: Instance, algorithm: Algorithm, limit: int = 100) -> list[Violation]:
    """Everything that is wrong, at most about `limit` entries; empty for a valid algorithm."""
    found = _shape(instance, algorithm, limit)
    if found:  # without a sane shape the replay below would index out of its arrays
        return found[:limit]
    found = []
    topology, sends = instance.topology, algorithm.sends
    number = np.full((topology.num_nodes, topology.num_nodes), -1, dtype=np.int64)
    for i, (a, b) in enumerate(topology.links):
        number[a, b] = i
    bounds = [
        (bound, np.array([number[link] for link in bound.links])) for bound in topology.bounds
    ]
    holds = instance.pre.copy()
    starts = np.searchsorted(sends[:, 3], np.arange(instance.steps + 1))
    for step, rounds in enumerate(algorithm.rounds_per_step):
        chunk, source, destination, _ = sends[starts[step] : starts[step + 1]].T
        for i in np.flatnonzero(~holds[chunk, source])[:limit]:
            found.append(
                Violation(
                    "causality",
                    f"step {step} sends chunk {chunk[i]} from node {source[i]} to node "
                    f"{destination[i]}, but node {source[i]} does not hold it then",
                )
            )
        load = np.bincount(number[source, destination], minlength=len(topology.links))
        for bound, members in bounds:
            total, per_round = int(load[members].sum()), bound.chunks_per_round
            if total * per_round.denominator > per_round.numerator * rounds:
                what = bound.label or ", ".join(f"{a}->{z}" for a, z in bound.links[:4])
                what += ", …" if not bound.label and len(bound.links) > 4 else ""
                found.append(
                    Violation(
                        "bandwidth",
                        f"step {step} of {rounds} rounds sends {total} chunks over {what}, "
                        f"more than {per_round} a round",
                    )
                )
        holds[chunk, destination] = True
        if len(found) >= limit:
            return found[:limit]
    for c, n in np.argwhere(instance.post & ~holds)[:limit].tolist():
        found.append(Violation("post", f"chunk {c} never reaches node {n}"))
    return found[:limit]


def _shape(instance: Instance, algorithm: Algorithm, limit: int) -> list[Violation]:
    """Numbers of steps and rounds, ranges of the columns, links that exist, repeats."""
    found: list[Violation] = []
    topology, sends = instance.topology, algorithm.sends
    if algorithm.steps != instance.steps:
        found.append(Violation("shape", f"{algorithm.steps} steps, not {instance.steps}"))
    if any(r < 0 for r in algorithm.rounds_per_step):
        found.append(Violation("shape", f"negative rounds in {algorithm.rounds_per_step}"))
    if algorithm.rounds != instance.rounds:
        found.append(Violation("shape", f"{algorithm.rounds} rounds, not {instance.rounds}"))
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
    links = set(topology.links)
    used = np.unique(sends[:, 1:3], axis=0).tolist()
    for a, b in used:
        if (a, b) not in links:
            found.append(Violation("send", f"a send from node {a} to node {b}: no such link"))
    distinct, counts = np.unique(sends, axis=0, return_counts=True)
    for i in np.flatnonzero(counts > 1)[:limit]:
        found.append(Violation("send", f"send {distinct[i].tolist()} is listed {counts[i]} times"))
    return found
