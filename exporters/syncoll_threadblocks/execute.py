"""The abstract machine: one program, one specification, one verdict for every interleaving.

`matching` pairs sends and receives, `schedule` runs the synchronisation alone (does every execution
end?), `races` looks for data races (does every execution compute the same?), and `contents`
computes the values, which are then the same in every execution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from syncoll.errors import VerificationError
from syncoll_threadblocks.contents import Contents, Value, contents, describe_value
from syncoll_threadblocks.matching import require_matched
from syncoll_threadblocks.program import Program
from syncoll_threadblocks.races import require_race_free
from syncoll_threadblocks.schedule import Schedule, schedule
from syncoll_threadblocks.specification import OwnSpecification, Specification

__all__ = ["execute"]

_Find = Callable[[int], tuple[int, int] | None]
"""The rank and the index of a slot in the ranks' buffers; None outside of them."""


def _finder(starts: Sequence[int], size_of: Callable[[int], int]) -> _Find:
    def find(slot: int) -> tuple[int, int] | None:
        rank = bisect_right(starts, slot) - 1
        inside = rank >= 0 and slot < starts[rank] + size_of(rank)
        return (rank, slot - starts[rank]) if inside else None

    return find


def execute(
    program: Program,
    spec: OwnSpecification | None,
    inputs: Sequence[int] = (),
    outputs: Sequence[int] = (),
    chunks_per_message: int = 1,
) -> tuple[Schedule, OwnSpecification | None]:
    """Executes a program and compares its result with its promise.

    Args:
        spec: the collective; None to check only that the program ends, without races.  If it has a
            root and none is given, the root is inferred.
        inputs: the first slot of each rank's input, in ascending order.
        outputs: the first slot of each rank's output, in ascending order.
        chunks_per_message: the chunks of a step that one message holds at the largest size.

    Returns:
        The execution, and the specification with its root.

    Raises:
        VerificationError: naming rank, thread block and step.
    """
    require_matched(program)
    run = schedule(program, chunks_per_message)
    require_race_free(program, run)
    if spec is None:
        return run, None
    reads, writes = _finder(inputs, spec.inputs_of), _finder(outputs, spec.outputs_of)
    if isinstance(spec, Specification) and spec.rooted and spec.root is None:
        trial = _executed(program, run, spec, reads)
        spec = spec.of_root(spec.find_root(lambda rank, j: trial[outputs[rank] + j]))
    _require_kept(program, spec, reads, writes)
    _require_fulfilled(program, spec, _executed(program, run, spec, reads), outputs)
    return run, spec


def _executed(program: Program, run: Schedule, spec: OwnSpecification, reads: _Find) -> Contents:
    def initial(slot: int) -> Value | None:
        found = reads(slot)
        return None if found is None else spec.initial(*found)

    return contents(program, run, initial)


def _require_kept(program: Program, spec: OwnSpecification, reads: _Find, writes: _Find) -> None:
    """Passes when only scratch and output are written: a caller's input stays as it is."""
    for place, instruction in program.places():
        for slot in instruction.writes:
            found, at_input = writes(slot), reads(slot) is not None
            if found is None and at_input:
                raise program.fail(
                    place,
                    f"writes {program.memory.describe(slot)}, which belongs to the caller's "
                    "input; only where input and output share memory may it be written",
                )
            if found is not None and not at_input and not spec.has_output(found[0]):
                why = "nothing must end at that rank"
                if spec.rooted:
                    why = f"in a {spec.collective} to rank {spec.root} only that rank has an output"
                raise program.fail(place, f"writes {program.memory.describe(slot)}, and {why}")


def _require_fulfilled(
    program: Program, spec: OwnSpecification, held: Contents, outputs: Sequence[int]
) -> None:
    root = f" of root {spec.root}" if spec.rooted else ""
    for rank in range(spec.num_ranks):
        for j in range(spec.outputs_of(rank)):
            wanted = spec.wanted(rank, j)
            slot = outputs[rank] + j
            if wanted is not None and held[slot] != wanted:
                raise VerificationError(
                    f"wrong result for {spec.collective}{root}: "
                    f"{program.memory.describe(slot)} ends with {describe_value(held[slot])}, not "
                    f"with {describe_value(wanted)}"
                )
