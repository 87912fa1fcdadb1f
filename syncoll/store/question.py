"""Questions as keys: the SHA-256 of a text that states the question.

A text has a line of JSON with the details, one with the topology, and the table of members, chunks
of an instance or demands of a bound: their rows (pre and post, packed), then their counts.  Names
and labels are no part of it.  Nodes, bounds and members are in the given order, in which algorithms
and certificates name them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.certificates.chunk_classes import Demand, DemandList
from syncoll.model import BandwidthBound, Instance, Link, Topology

_FORM = 3
"""The version of the texts; texts of another version have other keys."""


def answer_key(instance: Instance, asked: str) -> bytes:
    """The key, 32 bytes, of the question whether an instance has an algorithm, which `asked`, the
    encoding and the backend with their options in one text, decides."""
    given = instance.rounds_per_step
    details = {
        "kind": "answer",
        "C": instance.chunks,
        "S": instance.steps,
        "R": instance.rounds,
        "combining": instance.combining,
        "Q": None if given is None else [int(r) for r in given],
        "asked": asked,
    }
    counts = np.ones(instance.num_chunks, dtype=np.int64)
    return _key(details, instance.topology, instance.pre, instance.post, counts)


def bound_key(
    topology: Topology, demands: Sequence[Demand], steps: int | None, effort: str
) -> bytes:
    """The key, 32 bytes, of the question for the least number of rounds that meet demands in S
    steps or in any number.  The text `effort` names the kind of bound.

    Counts are divided by their greatest common divisor: prices that prove a bound for some demands
    prove k times as much for k times as many chunks.
    """
    needs = DemandList.of(demands)
    members = needs.members(topology.num_nodes)
    divisor = gcd(*np.unique(needs.counts).tolist()) or 1
    counts = (needs.counts // divisor).astype(np.int64)
    details = {"kind": "bound", "S": steps, "effort": effort}
    return _key(details, topology, members[needs.first], members[needs.second], counts)


def _key(
    details: Mapping[str, object], topology: Topology, pre: Bools, post: Bools, counts: Ints
) -> bytes:
    head = json.dumps({"form": _FORM, **details}, sort_keys=True).encode()
    line = _topology_line(topology.num_nodes, topology.links, topology.bounds)
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    whole = hashlib.sha256(b"\n".join([head, line, rows.tobytes()]))
    whole.update(counts.astype("<i8").tobytes())
    return whole.digest()


@lru_cache(maxsize=64)
def _topology_line(
    num_nodes: int, links: tuple[Link, ...], bounds: tuple[BandwidthBound, ...]
) -> bytes:
    place = {link: i for i, link in enumerate(links)}
    stated = [
        [[place[link] for link in bound.links], str(bound.chunks_per_round), str(bound.counts)]
        for bound in bounds
    ]
    return json.dumps([num_nodes, links, stated], separators=(",", ":")).encode()
