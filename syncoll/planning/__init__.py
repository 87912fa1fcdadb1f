"""The best algorithm of a frontier for each message size, as a table, a plot and a set of exports.

::

    from syncoll.planning import CostModel, plan_sizes
    from syncoll.units import parse_bandwidth, parse_time

    model = CostModel(parse_time("0.7us"), parse_bandwidth("25GB/s"))
    plan = plan_sizes(read_file(Path("frontier.json")).algorithms, model)
    plan.best(1 << 20)              # the algorithm for a message of a mebibyte
    for one in plan.ranges:         # .low .high (exact), .message_bytes (whole bytes)
        ...                         # .algorithm .steps .bandwidth

Here steps are in lockstep; `plan_sizes(algorithms, model, simulated)` compares simulated times.

`plan_document` makes JSON of a plan, `draw` a picture (with matplotlib), `export_plan` files for
runtimes: an export for each algorithm, with size ranges that touch.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.planning.associations import *
    from syncoll.planning.crossings import *
    from syncoll.planning.exports import *
    from syncoll.planning.members import *
    from syncoll.planning.plan import *
    from syncoll.planning.plot import *
else:
    __getattr__ = lazily(__name__)
