"""Programs of thread blocks, and an abstract machine that executes them as a runtime would.

The files of exporters and of other tools are straight-line programs for every thread block of every
rank.  A checker of a format reads them into a `Program`; the machine checks that it ends, is free
of races, and computes the result of a collective.

::

    Program --require_matched, schedule--> Schedule --require_race_free--> --contents--> Contents
                                                        Specification --require_fulfilled--> ok
"""

from syncoll_threadblocks.contents import *
from syncoll_threadblocks.execute import *
from syncoll_threadblocks.program import *
from syncoll_threadblocks.races import *
from syncoll_threadblocks.schedule import *
from syncoll_threadblocks.sends import *
from syncoll_threadblocks.specification import *
