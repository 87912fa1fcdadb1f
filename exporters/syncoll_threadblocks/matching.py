"""Matching: every message has a receiver, and every awaited flag is raised often enough.

Programs have no branches, so a thread block sends over a connection equally often in every
execution.  Each connection belongs to one sending and one receiving thread block; hence the n-th
message is taken by the n-th receive, and all of this can be checked without an execution.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncoll_threadblocks.program import Place, Program

__all__ = ["require_matched"]


def require_matched(program: Program) -> None:
    """Passes a program whose sends and receives, and waits and posts, fit together.

    Raises:
        VerificationError: if two thread blocks share an end of a connection, the n-th send and
            receive differ in their numbers of chunks, a message has no sender or receiver, or a
            wait exceeds the posts.
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
                    f"waits for ever: {program.counters[counter]} is raised {posts[counter]} "
                    f"times, and it waits for time {count}",
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
                f"receives {_chunks(other.parts)}, but {program.words(sent)} sends "
                f"{_chunks(one.parts)} (message {number} of the connection {name})",
            )
    if len(sends) > len(receives):
        raise program.fail(
            sends[len(receives)],
            f"nobody receives what it sends: {len(sends)} chunks are sent over the connection "
            f"{name}, and {len(receives)} are received",
        )
    if len(receives) > len(sends):
        raise program.fail(
            receives[len(sends)],
            f"nobody sends what it receives: {len(receives)} chunks are received from the "
            f"connection {name}, and {len(sends)} are sent",
        )


def _chunks(number: int) -> str:
    return f"{number} chunk{'s' if number != 1 else ''}"
