"""NCCL graph files: the rings and trees of a communicator (``NCCL_GRAPH_FILE``).

NCCL writes its own with ``NCCL_GRAPH_DUMP_FILE``, and takes any that it reads.  A channel has the
GPUs of one host in order; all hosts have the same.  Graph 0 has rings (pattern 4): the last GPU of
a host sends to the first one of the next host.  Graph 1 has trees (patterns 1, 2 and 3): a chain of
the GPUs of a host, and NCCL's double binary tree of hosts between chains.
"""

import re

from syncoll.plugins import ExporterRecord

_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<graphs[\s>]", re.DOTALL
)

RECORD = ExporterRecord(
    name="nccl-graph",
    summary="rings or trees for NCCL, by NCCL_GRAPH_FILE",
    load="syncoll_nccl_graph.writer:NcclGraphExporter",
    load_checker="syncoll_nccl_graph.reading:NcclGraphChecker",
    recognises=lambda _path, head: _START.match(head) is not None,
    replayed=True,
)
