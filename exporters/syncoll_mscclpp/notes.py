"""Notes for the user of a plan."""

from collections.abc import Iterator

from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind
from syncoll_mscclpp.program import PlanProgram
from syncoll_mscclpp.sizes import Sizes

_MOST_SHOWN = 8
"""Most ranks whose buffers a note lists."""


def notes_on(request: ExportRequest, program: PlanProgram, sizes: Sizes) -> Iterator[str]:
    """The notes for the user on sizes, buffers and channels."""
    cut, collective = program.places.cut, program.places.layout.collective
    kinds = {kind for one in program.ranks for kind in one.peers}
    if collective.kind is Kind.CUSTOM:
        yield from _own_buffers(sizes)
    else:
        least = f"of at least {sizes.smallest} bytes " if cut.most_slices > 1 else ""
        yield (
            f"for messages {least}whose size is a multiple of "
            f"{sizes.measured * sizes.alignment} bytes; the runtime refuses others"
        )
    if cut.longer > 0:
        yield (
            f"chunks are joined to {cut.share} of different weights, which takes "
            f"{max(cut.longer, 0.001):.1%} longer than R"
        )
    if sizes.capped:
        yield (
            f"for messages of at most {sizes.largest} bytes; beyond, the runtime's offsets of 32 "
            "bits do not reach the end of a buffer"
        )
    if request.instance.combining:
        yield "the runtime always adds and ignores the caller's operator"
    if collective.root is not None:
        yield (
            f"the root is rank {collective.root}; every rank passes both buffers, of "
            f"{sizes.buffers[0][0]} and {sizes.buffers[0][1]} chunks, and unneeded chunks stay "
            "untouched"
        )
    if "port" in kinds:
        yield (
            "buffers must begin at the beginning of their allocations, since a proxy reads from "
            "there"
        )
    else:
        yield "all ranks must pass buffers at the same offset within their allocations"
    if {"memory", "port"} <= kinds:
        yield "by memory channels within a box, and by port channels over a network"
    if program.switches:
        yield (
            "by switch channels, which need GPUs around NVSwitches with NVLink SHARP, and buffers "
            "that the runtime can bind to multicast groups"
        )


def _own_buffers(sizes: Sizes) -> Iterator[str]:
    """The buffers that each rank passes to a collective without a name."""
    yield (
        "a rank's input holds the chunks that start there, and its output the chunks that must "
        "end there, in the order of their numbers"
    )
    alike = len(set(sizes.buffers)) == 1
    shown = [
        f"{a} and {b}" if alike else f"{a} and {b} (rank {rank})"
        for rank, (a, b) in enumerate(sizes.buffers[: 1 if alike else _MOST_SHOWN])
    ]
    if not alike and len(sizes.buffers) > len(shown):
        shown.append("… (as input_chunks and output_chunks of the file say)")
    yield (
        f"a chunk has the same size at all ranks, a multiple of {sizes.alignment} bytes; input and "
        f"output have {', '.join(shown)} chunks{' at each rank' if alike else ''}"
    )
    if sizes.padded:
        yield "a rank without input, or without output, passes a buffer of one untouched chunk"
    if len({one[0] for one in sizes.buffers}) > 1:
        yield (
            "every rank compares the bytes of its own input with the smallest and the largest "
            "message, so that a call out of that range is refused by some ranks only: keep to "
            f"chunks whose largest input, {sizes.measured} chunks, is in it"
        )
