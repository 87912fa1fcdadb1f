"""From trees to steps: turns the packed trees of a seed into an algorithm.

`schedule_trees` deals a collective's chunks to trees, cuts the shares into segments, and assigns
sends to steps.  In reading order:

- ``arborescence``: cheapest trees, which such seeds look for.
- ``link_sets``: the bandwidth relation as arrays.
- ``streams``: the chunks that go down a tree together, as arrays over all edges of all trees;
  plans, the number of chunks that take an edge in a step.
- ``packing``: trees, as seeds hand them over, and the streams of a C that are dealt to them.
- ``windows``: lower bounds on R, and the round budgets that respect them.
- ``list_scheduler``: a plan for given budgets and priorities, fast at any size.
- ``step_program``: the plan of the fewest rounds, by integer programming, at moderate size.
- ``step_shares``: the share of each kind of sends in each step, by a linear program.
- ``timetable``: a plan for paths, fast for very many, and better times for each where they are too
  different.
- ``assignment``: chooses between the two, and their budgets and priorities.
- ``schedule``: chooses S and the numbers of segments; plans become algorithms.
- ``waves``: starts the same again in every step, for every number of times.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.scheduling.packing import StepTree as StepTree
    from syncoll.scheduling.schedule import *
    from syncoll.scheduling.streams import StreamClass as StreamClass, Streams as Streams
    from syncoll.scheduling.waves import *
else:
    __getattr__ = lazily(__name__)
