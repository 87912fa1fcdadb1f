"""Reading execution plans as the runtime does: its own parser, shared with no writer.

::

    bytes --read_plan--> ExecutionPlan --require_loadable--> --threads_of--> PlanThreads
          --require_ordered--> ok
"""

from syncoll_mscclpp.reading.ordering import *
from syncoll_mscclpp.reading.plan import *
from syncoll_mscclpp.reading.rules import *
from syncoll_mscclpp.reading.threads import *
