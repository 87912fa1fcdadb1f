"""Programs of thread blocks, and an abstract machine that executes them as a runtime would.

What exporters write, and what other tools wrote, is a straight-line program for every thread block
of every rank.  A checker of a format reads it into a `Program` and asks the machine whether it
ends, is free of races, and does what a collective promises.

::

    Program --require_matched, schedule--> Schedule --require_race_free--> --contents--> Contents
                                                               Contract --require_fulfilled--> ok
"""

from syncoll.runtime.machine.contents import Contents, Value, contents, describe_value
from syncoll.runtime.machine.contract import STANDARD, Contract, contract, find_root
from syncoll.runtime.machine.execute import execute
from syncoll.runtime.machine.matching import require_matched
from syncoll.runtime.machine.program import (
    AddressSpace,
    Instruction,
    Program,
    ProgramBuffer,
    Thread,
    ThreadConnection,
)
from syncoll.runtime.machine.races import require_race_free
from syncoll.runtime.machine.schedule import Schedule, schedule

__all__ = [
    "STANDARD",
    "AddressSpace",
    "Contents",
    "Contract",
    "Instruction",
    "Program",
    "ProgramBuffer",
    "Schedule",
    "Thread",
    "ThreadConnection",
    "Value",
    "contents",
    "contract",
    "describe_value",
    "execute",
    "find_root",
    "require_matched",
    "require_race_free",
    "schedule",
]
