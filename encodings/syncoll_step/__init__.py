"""The record of the step encoding."""

from syncoll.plugins import ORDERED_CHUNKS, EncodingRecord

RECORD = EncodingRecord(
    name="step",
    summary="one Boolean per send and step, pruned by distance",
    load="syncoll_step.encoding:StepEncoding",
    rank=20,
    counts_copies=True,
    options=(ORDERED_CHUNKS,),
)
