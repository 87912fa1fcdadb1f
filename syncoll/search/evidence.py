"""Evidence: everything that is proved about a frontier, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncoll.bounds import Certificate, Shape
from syncoll.model import Instance
from syncoll.search.proof import Proof

__all__ = ["Distance", "Evidence", "ScaledShape"]


@dataclass(frozen=True)
class ScaledShape:
    """A shape and the C for which it stands.

    Args:
        shape: for one C.
        compared: C for which the collective's chunks were compared with it.
        scales: why it stands for every C for which the collective is defined; None when that is
            not proved.
    """

    shape: Shape
    compared: tuple[int, ...]
    scales: str | None


@dataclass(frozen=True)
class Distance:
    """Why no algorithm has fewer steps: something must get from one place to another.

    Args:
        sources: nodes of which one has it.
        destination: the node that needs it.
        steps: how far that is from the nearest.
    """

    sources: tuple[int, ...]
    destination: int
    steps: int

    @classmethod
    def of(cls, instance: Instance) -> Distance | None:
        """The longest way that a chunk, or a contribution, must go; None if nothing must move."""
        best: Distance | None = None
        distances = instance.topology.distances
        for members in instance.chunk_classes:
            pre, post = instance.pre[members[0]], instance.post[members[0]]
            sources = tuple(pre.nonzero()[0].tolist())
            starts = [(n,) for n in sources] if instance.combining else [sources]
            for start in starts:
                for destination in post.nonzero()[0].tolist():
                    steps = int(min(distances[n, destination] for n in start))
                    if best is None or steps > best.steps:
                        best = cls(start, destination, steps)
        return best if best is not None and best.steps else None


@dataclass(frozen=True)
class Evidence:
    """Everything proved about a frontier.

    Args:
        shapes: what is asked, for which C.
        max_chunks: the search's limit on C.
        undefined: C up to the limit for which a shape has whole counts, but for which the
            collective is not defined.
        distance: proves the least number of steps; None when nothing must move.
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
        """Every certificate that something rests on, once."""
        every: list[Certificate] = []
        for group in (self.bandwidth, *(proof.certificates for proof in self.proofs)):
            every += [one for one in group if one not in every]
        return tuple(every)

    def inverse(self, factor: Fraction, scales: str | None) -> Evidence:
        """The same about the inverse collective on the reversed topology.

        Args:
            factor: C of the inverse divided by C of this one.
            scales: why the inverse's one shape stands for every C.
        """

        shapes = tuple(
            ScaledShape(
                one.shape.inverse(int(one.shape.chunks * factor)),
                tuple(int(c * factor) for c in one.compared),
                scales,
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
            tuple(int(c * factor) for c in self.undefined),
            distance,
            tuple(one.inverse(int(one.shape.chunks * factor)) for one in self.bandwidth),
            tuple(
                proof.inverse(factor, scales is not None and len(shapes) == 1, most)
                for proof in self.proofs
            ),
        )
