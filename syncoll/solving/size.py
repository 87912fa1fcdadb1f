"""How much memory deciding an instance takes, from what is known before its formula is built.

Measured on tori with the encodings and backends that come with syncoll: the builder's lists and the
formula's arrays take 40 to 75 bytes for each literal in this process, a lowering to clauses some
200 more, and a worker 200 to 800, the fewer the larger the formula is.
"""

from __future__ import annotations

from collections.abc import Mapping

from syncoll.memory import budget
from syncoll.model import Instance
from syncoll.plugins import Encoding, EstimatesSize, OptionValue

__all__ = ["formula_bytes", "require_room"]

_PER_LITERAL = 400
"""Bytes in this process and the worker together."""

_PER_CELL = 40
"""Bytes for each chunk and link: the windows of steps, in several arrays."""

_UNCHECKED_SENDS = 100_000
"""Chunks times links times steps that fit everywhere, and are not counted."""


def formula_bytes(instance: Instance, literals: int) -> int:
    """About how many bytes it takes to build and decide a formula of so many literals."""
    return _PER_LITERAL * literals + _PER_CELL * instance.num_chunks * len(instance.topology.links)


def require_room(
    encoding: Encoding, instance: Instance, options: Mapping[str, OptionValue]
) -> None:
    """Passes where the instance's formula fits in what this command may still take.

    Raises:
        MemoryError: where it does not, in words.
    """
    sends = instance.num_chunks * len(instance.topology.links) * instance.steps
    if sends < _UNCHECKED_SENDS and not instance.combining:
        return
    if not isinstance(encoding, EstimatesSize):
        return
    literals = encoding.literals(instance, options)
    what = (
        f"the formula for C = {instance.chunks}, S = {instance.steps}, R = {instance.rounds}, of "
        f"{literals / 1e6:.1f} million literals,"
    )
    if why := budget().lacks(formula_bytes(instance, literals), what):
        raise MemoryError(why)
