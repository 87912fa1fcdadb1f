"""The results of searches and solvers, as frozen values that import no engine."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.results.evidence import *
    from syncoll.results.family import Family as Family, Growth as Growth, Part as Part
    from syncoll.results.forest import *
    from syncoll.results.frontier import *
    from syncoll.results.lower_bounds import LowerBounds as LowerBounds
    from syncoll.results.proof import *
    from syncoll.results.solution import *
else:
    __getattr__ = lazily(__name__)
