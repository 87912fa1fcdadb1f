"""A recommendation, as it is printed; written, never read."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.plan import ChosenRecord, ExportsRecord, MessageRecord, RuntimeRecord
from syncoll.documents.record import ClosedRecord, Nodes, Seconds

MessageSize = Annotated[int, Meta(ge=1)]


class RecommendedRecord(ChosenRecord, frozen=True):
    """The fastest algorithm for a message, of the frontier and the classics.

    Args:
        is_classic: whether it is a classic that no algorithm of the frontier beats.
        classic: the fastest classic that fits the message; null without one.
        speedup: the time of this classic over its own.
        floor: seconds, a lower bound for every algorithm; null if unknown.
        gap: its time over the lower bound.
    """

    message_bytes: MessageSize
    is_classic: bool
    seconds: Seconds
    algbw: Seconds | None
    classic: str | None
    speedup: Seconds | None
    floor: Seconds | None
    gap: Seconds | None


class VariantRecord(ClosedRecord, frozen=True):
    """A variant of the machine with a better lower bound.

    Args:
        argument: that is added, such as nvls=true.
        message_bytes: the message for which the bound falls most.
        floor_here: seconds, the lower bound of the machine itself.
        floor: seconds, the lower bound of the variant.
    """

    argument: str
    topology: str
    message_bytes: MessageSize
    floor_here: Seconds
    floor: Seconds


class RecommendationRecord(ClosedRecord, frozen=True):
    """The fastest known algorithms of a collective on a machine.

    Args:
        optimal_classic: a classic whose times are proved optimal for all these messages, or null.
        variants: of the machine that may be faster.
        interrupted: whether Ctrl-C ended the search.
        exports: of a recommendation that was exported.
        runtime: whose costs count; left out for none.
        association: of all recommended algorithms, in words, if sums are reproducible.
    """

    schema: Literal["syncoll/recommendation/1"]
    version: str
    topology: str
    collective: str
    nodes: Nodes
    message: MessageRecord
    recommended: tuple[RecommendedRecord, ...]
    optimal_classic: str | None
    variants: tuple[VariantRecord, ...]
    interrupted: bool
    exports: ExportsRecord | UnsetType = UNSET
    runtime: RuntimeRecord | UnsetType = UNSET
    association: str | UnsetType = UNSET
