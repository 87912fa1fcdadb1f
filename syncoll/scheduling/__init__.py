"""From trees to steps: what a seed that packs trees needs to become an algorithm.

`schedule_trees` deals a collective's chunks to trees, cuts the shares into segments, and says which
send goes in which step.  In reading order:

- ``trees``: a tree, as seeds hand it over.
- ``link_sets``: the bandwidth relation as arrays.
- ``streams``: the chunks that go down a tree together, as arrays over all edges of all trees.
- ``packing``: deals chunks to trees: the streams of a C.
- ``plan``: how many chunks of a stream take an edge in a step.
- ``windows``: lower bounds on R, and the round budgets that respect them.
- ``list_scheduler``: a plan for given budgets and priorities, fast at any size.
- ``step_program``: the plan of the fewest rounds, by integer programming, at moderate size.
- ``assignment``: chooses between the two, and what to try.
- ``schedule``: which S and which numbers of segments are tried; plans become algorithms.
"""

from syncoll.scheduling.schedule import (
    MOST_SENDS,
    SEGMENTS,
    Scheduled,
    ScheduleLimits,
    schedule_trees,
)
from syncoll.scheduling.trees import StepTree

__all__ = ["MOST_SENDS", "SEGMENTS", "ScheduleLimits", "Scheduled", "StepTree", "schedule_trees"]
