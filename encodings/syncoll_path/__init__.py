"""The record of the path encoding."""

from syncoll.plugins import ORDERED_CHUNKS, EncodingRecord

RECORD = EncodingRecord(
    name="path",
    summary="arrival times and chosen links: C1 to C6 of the SCCL paper",
    load="syncoll_path.encoding:PathEncoding",
    rank=10,
    options=(ORDERED_CHUNKS,),
)
