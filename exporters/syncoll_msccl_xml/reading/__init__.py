"""Reading MSCCL XML as the runtimes do: for the checker alone, the writer has no part in it.

::

    bytes --scanner--> tags --algorithm--> numbers --rules--> what loads --threads--> a program
"""

from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, read_algorithm
from syncoll_msccl_xml.reading.ends import disagreements
from syncoll_msccl_xml.reading.rules import SENDS, require_loadable, specification_of
from syncoll_msccl_xml.reading.threads import XmlThreads, threads_of

__all__ = [
    "SENDS",
    "XmlAlgorithm",
    "XmlThreads",
    "disagreements",
    "read_algorithm",
    "require_loadable",
    "specification_of",
    "threads_of",
]
