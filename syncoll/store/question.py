"""Questions as texts, with two keys: one for the same text, one for the same question renumbered.

A text states a question in its own numbering of nodes, with links, bounds and chunks (or demands)
in order, without names and labels.

* `key` is the SHA-256 of the text.
* `alike` is shared by all renumberings of a question (see `canonical`), and by some other
  questions.  Two texts are the same question if and only if a renumbering of nodes maps one to the
  other: `renumbers` finds one, applies it, and compares, so that another question is never mistaken
  for it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd
from typing import Any

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.certificates import Argument, Cut, Demand, Priced, Share, Ways
from syncoll.certificates.link_prices import Prices
from syncoll.errors import FileFormatError
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Link, Topology
from syncoll.store.canonical import RefinementHash, inverse, matching, refinement_hash

__all__ = ["CanonicalQuestion", "Numbering", "answer_question", "bound_question", "inverse"]

_FORM = 2
"""The version of the texts; texts of another version have other keys."""

_Bounds = tuple[tuple[tuple[Link, ...], str], ...]


@dataclass(frozen=True, eq=False)
class Numbering:
    """For each node, link ``[L]``, bound ``[|B|]`` and member its number elsewhere; each a
    permutation.  Members are chunks ``[G]`` of an instance, or demands ``[K]`` of a bound."""

    nodes: IntArray
    links: IntArray
    bounds: IntArray
    members: IntArray

    def inverse(self) -> "Numbering":
        """The way back."""
        return Numbering(
            inverse(self.nodes), inverse(self.links), inverse(self.bounds), inverse(self.members)
        )

    def algorithm(self, algorithm: Algorithm) -> Algorithm:
        """An algorithm renumbered, not yet verified.  Raises `FileFormatError` if a chunk or a node
        of it does not exist."""
        sends, carried = algorithm.sends, algorithm.contributions
        most = np.array((len(self.members), len(self.nodes), len(self.nodes)))
        if (sends[:, :3] < 0).any() or (sends[:, :3] >= most).any():
            raise FileFormatError("a stored algorithm does not fit its question")
        if carried is not None and carried.shape[1] != len(self.nodes):
            raise FileFormatError("a stored algorithm has contributions of other nodes")
        moved = np.stack(
            [self.members[sends[:, 0]], *self.nodes[sends[:, 1:3]].T, sends[:, 3]], axis=1
        )
        return Algorithm(
            algorithm.rounds_per_step,
            moved,
            None if carried is None else carried[:, inverse(self.nodes)],
        )

    def certificate(self, certificate: Priced) -> Priced:
        """A certificate renumbered, not yet checked.  Raises `FileFormatError` if a bound, link,
        node or demand of it does not exist."""
        argument: Argument = certificate.argument
        try:
            if isinstance(argument, Cut):
                argument = Cut(tuple(sorted(_at(self.nodes, n) for n in argument.nodes)))
            elif isinstance(argument, Ways):
                shares = (
                    Share(
                        _at(self.nodes, share.destination),
                        tuple(_at(self.members, k) for k in share.demands),
                        _moved(self.links, share.prices),
                    )
                    for share in argument.shares
                )
                argument = Ways(tuple(shares))
            return Priced(certificate.steps, _moved(self.bounds, certificate.prices), argument)
        except IndexError as error:
            raise FileFormatError("a stored certificate does not fit its question") from error


def _moved(numbers: IntArray, prices: Prices) -> Prices:
    """Prices of links or bounds with other numbers."""
    return {(_at(numbers, i), step): price for (i, step), price in prices.items()}


def _at(numbers: IntArray, position: int) -> int:
    if position < 0:  # arrays would accept it
        raise IndexError(position)
    return int(numbers[position])


@dataclass(frozen=True, eq=False)
class CanonicalQuestion:
    """A question in order, and the numbering that maps this order to its numbers.  Its text has a
    line of JSON with the details, one with the topology, and the table of members: their rows (pre
    and post, packed), then their counts."""

    text: bytes
    numbering: Numbering

    @cached_property
    def key(self) -> bytes:
        """SHA-256 of the text, 32 bytes."""
        return hashlib.sha256(self.text).digest()

    @property
    def alike(self) -> bytes | None:
        """SHA-256 of the invariants under renumbering; None if the question is too large."""
        return self._hash.key if self._hash else None

    @cached_property
    def _hash(self) -> RefinementHash | None:
        details, topology, pre, post, counts = _parts(self.text)
        return refinement_hash(details, topology, pre, post, counts)

    def renumbers(self, text: bytes) -> Numbering | None:
        """The map from the order of another text to the numbers of this question; None unless the
        text is this question with other numbers of nodes.  Raises `FileFormatError` if it is no
        question."""
        try:
            details, topology, pre, post, counts = _parts(text)
            num_nodes, links, bounds = json.loads(topology)
            given = refinement_hash(details, topology, pre, post, counts)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise FileFormatError(f"a stored question cannot be read: {error}") from error
        if given is None or self._hash is None or given.key != self._hash.key:
            return None
        nodes = matching(given, self._hash, num_nodes)
        ends = nodes[np.array(links, dtype=np.int64).reshape(-1, 2)]
        line, link_order, bound_order = _topology_in_order(num_nodes, ends, bounds)
        back = inverse(nodes)
        table, member_order = _members_in_order(pre[:, back], post[:, back], counts)
        if b"\n".join([details, line, table]) != self.text:
            return None
        mine = self.numbering
        there = (
            order[inverse(place)]
            for order, place in (
                (mine.links, link_order),
                (mine.bounds, bound_order),
                (mine.members, member_order),
            )
        )
        return Numbering(nodes, *there)


def answer_question(instance: Instance, asked: str) -> CanonicalQuestion:
    """The question whether an instance has an algorithm, which `asked`, the encoding and the
    backend with their options in one text, decides.  Its members are the chunks."""
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
    return _question(details, instance.topology, instance.pre, instance.post, counts)


def bound_question(
    topology: Topology, demands: Sequence[Demand], steps: int | None, effort: str
) -> CanonicalQuestion:
    """The question for the least number of rounds that meet demands, its members, in S steps or in
    any number.  The text `effort` names the kind of bound.

    Counts are divided by their greatest common divisor: prices that prove a bound for some demands
    prove k times as much for k times as many chunks.
    """
    pre = np.zeros((len(demands), topology.num_nodes), dtype=bool)
    post = np.zeros_like(pre)
    for k, demand in enumerate(demands):
        pre[k, list(demand.sources)] = True
        post[k, list(demand.destinations)] = True
    divisor = gcd(*(demand.count for demand in demands)) or 1
    counts = np.array([demand.count // divisor for demand in demands], dtype=np.int64)
    details = {"kind": "bound", "S": steps, "effort": effort}
    if topology.counts_copies:  # older stores have weaker bounds, one for all demands
        details["payers"] = "one for each demand"
    return _question(details, topology, pre, post, counts)


def _question(
    details: Mapping[str, object],
    topology: Topology,
    pre: BoolArray,
    post: BoolArray,
    counts: IntArray,
) -> CanonicalQuestion:
    line, bounds = _given_topology(
        topology.num_nodes,
        topology.links,
        tuple((bound.links, _capacity(bound)) for bound in topology.bounds),
    )
    table, members = _members_in_order(pre, post, counts)
    head = json.dumps({"form": _FORM, **details}, sort_keys=True).encode()
    nodes, links = np.arange(topology.num_nodes), np.arange(len(topology.links))
    return CanonicalQuestion(
        b"\n".join([head, line, table]), Numbering(nodes, links, bounds, members)
    )


def _capacity(bound: BandwidthBound) -> str:
    """The capacity of a bound and its unit, if it does not count sends as in older stores."""
    counts = "" if bound.counts is Counting.SENDS else f" {bound.counts}"
    return f"{bound.chunks_per_round}{counts}"


@lru_cache(maxsize=64)
def _given_topology(
    num_nodes: int, links: tuple[Link, ...], bounds: _Bounds
) -> tuple[bytes, IntArray]:
    """The line of a topology, whose links are in order, and the order of its bounds."""
    place = {link: i for i, link in enumerate(links)}
    positions = [[[place[link] for link in group], capacity] for group, capacity in bounds]
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    line, _, order = _topology_in_order(num_nodes, ends, positions)
    order.setflags(write=False)  # the cache shares it
    return line, order


def _topology_in_order(
    num_nodes: int, ends: IntArray, bounds: Sequence[Sequence[Any]]
) -> tuple[bytes, IntArray, IntArray]:
    """The line of a topology, and the given position of each of its links and of its bounds.  The
    ends are ``[L, 2]``; a bound has the positions of its links, and its capacity."""
    link_order = np.lexsort((ends[:, 1], ends[:, 0]))
    place = inverse(link_order).tolist()
    moved = [[sorted(place[int(link)] for link in group), capacity] for group, capacity in bounds]
    bound_order = sorted(range(len(moved)), key=moved.__getitem__)
    text = json.dumps(
        [num_nodes, ends[link_order].tolist(), [moved[j] for j in bound_order]],
        separators=(",", ":"),
    )
    return text.encode(), link_order, np.array(bound_order, dtype=np.int64)


def _members_in_order(pre: BoolArray, post: BoolArray, counts: IntArray) -> tuple[bytes, IntArray]:
    """The table of members, and the given position of each; equal ones keep their order."""
    rows = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    order = np.lexsort((counts, *rows.T[::-1]))
    return rows[order].tobytes() + counts[order].astype("<i8").tobytes(), order


def _parts(text: bytes) -> tuple[bytes, bytes, BoolArray, BoolArray, IntArray]:
    """Details, topology, pre, post and counts of a text."""
    details, topology, table = text.split(b"\n", 2)
    nodes = int(json.loads(topology)[0])
    width = (2 * nodes + 7) // 8
    members, rest = divmod(len(table), width + 8)
    if rest:
        raise ValueError("its table is cut short")
    packed = np.frombuffer(table, np.uint8, members * width).reshape(members, width)
    both = np.unpackbits(packed, axis=1, count=2 * nodes).astype(bool)
    counts = np.frombuffer(table, "<i8", members, members * width).astype(np.int64)
    return details, topology, both[:, :nodes], both[:, nodes:], counts
