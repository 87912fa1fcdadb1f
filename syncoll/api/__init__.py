"""Everything for use from Python; `import syncoll` has all of it."""

from syncoll.api.algorithm import ExecutionResult, ExportResult, PointResult, StoredResult
from syncoll.api.answers import BoundsResult, ForestsResult, SolutionResult
from syncoll.api.definitions import *  # noqa: F403
from syncoll.api.definitions import __all__ as _definitions
from syncoll.api.frontier import CheckedResult, FrontierResult
from syncoll.api.planned import PlanResult
from syncoll.api.questions import *  # noqa: F403
from syncoll.api.questions import __all__ as _questions
from syncoll.api.results import *  # noqa: F403
from syncoll.api.results import __all__ as _results
from syncoll.api.types import *  # noqa: F403
from syncoll.api.types import __all__ as _types

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
    *_definitions,
    *_questions,
    *_results,
    *_types,
]
