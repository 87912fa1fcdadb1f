"""Allreduce by switches that copy and add up: wave after wave of sums and of copies of them.

Sums of some chunks come to their nodes while the results of those before them are copied to all:
the first fill the cables towards the switch, the others the cables back.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="inswitch",
    summary="allreduce in switches that copy and add up, wave after wave",
    load="syncoll_inswitch.seed:InSwitchSeed",
    options=(
        Option("steps", 12, "members of up to so many steps become points", low=1),
        Option(
            "head",
            "yes",
            "a chunk more in the first step, copied by every node, where there is room for it",
            choices=("yes", "no"),
        ),
    ),
    fits="syncoll_inswitch.seed:fits",
    first_seconds=0.05,
    weight=6.0,
    resumes=True,
    counts_copies=True,
)
RECORDS = (RECORD,)
