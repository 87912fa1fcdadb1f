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

if TYPE_CHECKING:
    from syncoll.api import (
        Algorithm,
        BandwidthBound,
        BoundsResult,
        CheckedResult,
        Collective,
        ExecutionResult,
        ExportResult,
        Fabric,
        ForestsResult,
        Frontier,
        FrontierResult,
        Instance,
        Limits,
        Observer,
        PlanResult,
        PluginManager,
        Point,
        PointResult,
        SearchRequest,
        Session,
        Settings,
        Solution,
        SolutionResult,
        Solver,
        SpecLibrary,
        StoredResult,
        Strategy,
        SyncollError,
        Topology,
        Verdict,
        Violation,
        bounds,
        check,
        check_spec,
        collective,
        discover,
        explain,
        export,
        fabric,
        file_schema,
        forest,
        import_topology,
        inverse_of,
        list_specs,
        load,
        open_store,
        pareto,
        plan,
        read_file,
        require_valid,
        run,
        search,
        sequence_of,
        show,
        solve,
        topology,
        verify,
        violations,
    )
else:
    __getattr__ = lazily(
        __name__,
        {
            "api": "Algorithm BandwidthBound BoundsResult CheckedResult Collective "
            "ExecutionResult ExportResult Fabric ForestsResult Frontier FrontierResult "
            "Instance Limits Observer PlanResult PluginManager Point PointResult "
            "SearchRequest Session Settings Solution SolutionResult Solver SpecLibrary "
            "StoredResult Strategy SyncollError Topology Verdict Violation bounds check "
            "check_spec collective discover explain export fabric file_schema forest "
            "import_topology inverse_of list_specs load open_store pareto plan "
            "read_file require_valid run search sequence_of show solve topology verify "
            "violations",
        },
    )

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "BandwidthBound",
    "BoundsResult",
    "CheckedResult",
    "Collective",
    "ExecutionResult",
    "ExportResult",
    "Fabric",
    "ForestsResult",
    "Frontier",
    "FrontierResult",
    "Instance",
    "Limits",
    "Observer",
    "PlanResult",
    "PluginManager",
    "Point",
    "PointResult",
    "SearchRequest",
    "Session",
    "Settings",
    "Solution",
    "SolutionResult",
    "Solver",
    "SpecLibrary",
    "StoredResult",
    "Strategy",
    "SyncollError",
    "Topology",
    "Verdict",
    "Violation",
    "__version__",
    "bounds",
    "check",
    "check_spec",
    "collective",
    "discover",
    "explain",
    "export",
    "fabric",
    "file_schema",
    "forest",
    "import_topology",
    "inverse_of",
    "list_specs",
    "load",
    "open_store",
    "pareto",
    "plan",
    "read_file",
    "require_valid",
    "run",
    "search",
    "sequence_of",
    "show",
    "solve",
    "topology",
    "verify",
    "violations",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
