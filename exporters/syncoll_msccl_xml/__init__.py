"""MSCCL XML: algorithms for microsoft/msccl, Azure's msccl-executor-nccl and RCCL.

The writer is in `syncoll_msccl_xml.writer`, the checker, which shares no code with it, in
`syncoll_msccl_xml.checker`.
"""

from __future__ import annotations

import re

from syncoll.plugins import ExporterRecord, Option

DIALECTS = ("msccl", "executor", "rccl")
"""Of microsoft/msccl, of Azure's msccl-executor-nccl, and of RCCL."""

PROTOCOLS = ("Simple", "LL", "LL128")

OPTIONS = (
    Option(
        "dialect",
        "msccl",
        "who reads the file: microsoft/msccl, msccl-executor-nccl or RCCL",
        choices=DIALECTS,
        flag=True,
    ),
    Option("proto", "Simple", "NCCL's protocol", choices=PROTOCOLS, flag=True, writing=True),
    Option(
        "instances",
        1,
        "into how many parts each chunk is split, each on channels of its own",
        low=1,
        high=128,
        flag=True,
        writing=True,
    ),
    Option(
        "group",
        -1,
        "of a collective within groups of nodes the group, by its number from 0, for whose own "
        "communicator the file is; -1 for none",
        low=-1,
        writing=True,
    ),
    Option(
        "ends",
        "same",
        "what the two ends of a message say of it: the same, as msccl-tools and verifiers have it; "
        "or own, what each uses itself, which lets more steps be fused",
        choices=("same", "own"),
    ),
)

# A comment cannot contain its own end: with `.*?` in its place, many comments would take for ever.
_START = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<algo[\s>/]", re.DOTALL
)


RECORD = ExporterRecord(
    name="msccl-xml",
    summary="MSCCL XML, for microsoft/msccl, msccl-executor-nccl and RCCL",
    load="syncoll_msccl_xml.writer:MscclXmlExporter",
    load_checker="syncoll_msccl_xml.checker:MscclXmlChecker",
    options=OPTIONS,
    # Also with a first line that the runtimes refuse, so that the checker can say so.
    recognises=lambda _path, head: _START.match(head) is not None,
)
RECORDS = (RECORD,)
