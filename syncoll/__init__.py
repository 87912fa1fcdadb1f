"""syncoll synthesises provably optimal collective communication algorithms.

::

    import syncoll

    frontier = syncoll.pareto("dgx1", "allgather", max_steps=4)
    frontier[0].export("mscclpp", "plan.json")

The functions are the commands of the shell, see `syncoll.api`; each is imported at its first use.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import displayed_by, lazily

if TYPE_CHECKING:
    from syncoll.api.definitions import *
    from syncoll.api.designs import DesignResult as DesignResult, design as design
    from syncoll.api.exports import ExportResult as ExportResult, export as export, verify as verify
    from syncoll.api.frontier import *
    from syncoll.api.plans import PlanResult as PlanResult, plan as plan
    from syncoll.api.questions import *
    from syncoll.api.recommend import (
        RecommendationResult as RecommendationResult,
        recommend as recommend,
    )
    from syncoll.api.repairs import *
    from syncoll.api.reports import ReportResult as ReportResult, report as report
    from syncoll.api.runs import *
    from syncoll.api.searches import pareto as pareto, search as search
    from syncoll.api.simulations import SimulationResult as SimulationResult, simulate as simulate
    from syncoll.documents import read_file as read_file
    from syncoll.errors import (
        SyncollError as SyncollError,
        UncheckedError as UncheckedError,
        VerificationError as VerificationError,
    )
    from syncoll.formula import Limits as Limits, Verdict as Verdict
    from syncoll.ledger import (
        Observer as Observer,
        SearchRequest as SearchRequest,
        Strategy as Strategy,
    )
    from syncoll.model import (
        Algorithm as Algorithm,
        BandwidthBound as BandwidthBound,
        Collective as Collective,
        Fabric as Fabric,
        Instance as Instance,
        Topology as Topology,
        inverse_of as inverse_of,
        sequence_of as sequence_of,
    )
    from syncoll.plugins import PluginManager as PluginManager
    from syncoll.results import Frontier as Frontier, Point as Point, Solution as Solution
    from syncoll.session import Session as Session, Settings as Settings
    from syncoll.solving import Solver as Solver
    from syncoll.spec import SpecLibrary as SpecLibrary
    from syncoll.trust import (
        Violation as Violation,
        require_valid as require_valid,
        violations as violations,
    )
    from syncoll.version import __version__ as __version__
else:
    displayed_by("syncoll.reporting.displays")
    __getattr__ = lazily(__name__)

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
