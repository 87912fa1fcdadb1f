"""Executes a program's synchronisation: an order in which it can run, or the deadlock.

One execution represents all of them.  Programs have no branches, a connection has one sender and
one receiver, counters only grow, and only a thread block itself can consume its inputs.  So an
instruction that can run can still run after any other has: the program is a marked graph, or a
determinate network of processes in the sense of Kahn.  The same instructions run in any order.  If
this execution ends, all do; if it gets stuck, all get stuck at the same instructions.

Connections hold few messages, and the chunks that fit into a message depend on their size, so a
step of several chunks is sent in one message or in more.  More is worse.  A deadlock with fewer
messages is a cycle of pieces of steps, each waiting for the next.  Split each piece, at both ends
of its connection alike, and follow the cycle: for a message or a flag, from the last part to the
last part; for space, from the last part of the message that was sent ``depth`` messages before: its
wait is not after the first part of the piece that waited.  So the cycle exists with more messages
as well.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cached_property

from syncoll.errors import VerificationError
from syncoll_threadblocks.program import Instruction, Place, Program

Schedule = Sequence[Place]
"""One execution: the places of all instructions, in a possible order.  Instructions that meet at a
barrier follow one another, as do the parts of a step in one message."""


def meeting(program: Program, order: Schedule, at: int) -> Schedule:
    """The instructions of an order, from index `at` on, that meet at one barrier."""
    barrier, end, group = program.at(order[at]).barrier, at, set[int]()
    while end < len(order) and order[end][0] not in group:
        if program.at(order[end]).barrier != barrier:
            break
        group.add(order[end][0])
        end += 1
    return order[at:end]


def schedule(program: Program, chunks_per_message: int = 1) -> Schedule:
    """Runs a program that `require_matched` passed; a message has at most `chunks_per_message`
    chunks.

    Raises VerificationError on a deadlock, with a cycle of waiting instructions.  A program that
    ends with few chunks in a message ends with more.
    """
    return _Run(program, chunks_per_message).to_the_end()


_MESSAGE, _ROOM, _COUNTER, _BARRIER = range(4)
Reason = tuple[int, int]
"""An obstacle: its kind, and the number of the connection, counter or barrier."""


class _Run:
    def __init__(self, program: Program, chunks_per_message: int) -> None:
        self.program = program
        self.most = chunks_per_message
        self.position = [0] * len(program.threads)
        self.in_flight = [0] * len(program.connections)
        self.depth = [connection.depth for connection in program.connections]
        self.count = [0] * len(program.counters)
        self.waiting: defaultdict[Reason, list[int]] = defaultdict(list)
        self.at_barrier: list[list[int]] = [[] for _ in program.barriers]
        self.members: list[list[int]] = [[] for _ in program.barriers]
        for t, barrier in sorted({(t, i.barrier) for (t, _), i in program.places()}):
            if barrier >= 0:
                self.members[barrier].append(t)
        self.order: list[Place] = []
        self.ready = deque(range(len(program.threads)))

    def to_the_end(self) -> Schedule:
        while self.ready:
            self.run(self.ready.popleft())
        threads = self.program.threads
        for t, position in enumerate(self.position):
            if position < len(threads[t].instructions):
                raise self.deadlock(t)
        return self.order

    def run(self, t: int) -> None:
        """Runs a thread until it has to wait."""
        instructions = self.program.threads[t].instructions
        while self.position[t] < len(instructions):
            reason = self.obstacle(t)
            if reason is None:
                self.fire(t)
            elif reason[0] != _BARRIER:
                self.waiting[reason].append(t)
                return
            elif not self.arrive(t, reason[1]):
                return

    def piece(self, t: int) -> Sequence[Instruction]:
        """The next instructions of a thread that are one event: parts of a step in one message."""
        instructions, position = self.program.threads[t].instructions, self.position[t]
        first = instructions[position]
        return instructions[position : position + min(self.most, first.parts - first.part)]

    def obstacle(self, t: int) -> Reason | None:
        """The obstacle to the next piece of a thread; None if it can run."""
        piece = self.piece(t)
        instruction = piece[0]
        for part in piece:
            for counter, count in part.waits:
                if self.count[counter] < count:
                    return _COUNTER, counter
        if instruction.receive >= 0 and self.in_flight[instruction.receive] == 0:
            return _MESSAGE, instruction.receive
        send = instruction.send
        if send >= 0 and self.in_flight[send] >= self.depth[send]:
            return _ROOM, send
        return (_BARRIER, instruction.barrier) if instruction.barrier >= 0 else None

    def fire(self, t: int) -> None:
        position, piece = self.position[t], self.piece(t)
        instruction = piece[0]
        self.order += [(t, position + k) for k in range(len(piece))]
        self.position[t] = position + len(piece)
        if instruction.receive >= 0:
            self.in_flight[instruction.receive] -= 1
            self.wake((_ROOM, instruction.receive))
        if instruction.send >= 0:
            self.in_flight[instruction.send] += 1
            self.wake((_MESSAGE, instruction.send))
        for part in piece:
            for counter in part.posts:
                self.count[counter] += 1
                self.wake((_COUNTER, counter))

    def wake(self, reason: Reason) -> None:
        self.ready.extend(self.waiting.pop(reason, ()))

    def arrive(self, t: int, barrier: int) -> bool:
        """Brings a thread to a barrier; returns whether it was the last and releases all."""
        present = self.at_barrier[barrier]
        present.append(t)
        if len(present) < len(self.members[barrier]):
            return False
        self.at_barrier[barrier] = []
        for other in present:
            self.fire(other)
        self.ready.extend(other for other in present if other != t)
        return True

    def deadlock(self, start: int) -> VerificationError:
        """Follows the blocking threads until one repeats, or has finished."""
        chain: list[int] = []
        seen: dict[int, int] = {}
        t = start
        while t not in seen:
            seen[t] = len(chain)
            chain.append(t)
            other = self.blocker(t)
            if other is None:  # the others reach this barrier less often
                place = t, self.position[t]
                return self.program.fail(place, f"waits forever for {self.what(t)}")
            t = other
        cycle = chain[seen[t] :]
        places = [(x, self.position[x]) for x in cycle]
        lines = [f"{self.program.words(one)} waits for {self.what(one[0])}" for one in places[:8]]
        more = f" … ({len(cycle)} thread blocks in all)" if len(cycle) > 8 else ""
        if any(self.program.at(one).parts > self.most for one in places):
            more += " (a step's chunks do not all fit into one message, at the largest size)"
        return VerificationError("deadlock: " + "; ".join(lines) + more)

    def what(self, t: int) -> str:
        """Describes the obstacle to a blocked thread."""
        program, reason = self.program, self.obstacle(t)
        assert reason is not None
        kind, number = reason
        if kind == _MESSAGE:
            return f"a message ({program.connections[number]})"
        if kind == _ROOM:
            connection = program.connections[number]
            return f"space ({connection}, which holds {connection.depth})"
        if kind == _COUNTER:
            return program.counters[number]
        return program.barriers[number]

    def blocker(self, t: int) -> int | None:
        """A thread that will remove the obstacle to a blocked one, or None."""
        reason = self.obstacle(t)
        assert reason is not None
        kind, number = reason
        here = self.at_barrier[number] if kind == _BARRIER else ()
        return next((x for x in self.doers[reason] if x not in here and self.will(x, reason)), None)

    @cached_property
    def doers(self) -> dict[Reason, list[int]]:
        """For each obstacle the threads that remove it at least once."""
        found: defaultdict[Reason, dict[int, None]] = defaultdict(dict)
        for (t, _), instruction in self.program.places():
            for effect in _effects(instruction):
                found[effect][t] = None
        return {effect: list(threads) for effect, threads in found.items()}

    def will(self, t: int, reason: Reason) -> bool:
        """Whether a thread will remove an obstacle when it continues."""
        rest = self.program.threads[t].instructions[self.position[t] :]
        return any(reason in _effects(instruction) for instruction in rest)


def _effects(instruction: Instruction) -> list[Reason]:
    """The obstacles that an instruction removes."""
    effects = [(_COUNTER, counter) for counter in instruction.posts]
    if instruction.send >= 0:
        effects.append((_MESSAGE, instruction.send))
    if instruction.receive >= 0:
        effects.append((_ROOM, instruction.receive))
    if instruction.barrier >= 0:
        effects.append((_BARRIER, instruction.barrier))
    return effects
