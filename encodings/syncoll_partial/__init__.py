"""The record of the partial encoding."""

from syncoll.plugins import EncodingRecord

RECORD = EncodingRecord(
    name="partial",
    summary="which contributions each partial result holds, for combining collectives",
    load="syncoll_partial.encoding:PartialEncoding",
    rank=20,
    combining=True,
    counts_copies=True,
)
