"""The abstract machine against all interleavings of small random programs.

The state of a program without branches is given by the positions of its threads, so all reachable
states are quickly enumerated.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from syncoll.errors import VerificationError
from syncoll_threadblocks import (
    AddressSpace,
    Instruction,
    Program,
    Thread,
    ThreadConnection,
    contents,
    require_matched,
    require_race_free,
    schedule,
)

State = tuple[int, ...]


def random_program(dice: random.Random, depth: int, one_poster: bool) -> Program:
    """A few threads of one or two ranks, with connections, a counter or two, and a barrier."""
    num = dice.randrange(2, 5)
    memory = AddressSpace()
    memory.add(0, "s", 4)
    ends = [(a, b) for a in range(num) for b in range(num) if a != b and dice.random() < 0.4]
    posters = [dice.randrange(num) for _ in range(2)]
    threads = []
    for t in range(num):
        outgoing = [i for i, (a, _) in enumerate(ends) if a == t]
        incoming = [i for i, (_, b) in enumerate(ends) if b == t]
        instructions = []
        for step in range(dice.randrange(1, 5)):
            if dice.random() < 0.15:
                instructions.append(Instruction(step, "barrier", barrier=0))
                continue
            may_post = [c for c in range(2) if not one_poster or posters[c] == t]
            instructions.append(
                Instruction(
                    step,
                    "x",
                    receive=dice.choice(incoming) if incoming and dice.random() < 0.5 else -1,
                    send=dice.choice(outgoing) if outgoing and dice.random() < 0.5 else -1,
                    reads=tuple(dice.sample(range(4), dice.randrange(2))),
                    writes=tuple(dice.sample(range(4), int(dice.random() < 0.3))),
                    waits=((dice.randrange(2), dice.randrange(1, 4)),)
                    if dice.random() < 0.25
                    else (),
                    posts=tuple(c for c in may_post if dice.random() < 0.6),
                )
            )
        threads.append(Thread(0, t, instructions))
    connections = [ThreadConnection(a, b, 0, depth) for a, b in ends]
    return Program(threads, connections, memory, ["flag 0", "flag 1"], ["a barrier"])


def enabled(program: Program, state: State) -> list[frozenset[int]]:
    """The groups of threads that can continue: single ones, or all that meet at a barrier."""
    done = [i for t, n in enumerate(state) for i in program.threads[t].instructions[:n]]
    raised = [sum(c in i.posts for i in done) for c in range(2)]

    def can(t: int) -> bool:
        i = program.threads[t].instructions[state[t]]
        if any(raised[c] < v for c, v in i.waits):
            return False
        sent = [sum(x.send == k for x in done) for k in range(len(program.connections))]
        taken = [sum(x.receive == k for x in done) for k in range(len(program.connections))]
        if i.receive >= 0 and sent[i.receive] <= taken[i.receive]:
            return False
        full = i.send >= 0 and sent[i.send] - taken[i.send] >= program.connections[i.send].depth
        return not full

    running = [t for t, n in enumerate(state) if n < len(program.threads[t].instructions)]
    able = [t for t in running if can(t)]
    groups = [frozenset([t]) for t in able if program.threads[t].instructions[state[t]].barrier < 0]
    members = {
        t for t, x in enumerate(program.threads) if any(i.barrier == 0 for i in x.instructions)
    }
    waiting = {t for t in able if program.threads[t].instructions[state[t]].barrier == 0}
    if members and members == waiting:
        groups.append(frozenset(members))
    return groups


def after(state: State, group: frozenset[int]) -> State:
    return tuple(n + (t in group) for t, n in enumerate(state))


def all_states(program: Program) -> set[State]:
    start = tuple(0 for _ in program.threads)
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        for group in enabled(program, state):
            following = after(state, group)
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return seen


def final(program: Program) -> State:
    return tuple(len(thread.instructions) for thread in program.threads)


def conflict(one: Instruction, other: Instruction) -> bool:
    touched = {*other.reads, *other.writes}
    return bool({*one.writes} & touched or {*one.reads} & {*other.writes})


def has_race(program: Program, states: set[State]) -> bool:
    """Whether two conflicting instructions can both be next."""
    for state in states:
        groups = enabled(program, state)
        for one, other in product(groups, groups):
            pairs = [(a, b) for a in one for b in other if a < b]
            if one == other and len(one) == 1:
                continue
            for a, b in pairs:
                if conflict(
                    program.threads[a].instructions[state[a]],
                    program.threads[b].instructions[state[b]],
                ):
                    return True
    return False


def verdict(program: Program) -> str:
    try:
        require_matched(program)
    except VerificationError:
        return "unmatched"
    try:
        run = schedule(program)
    except VerificationError:
        return "stuck"
    try:
        require_race_free(program, run)
    except VerificationError as error:
        return "race" if "race: " in str(error) else "unexpected"
    return "fine"


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_ends_in_every_interleaving_or_in_none(depth: int) -> None:
    dice = random.Random(depth)
    seen = {"unmatched": 0, "stuck": 0, "race": 0, "fine": 0}
    while min(seen["stuck"], seen["fine"], seen["race"]) < 40:
        program = random_program(dice, depth, one_poster=False)
        found = verdict(program)
        seen[found] += 1
        if found == "unmatched":
            continue
        states = all_states(program)
        dead_ends = {state for state in states if not enabled(program, state)}
        assert len(dead_ends) == 1, "a marked graph has one end, whatever the order"
        assert (dead_ends == {final(program)}) == (found != "stuck")


def test_messages_that_do_not_fit_together_are_unmatched() -> None:
    dice = random.Random(3)
    seen = 0
    while seen < 200:
        program = random_program(dice, 50, one_poster=True)
        if verdict(program) != "unmatched":
            continue
        seen += 1
        everything = [i for thread in program.threads for i in thread.instructions]
        balanced = all(
            sum(i.send == c for i in everything) == sum(i.receive == c for i in everything)
            for c in range(len(program.connections))
        )
        waits = any(
            v > sum(c in i.posts for i in everything) for i in everything for c, v in i.waits
        )
        assert not balanced or waits


@pytest.mark.parametrize("one_poster", [True, False])
def test_races_are_found_if_two_accesses_can_be_next(one_poster: bool) -> None:
    dice = random.Random(int(one_poster))
    seen = {"unmatched": 0, "stuck": 0, "race": 0, "fine": 0}
    while min(seen["race"], seen["fine"]) < 150:
        program = random_program(dice, 50, one_poster)
        found = verdict(program)
        seen[found] += 1
        if found in ("race", "fine"):
            races = has_race(program, all_states(program))
            if one_poster:
                assert races == (found == "race")
            else:  # orders by several posters may be missed
                assert found == "race" or not races


def test_without_races_the_result_is_the_same_in_every_order() -> None:
    dice = random.Random(7)
    seen = 0
    while seen < 60:
        program = random_program(dice, 2, one_poster=True)
        if verdict(program) != "fine":
            continue
        results = set()
        for _ in range(15):
            results.add(run_by_hand(program, dice))
        assert len(results) == 1
        try:
            held = contents(program, schedule(program), lambda slot: (slot, 1))
        except VerificationError:
            continue
        seen += 1
        ours = {slot: value[0] for slot in range(4) if (value := held[slot]) is not None}
        assert ours == dict(results.pop())


def run_by_hand(program: Program, dice: random.Random) -> frozenset[tuple[int, object]]:
    """One interleaving; a value is its original chunk, or the sorted chunks of a sum."""
    state: State = tuple(0 for _ in program.threads)
    slots: dict[int, object] = {slot: slot for slot in range(4)}
    queues: dict[int, list[object]] = {}
    while groups := enabled(program, state):
        group = dice.choice(groups)
        for t in dice.sample(sorted(group), len(group)):
            i = program.threads[t].instructions[state[t]]
            parts = [slots[slot] for slot in i.reads]
            if i.receive >= 0:
                parts.append(queues[i.receive].pop(0))
            value = parts[0] if len(parts) == 1 else str(sorted(map(str, parts)))
            for slot in i.writes:
                slots[slot] = value
            if i.send >= 0:
                queues.setdefault(i.send, []).append(value)
        state = after(state, group)
    return frozenset(slots.items())


def steps_of_several_chunks(dice: random.Random) -> Program:
    """Transfers of one to four chunks between a few threads, in any order, some of them fused."""
    num = dice.randrange(2, 5)
    plans: list[list[tuple[int, int, int]]] = [[] for _ in range(num)]  # receive, send, chunks
    ends: list[tuple[int, int]] = []
    for _ in range(dice.randrange(2, 7)):
        pair = tuple(dice.sample(range(num), 2))
        if (pair[0], pair[1]) not in ends:
            ends.append((pair[0], pair[1]))
        number, cnt = ends.index((pair[0], pair[1])), dice.randrange(1, 5)
        plans[pair[0]].append((-1, number, cnt))
        into = plans[pair[1]]
        # Receives of a connection must stay in order, so the new one comes after the last.
        last = max((k for k, step in enumerate(into) if step[0] == number), default=-1)
        into.insert(dice.randrange(last + 1, len(into) + 1), (number, -1, cnt))
    threads = []
    for t, plan in enumerate(plans):
        k = 0
        while k + 1 < len(plan):
            (r, s, c), (r2, s2, c2) = plan[k : k + 2]
            if r >= 0 and s < 0 and r2 < 0 and c == c2 and dice.random() < 0.7:
                plan[k : k + 2] = [(r, s2, c)]
            k += 1
        threads.append(
            Thread(
                0,
                t,
                [
                    Instruction(step, "x", receive, send, part=part, parts=cnt)
                    for step, (receive, send, cnt) in enumerate(plan)
                    for part in range(cnt)
                ],
            )
        )
    return Program(threads, [ThreadConnection(a, b, 0, 2) for a, b in ends], AddressSpace())


def test_ending_with_few_chunks_a_message_implies_with_more() -> None:
    dice = random.Random(11)
    seen: dict[str, int] = {}
    for _ in range(3000):
        program = steps_of_several_chunks(dice)
        try:
            require_matched(program)
        except VerificationError:
            continue
        verdicts = ""
        for chunks in (1, 2, 3, 4):
            try:
                run = schedule(program, chunks)
                require_race_free(program, run)
                verdicts += "y"
            except VerificationError:
                verdicts += "n"
        assert "yn" not in verdicts
        seen[verdicts] = seen.get(verdicts, 0) + 1
    assert min(seen[v] for v in ("nnnn", "nnny", "nyyy", "yyyy")) >= 5, seen
