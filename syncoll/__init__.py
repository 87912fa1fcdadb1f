"""syncoll synthesises provably optimal collective communication algorithms.

::

    import syncoll

    frontier = syncoll.pareto("dgx1", "allgather", max_steps=4)
    frontier[0].export("mscclpp", "plan.json")

The functions are the commands of the shell, see `syncoll.api`; they are imported when one of them
is asked for.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from syncoll.api.definitions import *  # noqa: F403
    from syncoll.api.designs import *  # noqa: F403
    from syncoll.api.exports import *  # noqa: F403
    from syncoll.api.frontier import *  # noqa: F403
    from syncoll.api.plans import *  # noqa: F403
    from syncoll.api.questions import *  # noqa: F403
    from syncoll.api.repairs import *  # noqa: F403
    from syncoll.api.reports import *  # noqa: F403
    from syncoll.api.runs import *  # noqa: F403
    from syncoll.api.searches import *  # noqa: F403
    from syncoll.api.simulations import *  # noqa: F403
    from syncoll.documents import read_file as read_file
    from syncoll.errors import SyncollError as SyncollError
    from syncoll.errors import UncheckedError as UncheckedError
    from syncoll.errors import VerificationError as VerificationError
    from syncoll.formula import Limits as Limits
    from syncoll.formula import Verdict as Verdict
    from syncoll.ledger import Observer as Observer
    from syncoll.ledger import SearchRequest as SearchRequest
    from syncoll.ledger import Strategy as Strategy
    from syncoll.model import Algorithm as Algorithm
    from syncoll.model import BandwidthBound as BandwidthBound
    from syncoll.model import Collective as Collective
    from syncoll.model import Fabric as Fabric
    from syncoll.model import Instance as Instance
    from syncoll.model import Topology as Topology
    from syncoll.model import inverse_of as inverse_of
    from syncoll.model import sequence_of as sequence_of
    from syncoll.plugins import PluginManager as PluginManager
    from syncoll.results import Frontier as Frontier
    from syncoll.results import Point as Point
    from syncoll.results import Solution as Solution
    from syncoll.session import Session as Session
    from syncoll.session import Settings as Settings
    from syncoll.solving import Solver as Solver
    from syncoll.spec import SpecLibrary as SpecLibrary
    from syncoll.trust import Violation as Violation
    from syncoll.trust import require_valid as require_valid
    from syncoll.trust import violations as violations
else:
    _HOMES = {
        "api.definitions": "check_spec collective discover fabric file_schema import_topology "
        "list_plugins list_specs open_store show symmetry_of SymmetryResult topology",
        "api.designs": "DesignResult design",
        "api.exports": "ExportResult export verify",
        "api.frontier": "CheckedResult FrontierResult PointResult StoredResult check load",
        "api.plans": "PlanResult plan",
        "api.questions": "BoundsResult ExplanationResult ForestsResult SolutionResult bounds "
        "explain forest load_forest solve",
        "api.repairs": "RepairResult SurveyResult repair survey",
        "api.reports": "ReportResult report",
        "api.runs": "ExecutionResult MpiResult run",
        "api.searches": "pareto search",
        "api.simulations": "SimulationResult simulate",
        "documents": "read_file",
        "errors": "SyncollError UncheckedError VerificationError",
        "formula": "Limits Verdict",
        "ledger": "Observer SearchRequest Strategy",
        "model": "Algorithm BandwidthBound Collective Fabric Instance Topology inverse_of "
        "sequence_of",
        "plugins": "PluginManager",
        "results": "Frontier Point Solution",
        "session": "Session Settings",
        "solving": "Solver",
        "spec": "SpecLibrary",
        "trust": "Violation require_valid violations",
    }
    __getattr__ = lazily(__name__, _HOMES)
    __all__ = sorted(["__version__", *" ".join(_HOMES.values()).split()])

    def __dir__():
        return sorted({*globals(), *__all__})
