"""Reads MSCCL XML as the runtimes do, independently of the writer.

::

    bytes --scanner--> tags --algorithm--> numbers --rules--> loadable --threads--> a program
"""

from syncoll_msccl_xml.reading.algorithm import *
from syncoll_msccl_xml.reading.rules import *
from syncoll_msccl_xml.reading.threads import *
