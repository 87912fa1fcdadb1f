"""What searches and solvers have found, as frozen values that import no engine."""

from syncoll.results.evidence import (
    BY_CUTTING,
    Distance,
    Evidence,
    ScaledShape,
    refuted_instance,
    with_files,
)
from syncoll.results.forest import ForestCollective, PackedForest
from syncoll.results.frontier import Frontier, OpenClaim, Point
from syncoll.results.proof import Method, Proof, Refuted, Scope
from syncoll.results.solution import NO_FORMULA, Solution, undecided, without_caches

__all__ = [
    "BY_CUTTING",
    "NO_FORMULA",
    "Distance",
    "Evidence",
    "ForestCollective",
    "Frontier",
    "Method",
    "OpenClaim",
    "PackedForest",
    "Point",
    "Proof",
    "Refuted",
    "ScaledShape",
    "Scope",
    "Solution",
    "refuted_instance",
    "undecided",
    "with_files",
    "without_caches",
]
