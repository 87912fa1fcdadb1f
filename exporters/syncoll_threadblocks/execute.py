"""The abstract machine: one program, one specification, one verdict for every interleaving.

`require_matched` pairs sends and receives.  `schedule` runs the synchronisation alone: does every
execution end?  `races` looks for data races: does every execution compute the same?  `contents`
computes the values, which are then the same in every execution.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from syncoll.errors import VerificationError
from syncoll.model.associations import in_words
from syncoll.wording import counted
from syncoll_threadblocks.contents import Contents, Value, contents, describe_value
from syncoll_threadblocks.program import Place, Program
from syncoll_threadblocks.races import require_race_free
from syncoll_threadblocks.schedule import Schedule, schedule
from syncoll_threadblocks.specification import OwnSpecification, Specification

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
    run: Schedule | None = None,
) -> tuple[Schedule, OwnSpecification | None, str]:
    """Executes a program and compares its result with its specification.

    Args:
        spec: the collective; None to check only that the program ends, without races.  If it has a
            root and none is given, the root is inferred.
        inputs: the first slot of each rank's input, in ascending order.
        outputs: the first slot of each rank's output, in ascending order.
        chunks_per_message: the chunks of a step that one message holds at the largest size.
        run: the execution, if it is known to be free of races.

    Returns:
        The execution, the specification with its root, and whether sums are reproducible in words.

    Raises:
        VerificationError: naming rank, thread block and step.
    """
    if run is None:
        require_matched(program)
        run = schedule(program, chunks_per_message)
        require_race_free(program, run)
    if spec is None:
        return run, None, ""
    reads, writes = _finder(inputs, spec.inputs_of), _finder(outputs, spec.outputs_of)
    if isinstance(spec, Specification) and spec.rooted and spec.root is None:
        trial = _executed(program, run, spec, reads)
        spec = spec.of_root(spec.find_root(lambda rank, j: trial[outputs[rank] + j]))
    _require_kept(program, spec, reads, writes)
    held = _executed(program, run, spec, reads)
    _require_fulfilled(program, spec, held, outputs)
    values = (
        (rank, held[outputs[rank] + j])
        for rank in range(spec.num_ranks)
        for j in range(spec.outputs_of(rank))
    )
    return run, spec, in_words((value[0], rank, value[1]) for rank, value in values if value)


def _executed(program: Program, run: Schedule, spec: OwnSpecification, reads: _Find) -> Contents:
    def initial(slot: int) -> Value | None:
        found = reads(slot)
        return None if found is None else spec.initial(*found)

    return contents(program, run, initial)


def _require_kept(program: Program, spec: OwnSpecification, reads: _Find, writes: _Find) -> None:
    """Raises VerificationError if the program writes a caller's input, or a missing output."""
    for place, instruction in program.places():
        for slot in instruction.writes:
            found, at_input = writes(slot), reads(slot) is not None
            if found is None and at_input:
                raise program.fail(
                    place,
                    f"writes {program.memory.describe(slot)}, which belongs to the caller's "
                    "input; it may be written only if input and output share memory",
                )
            if found is not None and not at_input and not spec.outputs[found[0]]:
                why = "that rank has no output"
                if spec.rooted:
                    why = f"in a {spec.collective} to rank {spec.root} only the root has an output"
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


def require_matched(program: Program) -> None:
    """Raises VerificationError unless sends and receives, and waits and posts, fit together.

    Programs have no branches, so a thread block sends over a connection equally often in every
    execution.  Each connection belongs to one sending and one receiving thread block; hence the
    n-th message is taken by the n-th receive, and no execution is needed.
    """
    sends: list[list[Place]] = [[] for _ in program.connections]
    receives: list[list[Place]] = [[] for _ in program.connections]
    posts = [0] * len(program.counters)
    for place, instruction in program.places():
        if instruction.send >= 0:
            sends[instruction.send].append(place)
        if instruction.receive >= 0:
            receives[instruction.receive].append(place)
        for counter in instruction.posts:
            posts[counter] += 1
    for i in range(len(program.connections)):
        _one_thread(program, i, sends[i], "send over")
        _one_thread(program, i, receives[i], "receive from")
        _pairs(program, i, sends[i], receives[i])
    for place, instruction in program.places():
        for counter, count in instruction.waits:
            if count > posts[counter]:
                raise program.fail(
                    place,
                    f"waits forever: {program.counters[counter]} is raised {posts[counter]} "
                    f"times, and it waits for {count}",
                )


def _one_thread(program: Program, connection: int, places: Sequence[Place], what: str) -> None:
    for place in places:
        if place[0] != places[0][0]:
            first = program.threads[places[0][0]].number
            raise program.fail(
                place,
                f"two thread blocks, {first} and {program.threads[place[0]].number}, {what} the "
                f"same connection ({program.connections[connection]})",
            )


def _pairs(
    program: Program, connection: int, sends: Sequence[Place], receives: Sequence[Place]
) -> None:
    name = program.connections[connection]
    for number, (sent, received) in enumerate(zip(sends, receives, strict=False)):
        one, other = program.at(sent), program.at(received)
        if (one.part, one.parts) != (other.part, other.parts):
            raise program.fail(
                received,
                f"receives {counted(other.parts, 'chunk')}, but {program.words(sent)} sends "
                f"{counted(one.parts, 'chunk')} (message {number} of the connection {name})",
            )
    ends = (sends, "sent over", receives, "received"), (receives, "received from", sends, "sent")
    for more, done, fewer, never in ends:
        if len(more) > len(fewer):
            raise program.fail(
                more[len(fewer)],
                f"its message is never {never}: {len(more)} chunks are {done} the connection "
                f"{name}, and {len(fewer)} are {never}",
            )
