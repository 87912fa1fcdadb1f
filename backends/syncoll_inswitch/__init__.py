"""Allreduce by switches that copy and reduce: waves of sums and of copies of them.

While the sums of one wave arrive at their nodes, the results of the wave before are copied to all
nodes: the former fill the cables towards the switch, the latter the cables back.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="inswitch",
    summary="allreduce in switches that copy and reduce, in waves of chunks",
    load="syncoll_inswitch.seed:InSwitchSeed",
    options=(
        Option("steps", 12, "most steps of a member that becomes a point", low=1),
        Option(
            "head",
            "yes",
            "one more chunk in the first step, copied by every node, if it fits",
            choices=("yes", "no"),
        ),
    ),
    fits="syncoll_inswitch.seed:InSwitchSeed.fits",
    first_seconds=0.05,
    weight=6.0,
    resumes=True,
    counts_copies=True,
)
