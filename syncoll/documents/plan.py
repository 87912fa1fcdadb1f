"""A plan, as it is printed and written next to exported files."""

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.record import ClosedRecord, Count, Exact, Nodes, RoundsEntry, Seconds

MessageBytes = tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=1)] | None]
_MESSAGES = "allgather reducescatter allreduce alltoall broadcast reduce gather scatter custom"


class RuntimeRecord(ClosedRecord, frozen=True):
    """A library that runs algorithms, and its costs.

    Args:
        source: of its numbers.
        error: the median of abs(time / measured time - 1); null if unknown.
        basis: the measurements of that error.
        protocols: each message goes by the fastest.
    """

    name: str
    source: str
    error: Seconds | None
    basis: str
    protocols: tuple[str, ...]


class ModelRecord(ClosedRecord, frozen=True):
    """How algorithms are timed; exact numbers are rationals as text, such as 7/10000000 or 52500.

    Args:
        timing: asynchronous: simulated, as `syncoll simulate` does; lockstep: overhead + S alpha +
            (R/C) L beta.
        alpha: latency of a send, in lockstep of a step, in seconds.
        alpha_from: file: the greatest of the topology's latencies.
        bandwidth: 1/beta: bytes per second of a link that carries one chunk per round.
        bandwidth_from: file: of the topology's units.
        overhead: seconds a call.
        runtime: whose costs count, in addition; left out for none.
    """

    timing: Literal["asynchronous", "lockstep"]
    alpha: Exact
    alpha_from: Literal["command", "file"]
    bandwidth: Exact
    bandwidth_from: Literal["command", "file"]
    overhead: Exact
    runtime: RuntimeRecord | UnsetType = UNSET


class MessageRecord(ClosedRecord, frozen=True):
    """The meaning of the size of a message in runtimes and nccl-tests.

    Args:
        measured: whether one size exists by which runtimes could choose.
        per_node: bytes of a message for each byte of L, one node's data or one unit of sizes.
        words: the buffer that has that size.
    """

    kind: Annotated[str, Meta(extra_json_schema={"enum": _MESSAGES.split()})]
    measured: bool
    per_node: Exact
    words: str


class ChosenRecord(ClosedRecord, frozen=True):
    """An algorithm of the frontier.

    Args:
        where: the algorithm's place in the frontier's file.
    """

    where: str
    steps: Count
    rounds: RoundsEntry
    chunks: Count
    bandwidth: Fraction


class EndRecord(ClosedRecord, frozen=True):
    """The cost at one size.

    Args:
        message: bytes; null for no end.
        algbw: bytes of the message over seconds; where message is null the limit.
    """

    message: Exact | None
    seconds: Seconds | None
    algbw: Seconds | None


class RangeRecord(ChosenRecord, frozen=True):
    """The fastest algorithm for a range of messages.

    Args:
        message_from: bytes of the least message.
        message_below: bytes of the next range's least message; null for no end.
        message_bytes: the smallest and the largest message, both included; null as the largest: no
            end.  Null where the range holds no message of a whole number of bytes, or there is no
            one size.
        ends: at the least and the largest size; none where the range lies outside of messages.
    """

    message_from: Exact
    message_below: Exact | None
    message_bytes: MessageBytes | None
    ends: Annotated[tuple[EndRecord, ...], Meta(max_length=2)]


class NeverBestRecord(ChosenRecord, frozen=True):
    """An algorithm that is the fastest for no message.

    Args:
        below: the fastest for messages just below nearest_message.
        above: the fastest just above it.
        nearest_message: bytes where it comes nearest to the fastest; null as messages grow.
        slower: its time there over the fastest's.
    """

    below: str | None
    above: str | None
    nearest_message: Exact | None
    slower: Annotated[float, Meta(ge=1)] | None


class NeedsRecord(ClosedRecord, frozen=True):
    """The resources that an export needs of its runtime; null where the runtime has none such.

    Args:
        thread_blocks: of the rank that needs most.
        operations: of all thread blocks of a rank, at most.
        channels: of a rank, at most.
        semaphores: between thread blocks of a rank, at most.
        messages: sends of a rank, at most.
        scratch: bytes of scratch for each byte of the message, at most.
        multiple_of: a message is a multiple of it, in bytes.
        min_bytes: the smallest message that the runtime takes.
        max_bytes: the largest one; null for no limit.
    """

    thread_blocks: int | None
    operations: int | None
    channels: int | None
    semaphores: int | None
    messages: int | None
    scratch: float | None
    multiple_of: Annotated[int, Meta(ge=1)]
    min_bytes: Annotated[int, Meta(ge=0)]
    max_bytes: int | None


class ExportRecord(ChosenRecord, frozen=True):
    """Files for a range of messages.

    Args:
        files: names of files in the folder of the index.
        does: the collective that the checker found them to perform.
        notes: each begins with the name of its file.
        needs: of a format that counts; since version 4.
    """

    message_bytes: MessageBytes
    files: Annotated[tuple[str, ...], Meta(min_length=1)]
    format: str
    does: str
    facts: dict[str, int | str]
    notes: tuple[str, ...]
    needs: NeedsRecord | UnsetType = UNSET


class RefusedRecord(ChosenRecord, frozen=True):
    """An algorithm without files, and why."""

    reason: str


class ExportsRecord(ClosedRecord, frozen=True):
    """Files that were written, read back by the format's checker and executed.

    Args:
        to: the format.
        interrupted: whether Ctrl-C ended it before all were exported.
        algorithms: by size; the ranges of messages touch, unless it was interrupted.
        refused: algorithms that the format cannot express, that the runtime cannot carry, or that
            Ctrl-C left out.
    """

    to: str
    in_place: bool
    interrupted: bool
    algorithms: Annotated[tuple[ExportRecord, ...], Meta(min_length=1)]
    refused: tuple[RefusedRecord, ...]


class PlanRecord(ClosedRecord, frozen=True):
    """The fastest algorithm of a frontier for each size, and its cost.

    Args:
        messages: bytes of the least and the largest message for which ends are given; null for
            all.
        ranges: by size, from 0 to no end; each begins where the one before ends.  An algorithm may
            have several.
        never_best: algorithms that are the fastest for no range of messages.
        left_out: algorithms in whose place others of fewer chunks are planned, which take nearly as
            long.
        exports: of a plan that was exported.
        association: of all algorithms of the ranges, in words, if sums are reproducible.
    """

    schema: Literal["syncoll/plan/3", "syncoll/plan/4"]
    version: str
    topology: str
    collective: str
    nodes: Nodes
    model: ModelRecord
    message: MessageRecord
    messages: tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]] | None
    ranges: Annotated[tuple[RangeRecord, ...], Meta(min_length=1)]
    never_best: tuple[NeverBestRecord, ...]
    exports: ExportsRecord | UnsetType = UNSET
    association: str | UnsetType = UNSET
    left_out: tuple[str, ...] | UnsetType = UNSET
