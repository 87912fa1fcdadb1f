"""Programs of thread blocks, and an abstract machine that executes them as a runtime would.

What exporters write, and what other tools wrote, is a straight-line program for every thread block
of every rank.  A checker of a format reads it into a `Program` and asks the machine whether it
ends, is free of races, and does what a collective promises.

::

    Program --require_matched, schedule--> Schedule --require_race_free--> --contents--> Contents
                                                        Specification --require_fulfilled--> ok
"""

from syncoll_threadblocks.contents import Contents, Value, contents, describe_value
from syncoll_threadblocks.execute import Promise, execute
from syncoll_threadblocks.matching import require_matched
from syncoll_threadblocks.own import OwnSpecification
from syncoll_threadblocks.program import (
    AddressSpace,
    Instruction,
    Program,
    ProgramBuffer,
    Thread,
    ThreadConnection,
)
from syncoll_threadblocks.races import require_race_free
from syncoll_threadblocks.schedule import Schedule, schedule
from syncoll_threadblocks.specification import STANDARD, Specification, find_root

__all__ = [
    "STANDARD",
    "AddressSpace",
    "Contents",
    "Instruction",
    "OwnSpecification",
    "Program",
    "ProgramBuffer",
    "Promise",
    "Schedule",
    "Specification",
    "Thread",
    "ThreadConnection",
    "Value",
    "contents",
    "describe_value",
    "execute",
    "find_root",
    "require_matched",
    "require_race_free",
    "schedule",
]
