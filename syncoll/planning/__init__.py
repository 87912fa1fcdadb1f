"""Which algorithm of a frontier for which message size, as a table, a plot and a set of exports.

::

    from syncoll.planning import CostModel, parse_bandwidth, parse_time, plan_sizes

    model = CostModel(parse_time("0.7us"), parse_bandwidth("25GB/s"))
    plan = plan_sizes(read_file(Path("frontier.json")).algorithms, model)
    plan.best(1 << 20)              # the algorithm for a mebibyte on every node
    for one in plan.ranges:         # .low .high (of L, exact), .message_range(plan.message)
        ...                         # .algorithm .steps .bandwidth

`plan_document` makes JSON of it, `draw` a picture (with matplotlib), `export_plan` what a runtime
loads: an export for each algorithm, with size ranges that touch.
"""

from syncoll.planning.cost import CostModel, unit_bandwidth
from syncoll.planning.document import ends, exports_document, plan_document
from syncoll.planning.exports import PlannedExports, export_plan
from syncoll.planning.folder import require_new_folder, write_new_folder
from syncoll.planning.frontier_plot import draw_frontier
from syncoll.planning.message import MessageMeasure, message_of
from syncoll.planning.picture import Picture, picture_format
from syncoll.planning.plan import NeverBest, Plan, SizeRange, plan_sizes
from syncoll.planning.plot import draw
from syncoll.units import (
    format_bandwidth,
    format_size,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_time,
)

__all__ = [
    "CostModel",
    "MessageMeasure",
    "NeverBest",
    "Picture",
    "Plan",
    "PlannedExports",
    "SizeRange",
    "draw",
    "draw_frontier",
    "ends",
    "export_plan",
    "exports_document",
    "format_bandwidth",
    "format_size",
    "format_time",
    "message_of",
    "parse_bandwidth",
    "parse_size",
    "parse_time",
    "picture_format",
    "plan_document",
    "plan_sizes",
    "require_new_folder",
    "unit_bandwidth",
    "write_new_folder",
]
