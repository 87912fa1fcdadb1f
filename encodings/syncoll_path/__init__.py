"""The record of the path encoding."""

from syncoll.plugins import EncodingRecord, Option

RECORD = EncodingRecord(
    name="path",
    summary="arrival times and chosen links: C1 to C6 of the SCCL paper",
    load="syncoll_path.encoding:PathEncoding",
    rank=10,
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
