"""How large a message is: the bytes by which runtimes choose an algorithm and count its bandwidth.

The cost model speaks of L, the data of one node, of which there are C chunks.  nccl-tests and the
runtimes measure a collective by a buffer that may be larger: an allgather's by its output, which
has the inputs of all P nodes.  The two differ by a factor, which pre and post say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from syncoll.model import Instance
from syncoll.runtime import Kind, StandardCollective, kind_of

__all__ = ["MessageMeasure", "message_of"]

_WORDS = {
    Kind.ALLGATHER: "the output of one node",
    Kind.REDUCESCATTER: "the input of one node",
    Kind.ALLREDUCE: "the buffer of one node",
    Kind.ALLTOALL: "the input of one node",
    Kind.BROADCAST: "the root's buffer",
    Kind.REDUCE: "the buffer of one node",
    Kind.GATHER: "the output of the root",
    Kind.SCATTER: "the input of the root",
}


@dataclass(frozen=True)
class MessageMeasure:
    """What a collective's message is.

    Args:
        kind: which collective it is.
        per_node: bytes of a message for each byte of L, the data of one node.
        words: which buffer it is.
        measured: whether runtimes know of it; else the size is L itself, and size ranges cannot be
            told to a runtime.
    """

    kind: Kind
    per_node: Fraction
    words: str
    measured: bool = True


def message_of(instances: Iterable[Instance]) -> MessageMeasure:
    """The message of a collective, of which there are algorithms for these instances.

    Of a collective that runtimes do not know it is the input of a node, where all have one of the
    same size.
    """
    found = [(kind_of(instance), instance) for instance in instances]
    kinds = {collective.kind for collective, _ in found}
    factors = {_factor(collective, instance) for collective, instance in found}
    if len(kinds) == 1 and len(factors) == 1:
        (kind,), (factor,) = kinds, factors
        if factor is not None:
            return MessageMeasure(kind, factor, _WORDS.get(kind, "the input of one node"))
    return MessageMeasure(Kind.CUSTOM, Fraction(1), "the data of one node", measured=False)


def _factor(collective: StandardCollective, instance: Instance) -> Fraction | None:
    if collective.kind is not Kind.CUSTOM:
        return Fraction(collective.loop_chunks, instance.chunks)
    inputs = instance.pre.sum(axis=0)
    if inputs[0] and (inputs == inputs[0]).all():
        return Fraction(int(inputs[0]), instance.chunks)
    return None
