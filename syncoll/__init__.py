"""syncoll synthesises provably optimal collective communication algorithms.

::

    import syncoll

    frontier = syncoll.pareto("dgx1", "allgather", max_steps=4)
    frontier[0].export("mscclpp", "plan.json")

The functions are the commands of the shell, see `syncoll.verbs`.  A name is imported at its first
use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from syncoll.lazy import displayed_by, lazily

if TYPE_CHECKING:
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
    from syncoll.spec import SpecLibrary as SpecLibrary, layout_of as layout_of
    from syncoll.trust import (
        Violation as Violation,
        require_valid as require_valid,
        violations as violations,
    )
    from syncoll.verbs.bounds import bounds as bounds
    from syncoll.verbs.bounds.result import BoundsResult as BoundsResult
    from syncoll.verbs.calibrate import calibrate as calibrate
    from syncoll.verbs.calibrate.result import CalibrationResult as CalibrationResult
    from syncoll.verbs.ceiling import ceiling as ceiling
    from syncoll.verbs.ceiling.result import CeilingResult as CeilingResult
    from syncoll.verbs.check import check as check
    from syncoll.verbs.definitions import *
    from syncoll.verbs.design import design as design
    from syncoll.verbs.design.result import DesignResult as DesignResult
    from syncoll.verbs.explain import explain as explain
    from syncoll.verbs.explain.result import ExplanationResult as ExplanationResult
    from syncoll.verbs.export import export as export
    from syncoll.verbs.export.result import ExportResult as ExportResult
    from syncoll.verbs.forest import forest as forest, load_forest as load_forest
    from syncoll.verbs.forest.result import ForestsResult as ForestsResult
    from syncoll.verbs.frontier import *
    from syncoll.verbs.import_ import import_topology as import_topology
    from syncoll.verbs.pareto import pareto as pareto
    from syncoll.verbs.plan import plan as plan
    from syncoll.verbs.plan.result import PlanResult as PlanResult
    from syncoll.verbs.plugins import list_plugins as list_plugins
    from syncoll.verbs.recommend import recommend as recommend
    from syncoll.verbs.recommend.result import RecommendationResult as RecommendationResult
    from syncoll.verbs.repair import repair as repair, survey as survey
    from syncoll.verbs.repair.result import (
        RepairResult as RepairResult,
        SurveyResult as SurveyResult,
    )
    from syncoll.verbs.report import report as report
    from syncoll.verbs.report.result import ReportResult as ReportResult
    from syncoll.verbs.run import run as run
    from syncoll.verbs.run.result import ExecutionResult as ExecutionResult, MpiResult as MpiResult
    from syncoll.verbs.schema import file_schema as file_schema
    from syncoll.verbs.search import search as search
    from syncoll.verbs.show import show as show, symmetry_of as symmetry_of
    from syncoll.verbs.show.result import SymmetryResult as SymmetryResult
    from syncoll.verbs.simulate import simulate as simulate
    from syncoll.verbs.simulate.result import SimulationResult as SimulationResult
    from syncoll.verbs.solve import solve as solve
    from syncoll.verbs.solve.result import SolutionResult as SolutionResult
    from syncoll.verbs.spec.check import check_spec as check_spec
    from syncoll.verbs.spec.list import list_specs as list_specs
    from syncoll.verbs.store import open_store as open_store
    from syncoll.verbs.theorem import theorem as theorem
    from syncoll.verbs.theorem.result import TheoremResult as TheoremResult
    from syncoll.verbs.verify import verify as verify
    from syncoll.version import __version__ as __version__
else:
    displayed_by("syncoll.reporting.displays")
    _listed = lazily(__name__)

    def __getattr__(name):
        """A name of the list above, or the function of a verb in another folder."""
        try:
            return _listed(name)
        except AttributeError:
            from importlib.util import find_spec

            spec = None if name.startswith("_") else find_spec(f"{__name__}.verbs.{name}")
            if spec is None or spec.submodule_search_locations is None:
                raise
            return getattr(import_module(spec.name), name)

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
