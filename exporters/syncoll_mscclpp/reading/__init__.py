"""Reading execution plans as the runtime does: its own parser, shared with no writer.

::

    bytes --read_plan--> Plan --require_loadable--> --threads_of--> Threads --require_ordered--> ok
"""

from syncoll_mscclpp.reading.ordering import require_ordered
from syncoll_mscclpp.reading.plan import ExecutionPlan, read_plan
from syncoll_mscclpp.reading.rules import (
    links_of,
    require_loadable,
    require_sizes,
    specification_of,
    units_of,
    within_boxes_of,
)
from syncoll_mscclpp.reading.threads import PlanThreads, threads_of

__all__ = [
    "ExecutionPlan",
    "PlanThreads",
    "links_of",
    "read_plan",
    "require_loadable",
    "require_ordered",
    "require_sizes",
    "specification_of",
    "threads_of",
    "units_of",
    "within_boxes_of",
]
