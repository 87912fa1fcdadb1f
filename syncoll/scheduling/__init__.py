"""From trees to steps: turns the packed trees of a seed into an algorithm.

`schedule_trees` deals a collective's chunks to trees, cuts the shares into segments, and assigns
sends to steps.  In reading order: ``arborescence``, ``link_sets``, ``streams``, ``packing``,
``windows``, ``list_scheduler``, ``step_program``, ``step_shares``, ``timetable``, ``assignment``,
``schedule``, ``waves``.
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
