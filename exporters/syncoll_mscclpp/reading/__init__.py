"""Reads execution plans as the runtime does, independently of the writer.

::

    bytes --read_plan--> ExecutionPlan --require_loadable--> --threads_of--> PlanThreads
          --require_ordered--> ok
"""

from syncoll_mscclpp.reading.grid import *
from syncoll_mscclpp.reading.ordering import *
from syncoll_mscclpp.reading.plan import *
from syncoll_mscclpp.reading.rules import *
from syncoll_mscclpp.reading.threads import *
