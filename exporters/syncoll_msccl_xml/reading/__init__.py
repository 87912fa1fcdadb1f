"""Reading MSCCL XML as the runtimes do: for the checker alone, the writer has no part in it.

::

    bytes --scanner--> tags --algorithm--> numbers --rules--> what loads --threads--> a program
"""

from syncoll_msccl_xml.reading.algorithm import *
from syncoll_msccl_xml.reading.ends import *
from syncoll_msccl_xml.reading.rules import *
from syncoll_msccl_xml.reading.threads import *
