"""The record of the step encoding."""

from syncoll.plugins import EncodingRecord, Option

RECORD = EncodingRecord(
    name="step",
    summary="one Boolean per send and step, pruned by distance",
    load="syncoll_step.encoding:StepEncoding",
    rank=20,
    counts_copies=True,
    options=(
        Option(
            "symmetry",
            "none",
            "arrival: interchangeable chunks arrive at one node in order",
            choices=("none", "arrival"),
        ),
    ),
)
RECORDS = (RECORD,)
