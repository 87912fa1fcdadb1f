"""Cuts: the ways to cut an algorithm's data for the runtime, and the first whose program fits."""

from collections.abc import Callable, Iterable, Iterator

from syncoll.errors import ExportError
from syncoll.runtime import Kind, StandardCollective, Streams, streams_of
from syncoll.runtime.places import Cut, by_slices, by_weight
from syncoll.wording import counted
from syncoll_mscclpp import SMALL
from syncoll_mscclpp.blocks import Division
from syncoll_mscclpp.limits import MOST_FILE, MOST_OPERATIONS
from syncoll_mscclpp.program import CLOSE, PlanProgram

_AT_MOST = 0.05
"""The largest increase of R/C, for a file that would be too large otherwise."""

_MOST_SLICES = 64
"""The most slices of a chunk that the checker follows."""

_OPERATION_BYTES = 120
"""About the bytes of an operation in the file."""


def cuts_of_more(streams: Streams, most: int, alignment: int) -> Iterator[Cut]:
    """Cuts with several parts of each stream, if the streams are fewer than thread blocks."""
    times = most // len(streams.sizes)
    while times > 1 and streams.collective.kind is not Kind.CUSTOM:
        more = streams.repeated([times] * len(streams.sizes))
        least = Division.before(more, most).least_operations(more)
        if least.max() * _OPERATION_BYTES <= MOST_FILE:
            yield from cuts_of(more, alignment, times)
            return
        times //= 2


def first_that_fits(cuts: Iterable[Cut], program: Callable[[Cut], PlanProgram]) -> PlanProgram:
    """The program of the first cut whose file and scratch are not too large, or else the fastest.
    Raises the error of the last cut if none fits."""
    found: list[PlanProgram] = []
    refused: ExportError | None = None
    for cut in cuts:
        try:
            found.append(program(cut))
        except ExportError as error:
            refused = error
            continue
        if found[-1].size <= MOST_FILE and not _wasteful(found[-1]):
            return found[-1]
    if not found:
        assert refused is not None
        raise refused
    return min(found, key=lambda one: (_wasteful(one), one.places.cut.longer, one.size))


def _wasteful(program: PlanProgram) -> bool:
    """Whether slices leave more than a message of scratch idle that chunks by weight would not."""
    collective = program.places.cut.streams.collective
    return _two_to_k(collective) and program.places.idle > collective.blocks


def _two_to_k(collective: StandardCollective) -> bool:
    """Whether the number of ranks is a power of two."""
    return collective.num_nodes & (collective.num_nodes - 1) == 0


def cuts_of(streams: Streams, alignment: int, least: int = 1) -> Iterator[Cut]:
    """The ways to cut the data, the best first: exact ones that take every usual size.

    With 2^k ranks chunks by weight do, with others only slices.  Blocks have at least
    `least` chunks or slices.
    """
    collective = streams.collective
    if collective.kind is Kind.CUSTOM:
        yield by_weight(streams, 1)
        return
    most = max(1, SMALL // alignment // collective.blocks)
    weighted = by_weight(streams, most, least)
    if not (weighted.consistent and by_slices(streams).consistent):
        yield from cuts_of(streams_of(streams.whole, apart=True), alignment)
        return
    first = _two_to_k(collective) and not weighted.longer
    if first:
        yield weighted
    sliced = by_slices(streams)
    if sliced.most_slices <= _MOST_SLICES:
        yield sliced
    if not first:
        yield weighted
    coarse = by_weight(streams, most, least, _AT_MOST)
    if len(coarse.weights) < len(weighted.weights):
        yield coarse


def require_room(streams: Streams, most: int) -> None:
    """Raises ExportError if the thread blocks of a rank cannot have all its operations."""
    groups = Division.before(streams, most)
    least = groups.least_operations(streams)
    room = most * MOST_OPERATIONS
    if least.max() > CLOSE * room:
        raise ExportError(
            f"rank {int(least.argmax())} needs about {int(least.max())} operations, and "
            f"{counted(most, 'thread block')} of MSCCL++ have at most {room}; take an algorithm "
            "with fewer chunks or steps, or allow more blocks"
        )
