"""Evidence: the proofs of all claims about a frontier."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from syncoll.certificates import Certificate, ChunkClasses
from syncoll.errors import ModelError
from syncoll.model import Instance, Topology
from syncoll.model.reach import Reach
from syncoll.results.proof import Proof, Refuted

BY_CUTTING = "a larger C cuts every chunk of the least C"
"""Why the shape of a regular collective stands for every C."""


@dataclass(frozen=True)
class ScaledShape:
    """A shape and the C for which it stands.

    Args:
        shape: the shape for one C.
        compared: the C whose chunks were compared with it.
        scales: why it stands for every admitted C; None in older files of irregular collectives.
    """

    shape: ChunkClasses
    compared: tuple[int, ...]
    scales: str | None


@dataclass(frozen=True)
class Distance:
    """Why no algorithm has fewer steps: the distance from the nearest of some sources to a node."""

    sources: tuple[int, ...]
    destination: int
    steps: int

    @classmethod
    def of(cls, reach: Reach) -> "Distance | None":
        """The longest path of a chunk, or a contribution; None if nothing must move."""
        farthest = reach.farthest
        if farthest is None:
            return None
        chunk, destination = farthest
        starts = reach.table.starts
        sources = np.flatnonzero(starts.sets[starts.number[chunk]])
        if reach.combining:
            far = reach.topology.distances[sources, destination]
            sources = sources[np.argmax(far)][None]
        return cls(tuple(sources.tolist()), destination, reach.least_steps)


@dataclass(frozen=True)
class Evidence:
    """The proofs of a frontier's claims.

    Args:
        shapes: the chunks, and the C that they stand for.
        max_chunks: the search's limit on C.
        undefined: C up to the limit for which a shape has whole counts, but the collective is not
            defined.
        distance: proves the least number of steps; None if nothing must move.
        bandwidth: certificates for any number of steps, one for each shape.
        proofs: one for each S from the least on, ascending.
    """

    shapes: tuple[ScaledShape, ...]
    max_chunks: int
    undefined: tuple[int, ...]
    distance: Distance | None
    bandwidth: tuple[Certificate, ...]
    proofs: tuple[Proof, ...]

    def proof(self, steps: int) -> Proof | None:
        """The proof for S = `steps`."""
        return next((proof for proof in self.proofs if proof.steps == steps), None)

    @property
    def scaling(self) -> bool:
        """Whether one shape stands for every C."""
        return len(self.shapes) == 1 and self.shapes[0].scales is not None

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Every certificate of a bound or a proof, once."""
        every: list[Certificate] = []
        for group in (self.bandwidth, *(proof.certificates for proof in self.proofs)):
            every += [one for one in group if one not in every]
        return tuple(every)

    def shape(self, chunks: int) -> ChunkClasses | None:
        """The shape that stands for C = `chunks`; None if unknown."""
        for one in self.shapes:
            if chunks in one.compared or (self.scaling and one.shape.allows(chunks)):
                return one.shape
        return None

    def renumbered(self, bounds: Sequence[int]) -> "Evidence":
        """The evidence on a topology whose bounds have other positions: `bounds[i]` for i."""

        def moved(some: Iterable[Certificate]) -> tuple[Certificate, ...]:
            return tuple(replace(one, bound=one.bound.renumbered(bounds)) for one in some)

        proofs = (replace(proof, certificates=moved(proof.certificates)) for proof in self.proofs)
        return replace(self, bandwidth=moved(self.bandwidth), proofs=tuple(proofs))

    def scaled(self, factor: Fraction) -> "Evidence":
        """The evidence with `factor` times the rounds, on a topology of as much less bandwidth."""
        return replace(
            self,
            bandwidth=tuple(one.scaled(factor) for one in self.bandwidth),
            proofs=tuple(proof.scaled(factor) for proof in self.proofs),
        )

    def inverse(self, factor: Fraction, admits: Callable[[int], bool]) -> "Evidence":
        """The evidence for the inverse of a regular collective, on the reversed topology.

        Args:
            factor: C of the inverse divided by C of this collective, the same for each C.
            admits: whether the inverse is defined for a C.
        """
        shapes = tuple(
            ScaledShape(
                one.shape.inverse(int(one.shape.chunks * factor)),
                tuple(int(c * factor) for c in one.compared),
                one.scales,
            )
            for one in self.shapes
        )
        most = int(self.max_chunks * factor)
        distance = self.distance
        if distance is not None and len(distance.sources) == 1:
            distance = Distance((distance.destination,), distance.sources[0], distance.steps)
        return Evidence(
            shapes,
            most,
            undefined_chunks(shapes, most, admits),
            distance,
            tuple(one.inverse(int(one.shape.chunks * factor)) for one in self.bandwidth),
            tuple(proof.inverse(factor) for proof in self.proofs),
        )


def undefined_chunks(
    shapes: Sequence[ScaledShape], max_chunks: int, admits: Callable[[int], bool]
) -> tuple[int, ...]:
    """The C up to a limit for which the collective is undefined.  If one shape stands for every C,
    a C without whole counts is obvious and left out."""
    allowed = shapes[0].shape.allows if len(shapes) == 1 and shapes[0].scales else None
    return tuple(
        c for c in range(1, max_chunks + 1) if (allowed is None or allowed(c)) and not admits(c)
    )


def refuted_instance(
    evidence: Evidence, refuted: Refuted, topology: Topology, name: str
) -> Instance:
    """The instance that a solver refuted: for an inverse its dual on the reversed topology.
    Raises `ModelError` if no shape stands for that C."""
    shape = evidence.shape(refuted.chunks)
    if shape is None:
        raise ModelError(f"the chunks of C = {refuted.chunks} are not known")
    if shape.combining and shape.ends_alone:
        shape, topology = shape.inverse(shape.chunks), topology.reversed()
        name = f"{name}, reversed"
    table = shape.scaled(refuted.chunks).table(topology.num_nodes)
    return Instance(
        topology,
        name,
        refuted.chunks,
        refuted.steps,
        refuted.rounds,
        table.pre,
        table.post,
        combining=shape.combining,
    )


def with_files(evidence: Evidence, write: Callable[[Refuted], str | None]) -> Evidence:
    """The evidence with the proof file of each refutation; `write` makes it once, or gives None."""
    named = cache(lambda one: replace(one, file=write(one)))
    proofs = (replace(proof, refuted=tuple(map(named, proof.refuted))) for proof in evidence.proofs)
    return replace(evidence, proofs=tuple(proofs))
