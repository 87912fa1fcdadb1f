"""Ends: the source and destination that the two ends of a message state.

No runtime compares them: each rank reads its own part of a file, and of that only the slots that a
step uses.  So a file in which they differ runs.  But msccl-tools writes the same on both ends, and
other verifiers refuse a file in which they differ, or in which an ``rcs``, which stores a chunk and
sends it on from there, has a source that is not its destination.
"""

from __future__ import annotations

from collections import defaultdict

from syncoll.errors import VerificationError
from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, XmlStep, place
from syncoll_msccl_xml.reading.rules import RECEIVES, SENDS

__all__ = ["disagreements"]


def disagreements(algorithm: XmlAlgorithm) -> tuple[int, VerificationError | None]:
    """The number of messages whose ends differ, and the first of them in words.

    All messages of the file are received in the order of their sends.
    """
    sends: defaultdict[tuple[int, int, int], list[tuple[str, XmlStep]]] = defaultdict(list)
    receives: defaultdict[tuple[int, int, int], list[tuple[str, XmlStep]]] = defaultdict(list)
    first: VerificationError | None = None
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            for position, step in enumerate(block.steps):
                here = place(gpu.id, block, position)
                if step.type in SENDS:
                    sends[gpu.id, block.send, block.chan].append((here, step))
                if step.type in RECEIVES:
                    receives[block.recv, gpu.id, block.chan].append((here, step))
                if step.type == "rcs" and _pair(step)[:2] != _pair(step)[2:] and first is None:
                    first = VerificationError(
                        f"{here}: it sends on what it stores in {step.dstbuf}[{step.dstoff}], and "
                        f"says that it comes from {step.srcbuf}[{step.srcoff}]"
                    )
    number = int(first is not None)
    for connection, sent in sends.items():
        for (there, one), (here, other) in zip(sent, receives[connection], strict=False):
            if _pair(one) == _pair(other):
                continue
            number += 1
            first = first or VerificationError(
                f"{here}: it receives a message {_words(other)}, and {there} sends it {_words(one)}"
            )
    return number, first


def _pair(step: XmlStep) -> tuple[str, int, str, int]:
    return step.srcbuf, step.srcoff, step.dstbuf, step.dstoff


def _words(step: XmlStep) -> str:
    return f"from {step.srcbuf}[{step.srcoff}] to {step.dstbuf}[{step.dstoff}]"
