"""What searches and solvers have found, as frozen values that import no engine."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.results.evidence import (
        BY_CUTTING,
        Distance,
        Evidence,
        ScaledShape,
        refuted_instance,
        with_files,
    )
    from syncoll.results.family import Family, Growth, Part
    from syncoll.results.forest import ForestCollective, Forests, PackedForest
    from syncoll.results.frontier import Costs, Frontier, OpenClaim, Point
    from syncoll.results.lower_bounds import LowerBounds
    from syncoll.results.proof import Method, Proof, Refuted, Scope
    from syncoll.results.solution import NO_FORMULA, Solution, undecided, without_caches
else:
    __getattr__ = lazily(
        __name__,
        {
            "evidence": "BY_CUTTING Distance Evidence ScaledShape refuted_instance with_files",
            "family": "Family Growth Part",
            "forest": "ForestCollective Forests PackedForest",
            "frontier": "Costs Frontier OpenClaim Point",
            "lower_bounds": "LowerBounds",
            "proof": "Method Proof Refuted Scope",
            "solution": "NO_FORMULA Solution undecided without_caches",
        },
    )

__all__ = [
    "BY_CUTTING",
    "NO_FORMULA",
    "Costs",
    "Distance",
    "Evidence",
    "Family",
    "ForestCollective",
    "Forests",
    "Frontier",
    "Growth",
    "LowerBounds",
    "Method",
    "OpenClaim",
    "PackedForest",
    "Part",
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
