"""Everything for use from Python; `import syncoll` has all of it."""

from syncoll.api.algorithm import ExecutionResult, ExportResult, PointResult, StoredResult
from syncoll.api.answers import BoundsResult, ForestsResult, SolutionResult
from syncoll.api.frontier import CheckedResult, FrontierResult
from syncoll.api.planned import PlanResult
from syncoll.api.types import *  # noqa: F403
from syncoll.api.types import __all__ as _types
from syncoll.api.verbs import *  # noqa: F403
from syncoll.api.verbs import __all__ as _verbs

__all__ = [
    "BoundsResult",
    "CheckedResult",
    "ExecutionResult",
    "ExportResult",
    "ForestsResult",
    "FrontierResult",
    "PlanResult",
    "PointResult",
    "SolutionResult",
    "StoredResult",
    *_types,
    *_verbs,
]
