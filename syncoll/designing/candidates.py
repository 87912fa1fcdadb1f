"""Candidates for a machine to build, with their costs; isomorphic candidates count once.

igraph (BLISS: Junttila and Kaski, ALENEX 2007) computes a canonical numbering of a machine's graph.
Two machines with the same graph under these numbers are compared link by link and bound by bound,
bandwidths included, so only isomorphic ones count as the same.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.errors import LocatedError
from syncoll.model import Collective, Link, Topology
from syncoll.planning.plan import unit_bandwidth
from syncoll.progress import report
from syncoll.routing import as_topology
from syncoll.spec import Condition, SingleTopology, TopologyFamily, applying, members
from syncoll.symmetry import automorphism_graph
from syncoll.symmetry.structure import Structure
from syncoll.wording import counted

_OF_COSTS = ("P", "ports", "links")
"""Names in conditions that are not parameters."""

_PROGRESS_SECONDS = 0.5
"""Interval of progress messages."""

_MOST_EDGES = 50_000
"""Most edges of a graph that is tested for isomorphism."""


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """A machine under a canonical numbering of its nodes, ``[P]``; isomorphic machines have one
    key."""

    topology: Topology
    key: bytes
    number: Ints

    @classmethod
    def of(cls, topology: Topology) -> "CanonicalForm | None":
        """The form of a machine; None if it is too large."""
        graph = automorphism_graph(Structure(topology))
        if graph is None or len(graph.edges) > _MOST_EDGES:
            return None
        number = graph.canonical_numbers
        edges = np.sort(number[graph.edges], axis=1)
        colours = np.empty_like(graph.colours)
        colours[number] = graph.colours
        whole = hashlib.sha256(edges[np.lexsort(edges.T)].tobytes())
        whole.update(colours.tobytes())
        # Nodes have one colour and are the first vertices.
        nodes = number[: topology.num_nodes]
        return cls(topology, whole.digest(), np.argsort(np.argsort(nodes)))

    def is_same(self, other: "CanonicalForm", collectives: Sequence[Collective]) -> bool:
        """Whether the numberings give an isomorphism that preserves the collectives.  A broadcast
        from node 0 is another problem if node 0 has another place."""
        if self._renumbered() != other._renumbered():
            return False
        images = np.argsort(other.number)[self.number]
        nodes = Topology.from_links("nodes", len(images), {})
        for one in collectives:
            chunks = one.least_chunks(len(images))
            if chunks is None:
                return False
            if not Structure(nodes, one.tabulate(len(images), chunks)).keeps(images):
                return False
        return True

    def _renumbered(self) -> object:
        number = self.number.tolist()
        return sorted(
            (sorted((number[a], number[b]) for a, b in bound.links), *bound.kind)
            for bound in self.topology.bounds
        )


@dataclass(frozen=True)
class BuildCosts:
    """The costs of building a machine.

    Args:
        nodes: P.
        links: number of directed links; with switches, of directions of all cables.
        ports: most links that leave, or that enter, one node.
        bandwidth: sum over all links, in GB/s if the machine has units, otherwise in chunks per
            round.
    """

    nodes: int
    links: int
    ports: int
    bandwidth: Fraction

    @classmethod
    def of(cls, topology: Topology) -> "BuildCosts":
        """The costs of a topology, or of its physical network."""
        fabric = topology.fabric
        if fabric is not None:
            total = sum((link.bandwidth for link in fabric.links), Fraction(0))
        else:
            rates = [bound.chunks_per_round for bound in topology.bounds]
            total = sum((min(rates[i] for i in own) for own in topology.link_bounds), Fraction(0))
        links = len(topology.links if fabric is None else fabric.links)
        return cls(topology.num_nodes, links, max(ports_of(topology)), total)


def ports_of(topology: Topology) -> list[int]:
    """``[P]``: the larger of each node's numbers of links out and in."""
    ends: Sequence[Link] = topology.links
    if topology.fabric is not None:
        ends = [(link.source, link.destination) for link in topology.fabric.links]
    leaving, entering = Counter(a for a, _ in ends), Counter(b for _, b in ends)
    return [max(leaving[node], entering[node]) for node in range(topology.num_nodes)]


@dataclass(frozen=True, eq=False)
class MachineCandidate:
    """A candidate for a machine to build, and the names of isomorphic ones.  It represents `images`
    candidates, itself included, which are equivalent by an automorphism of the original machine."""

    topology: Topology
    costs: BuildCosts
    same: tuple[str, ...] = ()
    images: int = 1

    @property
    def name(self) -> str:
        """The name of the topology."""
        return self.topology.name

    @property
    def comparable(self) -> tuple[int, bool]:
        """A key that is equal for comparable candidates: equal data in equal units."""
        return self.costs.nodes, self.rate is not None

    @property
    def rate(self) -> Fraction | None:
        """Bytes per second of a chunk per round, if the machine has units."""
        return unit_bandwidth(self.topology)


@dataclass
class Candidates:
    """The candidates found.  By family, `left_out` has the first reason why members are no valid
    machine, and their number; `unseen` a text on the examined members, if some were not."""

    found: list[MachineCandidate] = field(default_factory=list)
    left_out: dict[str, tuple[LocatedError, int]] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False


def find_candidates(
    families: Sequence[TopologyFamily | SingleTopology],
    conditions: Iterable[Condition],
    collectives: Sequence[Collective],
    most: int,
    until: Deadline,
    enough: int | None = None,
) -> Candidates:
    """The distinct machines among the members of families that meet the conditions.

    After Ctrl-C or the deadline it returns the machines found so far.  Raises `SpecError` if a
    condition or a family is invalid, and `OutOfTimeError` if time ran out before one, or `enough`,
    were found.

    Args:
        conditions: may name the parameters of a family, `P` for the number of nodes, and `ports`
            and `links` as in `BuildCosts`.
        collectives: isomorphic machines are the same only if the isomorphism preserves these.
        most: the largest value of a parameter; the least is 1.
        enough: stops at this number of machines; None to find all.
    """
    every = applying(conditions, families, _OF_COSTS)
    looking = _Looking(collectives, until, enough)
    result = looking.result
    result.unseen = {family.reference: "no member examined" for family in families}
    try:
        for family, own in zip(families, every, strict=True):
            looking.at(family, own, most)
            result.unseen.pop(family.reference, None)  # a family may be named twice
            if len(result.found) == enough:
                break
    except (KeyboardInterrupt, OutOfTimeError) as error:
        if enough is not None or not result.found:
            raise
        result.interrupted = isinstance(error, KeyboardInterrupt)
    return result


@dataclass(eq=False)
class _Looking:
    """Examines members of families, one after the other."""

    collectives: Sequence[Collective]
    until: Deadline
    enough: int | None
    result: Candidates = field(default_factory=Candidates)
    _forms: dict[bytes, list[tuple[int, CanonicalForm]]] = field(default_factory=dict)
    _next: float = field(default_factory=lambda: time.perf_counter() + _PROGRESS_SECONDS)

    def at(
        self, family: TopologyFamily | SingleTopology, conditions: Sequence[Condition], most: int
    ) -> None:
        """Adds the members of a family that meet its conditions."""
        result, name = self.result, family.reference
        early = [one for one in conditions if set(one.names) <= {*family.parameters, "P"}]
        late = [one for one in conditions if one not in early]
        early = [one for one in early if "P" in one.names]
        every = list(members(family, conditions, most))
        for done, values in enumerate(every):
            result.unseen[name] = f"{done} of {counted(len(every), 'member')} examined"
            self._tell(done, len(every), name)
            self.until.check()
            try:
                if early:
                    known = {**values, "P": family.nodes(values)}
                    if not all(one.holds(known) for one in early):
                        continue
                topology = as_topology(family.topology(values))
            except LocatedError as error:
                if not family.parameters:
                    raise
                first, count = result.left_out.get(name, (error, 0))
                result.left_out[name] = first, count + 1
                continue
            costs = BuildCosts.of(topology)
            known = {**values, "P": costs.nodes, "ports": costs.ports, "links": costs.links}
            if all(one.holds(known) for one in late):
                self._add(MachineCandidate(topology, costs))
                if len(result.found) == self.enough:
                    return

    def _tell(self, done: int, total: int, name: str) -> None:
        """Reports progress, at most every `_PROGRESS_SECONDS`."""
        if time.perf_counter() >= self._next:
            found = counted(len(self.result.found), "machine")
            report(done, total, f"members of {name} examined, {found} found")
            self._next = time.perf_counter() + _PROGRESS_SECONDS

    def _add(self, new: MachineCandidate) -> None:
        """Adds a candidate, or its name to an isomorphic one."""
        form, found = CanonicalForm.of(new.topology), self.result.found
        if form is not None:
            alike = self._forms.setdefault(form.key, [])
            for position, other in alike:
                known = found[position]
                alike_at_all = known.costs == new.costs and known.rate == new.rate
                if alike_at_all and form.is_same(other, self.collectives):
                    names = dict.fromkeys((*known.same, new.name))
                    same = tuple(name for name in names if name != known.name)
                    found[position] = replace(known, same=same)
                    return
            alike.append((len(found), form))
        found.append(new)
