"""What searches and solvers have found, as frozen values that import no engine."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.results.evidence import (
        BY_CUTTING as BY_CUTTING,
        Distance as Distance,
        Evidence as Evidence,
        ScaledShape as ScaledShape,
        refuted_instance as refuted_instance,
        with_files as with_files,
    )
    from syncoll.results.family import Family as Family, Growth as Growth, Part as Part
    from syncoll.results.forest import *
    from syncoll.results.frontier import *
    from syncoll.results.lower_bounds import LowerBounds as LowerBounds
    from syncoll.results.proof import (
        Method as Method,
        Proof as Proof,
        Refuted as Refuted,
        Scope as Scope,
    )
    from syncoll.results.solution import (
        NO_FORMULA as NO_FORMULA,
        Solution as Solution,
        undecided as undecided,
        without_caches as without_caches,
    )
else:
    __getattr__ = lazily(__name__)
