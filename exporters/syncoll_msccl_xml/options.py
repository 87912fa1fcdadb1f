"""The options of MSCCL XML."""

from syncoll.plugins import Option

__all__ = ["DIALECTS", "ENDS", "OPTIONS", "PROTOCOLS"]

DIALECTS = ("msccl", "executor", "rccl")
"""Of microsoft/msccl, of Azure's msccl-executor-nccl, and of RCCL."""

PROTOCOLS = ("Simple", "LL", "LL128")

ENDS = ("same", "own")

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
        choices=ENDS,
    ),
)
