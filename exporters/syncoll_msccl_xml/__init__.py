"""MSCCL XML: algorithms for microsoft/msccl, Azure's msccl-executor-nccl and RCCL.

The writer is in `syncoll_msccl_xml.writer`, the checker, which shares no code with it, in
`syncoll_msccl_xml.checker`.
"""

import re

from syncoll.plugins import ExporterRecord, Option

DIALECTS = ("msccl", "executor", "rccl")
"""Of microsoft/msccl, of Azure's msccl-executor-nccl, and of RCCL."""

PROTOCOLS = ("Simple", "LL", "LL128")

OPTIONS = (
    Option(
        "dialect",
        "msccl",
        "runtime of the file: microsoft/msccl, msccl-executor-nccl or RCCL",
        choices=DIALECTS,
        flag=True,
    ),
    Option("proto", "Simple", "NCCL's protocol", choices=PROTOCOLS, flag=True, writing=True),
    Option(
        "instances",
        1,
        "parts of each chunk, each on channels of its own",
        low=1,
        high=128,
        flag=True,
        writing=True,
    ),
    Option(
        "group",
        -1,
        "for a collective within groups of nodes: number of the group, from 0, whose communicator "
        "uses the file; -1 for none",
        low=-1,
        writing=True,
    ),
    Option(
        "ends",
        "same",
        "slots stated at both ends of a message: same, as msccl-tools and verifiers expect; own, "
        "only the slots that an end uses, which fuses more steps",
        choices=("same", "own"),
    ),
)

# A comment cannot contain its own end: with `.*?` instead, many comments would take forever.
_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<algo[\s>/]", re.DOTALL
)


RECORD = ExporterRecord(
    name="msccl-xml",
    summary="MSCCL XML, for microsoft/msccl, msccl-executor-nccl and RCCL",
    load="syncoll_msccl_xml.writer:MscclXmlExporter",
    load_checker="syncoll_msccl_xml.checker:MscclXmlChecker",
    options=OPTIONS,
    counts="syncoll_msccl_xml.writer:counts_of",
    # Accepts first lines that the runtimes refuse, so that the checker can report them.
    recognises=lambda _path, head: _START.match(head) is not None,
)
