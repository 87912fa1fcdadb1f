"""Mutation tests: every number, name and operation of small plans, against a naive simulator.

The simulator shares no code with the checker.  It reads the JSON directly, moves random numbers,
and runs at least four threads of each block one by one in a random order.  Its proxies work at
random times, and it makes two calls in a row, between which the callers read and refill their
buffers.  Plans that the checker accepts must give the right numbers in each run; plans with a
reported deadlock or wrong result must fail in each run.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, export_verified, kind_of
from syncoll.testing.instances import random_case
from syncoll_mscclpp import RECORD

Plan = dict[str, Any]
THREADS = 4
ELEMENTS = 6
"""Elements of a chunk."""


class WrongError(Exception):
    """A wrong outcome of a simulation."""


WHOLE = {"tb_id": 0, "tbg_size": 1}


def slice_start(length: int, group: Plan, after: int) -> int:
    """Where a slice starts, or the one after it."""
    least, rest = divmod(length, group["tbg_size"])
    number = int(group["tb_id"]) + after
    return number * least + min(number, rest)


def require_limits(plan: Plan) -> None:
    """The sizes of the executor's arrays; it checks few of them."""
    for gpu in plan["gpus"]:
        counts = [
            (1, min(gpu["input_chunks"], gpu["output_chunks"])),
            (len(gpu["threadblocks"]), 1024),
        ]
        for block in gpu["threadblocks"]:
            every = [x for op in block["ops"] for x in (op, *op.get("ops", ()))]
            counts.append((len(every), 64))
            for table, key in (("channels", "channel"), ("remote_buffer_refs", "remote_buffer")):
                counts += [(len(one[f"{key}_ids"]), 16) for one in block[table]]
            for op in every:
                most = 8 if op["name"] == "put" else 10
                counts += [(len(op.get(key, ())), most) for key in ("src_buff", "dst_buff")]
                counts += [(len(op.get("channel_ids", ())), 8), (op.get("barrier_id", 0), 15)]
                counts.append((len(op.get("semaphore_ids", ())), 16))
        if any(count > most for count, most in counts):
            raise WrongError("limits")


class Simulation:
    """Calls of a plan, with one random generator."""

    def __init__(self, plan: Plan, dice: random.Random, instance: Instance | None = None) -> None:
        require_limits(plan)
        self.plan = plan
        self.instance = instance
        self.dice = dice
        self.gpus = plan["gpus"]
        every = [op for gpu in self.gpus for block in gpu["threadblocks"] for op in block["ops"]]
        slices = (op["tbg_info"]["tbg_size"] for op in every if "tbg_info" in op)
        self.threads = max(THREADS, *(len(op.get("channel_ids", ())) for op in every), 0)
        self.elements = max(ELEMENTS, 1 + max(slices, default=0))
        self.ranks = len(self.gpus)
        self.coll = plan["collective"]
        self.memory: dict[tuple[int, str], list[Any]] = {}
        self.views: dict[tuple[int, str], tuple[str, int]] = {}
        for r, gpu in enumerate(self.gpus):
            i, o, s = (gpu[f"{x}_chunks"] * self.elements for x in ("input", "output", "scratch"))
            self.memory[r, "s"], self.views[r, "s"] = [None] * 2 * s, ("s", 0)
            if plan["inplace"]:
                self.memory[r, "c"] = [None] * max(i, o)
                self.views[r, "i"] = ("c", r * i if i < o else 0)
                self.views[r, "o"] = ("c", r * o if o < i else 0)
            else:
                self.memory[r, "i"], self.memory[r, "o"] = [None] * i, [None] * o
                self.views[r, "i"], self.views[r, "o"] = ("i", 0), ("o", 0)
        self.channels = [
            {
                kind: [
                    p
                    for c in gpu["channels"]
                    if c["channel_type"] == kind
                    for p in c["connected_to"]
                ]
                for kind in ("memory", "port")
            }
            for gpu in self.gpus
        ]
        self.counts: Counter[Any] = Counter()
        self.seen: Counter[Any] = Counter()
        self.semaphores = {
            (r, n): one["init_value"]
            for r, gpu in enumerate(self.gpus)
            for n, one in enumerate(gpu["semaphores"])
        }
        self.queues: dict[Any, list[Callable[[], None]]] = {}
        self.packets: dict[tuple[int, int, int], tuple[int, int | None]] = {}
        self.data: dict[tuple[int, int], list[int]] = {}
        self.call = [0] * self.ranks

    def start(self, r: int) -> list[Iterator[bool]]:
        """The caller of a rank fills its buffers and launches the plan."""
        size = self.gpus[r]["input_chunks"] * self.elements
        for kind in ("i", "o"):
            name, _ = self.views[r, kind]
            self.memory[r, name] = [-1] * len(self.memory[r, name])
        data = [self.dice.randrange(1 << 30) for _ in range(size)]
        self.data[r, self.call[r]] = data
        name, at = self.views[r, "i"]
        self.memory[r, name][at : at + size] = data
        result: list[Iterator[bool]] = []
        for block in self.gpus[r]["threadblocks"]:
            state = {"met": [0] * self.threads, "passed": [0] * self.threads}
            result += [self.thread(r, block, t, state) for t in range(self.threads)]
        return result

    def table(self, block: Plan, key: str, kind: str) -> list[int]:
        channels = key == "channels"
        names = (
            ("channel_type", "channel_ids")
            if channels
            else ("access_channel_type", "remote_buffer_ids")
        )
        return [n for one in block[key] if one[names[0]] == kind for n in one[names[1]]]

    def end_of(self, r: int, block: Plan, op: Plan, place: int) -> tuple[Any, Any]:
        """The names of a channel's outgoing and incoming signals."""
        kind = op["channel_type"]
        number = self.table(block, "channels", kind)[place]
        peers = self.channels[r][kind]
        nth = peers[:number].count(peers[number])
        peer = peers[number]
        return (r, peer, kind, nth), (peer, r, kind, nth)

    def thread(self, r: int, block: Plan, t: int, state: Plan) -> Iterator[bool]:
        for op in block["ops"]:
            if op["name"] != "pipeline":
                yield from self.operation(r, block, op, t, state, None)
                continue
            for start in range(0, op["iter_context"]["num_chunks"] * self.elements, 3):
                for inner in op["ops"]:
                    yield from self.operation(r, block, inner, t, state, start)

    def operation(
        self, r: int, block: Plan, op: Plan, t: int, state: Plan, start: int | None
    ) -> Iterator[bool]:
        name = op["name"]
        if name in ("nop", "barrier"):
            yield from self.meet(state, t)
            if name == "barrier" and t == 0:
                key = (r, "barrier", op["barrier_id"])
                self.counts[key] += 1
                goal = -(-self.counts[key] // op["num_threadblocks"]) * op["num_threadblocks"]
                while self.counts[key] < goal:
                    yield False
            if name == "barrier":
                yield from self.meet(state, t)
        elif name.endswith(("signal", "wait")):
            if t < len(op["channel_ids"]):
                mine, theirs = self.end_of(r, block, op, op["channel_ids"][t])
                if name.endswith("signal") and op["channel_type"] == "port":
                    self.push(mine, lambda: self.raise_count(mine))
                elif name.endswith("signal"):
                    self.counts[mine] += 1
                else:
                    self.seen[theirs] += 1
                    while self.counts[theirs] < self.seen[theirs]:
                        yield False
            yield True
        elif name.startswith("sem_"):
            if t < len(op["semaphore_ids"]):
                semaphore = (r, op["semaphore_ids"][t])
                if name == "sem_release":
                    self.semaphores[semaphore] += 1
                else:
                    while self.semaphores[semaphore] <= 0:
                        yield False
                    self.semaphores[semaphore] -= 1
            yield True
        elif name.endswith("pkt"):
            yield from self.move_packets(r, block, op, t, state)
        else:
            yield from self.move(r, block, op, t, start)

    def move_packets(self, r: int, block: Plan, op: Plan, t: int, state: Plan) -> Iterator[bool]:
        """Each packet has the number of its call; its reader waits for this number."""
        flag, name = self.call[r] + 1, op["name"]
        half = flag % 2 if self.plan.get("use_double_scratch_buffer") else 0
        sources = [self.place(r, block, op, one) for one in op["src_buff"]]
        targets = [place for one in op["dst_buff"] for place in self.everywhere(r, block, op, one)]
        data_in = {"rppkt": 0, "upkt": 0, "gstorepkt": 0}.get(
            name, len(sources) if name == "ppkt" else 1
        )
        if op.get("channel_type") == "port":
            data_in = 0
            if name == "rppkt":  # all threads wait for the packets, and meet
                (_, _, at, length), group = sources[0], op.get("tbg_info", WHOLE)
                for e in range(*(slice_start(length, group, n) for n in (0, 1))):
                    while e % self.threads == t and self.flag(r, half, at + e) != flag:
                        yield False
                yield from self.meet(state, t)
            if t < len(targets):
                self.pass_on(r, block, op, t, (sources * len(targets))[t], targets[t], half)
            yield True
            return
        data_out = 0 if name in ("ppkt", "rppkt", "cpkt", "gstorepkt") else 1
        pairs = [(sources, targets)]
        if name == "ppkt":
            pairs = [([a], [b]) for a, b in zip(sources, targets, strict=True)]
        for n, (read, written) in enumerate(pairs):
            turn = n + read[0][2] + 3 * written[0][2]
            group = op.get("tbg_info", WHOLE)
            for e in range(*(slice_start(read[0][3], group, n) for n in (0, 1))):
                if (e + turn) % self.threads != t:
                    continue
                values = [self.memory[rank, kind][at + e] for rank, kind, at, _ in read[:data_in]]
                for rank, kind, at, _ in read[data_in:]:
                    assert kind == "s"
                    key = (rank, half, at + e)
                    while self.packets.get(key, (0, None))[0] != flag:
                        yield False
                    values.append(self.packets[key][1])
                    yield True
                total = None if None in values else sum(values)
                for i, (rank, kind, at, _) in enumerate(written):
                    if i < data_out:
                        self.memory[rank, kind][at + e] = total
                    else:
                        self.packets[rank, half, at + e] = (flag, total)
                    yield True
        yield True

    def flag(self, rank: int, half: int, at: int) -> int:
        return self.packets.get((rank, half, at), (0, None))[0]

    def pass_on(
        self, r: int, block: Plan, op: Plan, t: int, source: Any, target: Any, half: int
    ) -> None:
        """Thread t has a proxy copy packets with their flags, as they are by then."""
        mine, _ = self.end_of(r, block, op, op["channel_ids"][t])
        group = op.get("tbg_info", WHOLE)
        for e in range(*(slice_start(source[3], group, n) for n in (0, 1))):

            def copied(e: int = e) -> None:
                packet = self.packets.get((source[0], half, source[2] + e), (0, None))
                self.packets[target[0], half, target[2] + e] = packet

            self.push(mine, copied)

    def meet(self, state: Plan, t: int) -> Iterator[bool]:
        state["met"][t] += 1
        while min(state["met"]) < state["met"][t]:
            yield False
        yield True

    def raise_count(self, key: Any) -> None:
        self.counts[key] += 1

    def push(self, channel: Any, work: Callable[[], None]) -> None:
        self.queues.setdefault(channel, []).append(work)

    def everywhere(
        self, r: int, block: Plan, op: Plan, one: Plan
    ) -> list[tuple[int, str, int, int]]:
        """Where a piece is: through a switch channel at each rank of its group."""
        if "switch_channel_id" not in one:
            return [self.place(r, block, op, one)]
        groups = [
            (c["buffer_type"], group["ranks"])
            for c in self.gpus[r]["channels"]
            if c["channel_type"] == "switch"
            for group in c["rank_groups"]
        ]
        kind, ranks = groups[self.table(block, "channels", "switch")[one["switch_channel_id"]]]
        return [self.place(rank, block, op, {**one, "type": kind}) for rank in ranks]

    def place(self, r: int, block: Plan, op: Plan, one: Plan) -> tuple[int, str, int, int]:
        rank, kind = r, one.get("type", "")
        if "buffer_id" in one:
            number = self.table(block, "remote_buffer_refs", op["channel_type"])[one["buffer_id"]]
            remote = self.gpus[r]["remote_buffers"][number]
            rank, kind = remote["rank"], remote["type"]
        name, at = self.views[rank, kind]
        first, last = one["index"] * self.elements, (one["index"] + one["size"]) * self.elements
        limit = {"i": "input", "o": "output", "s": "scratch"}[kind]
        room = 2 if kind == "s" and self.plan["protocol"] == "LL" else 1
        if not 0 <= first < last <= room * self.gpus[rank][f"{limit}_chunks"] * self.elements:
            raise WrongError("bounds")
        return rank, name, at + first, last - first

    def move(self, r: int, block: Plan, op: Plan, t: int, start: int | None) -> Iterator[bool]:
        sources, targets = (
            [place for one in op[key] for place in self.everywhere(r, block, op, one)]
            for key in ("src_buff", "dst_buff")
        )
        paired = op["name"] == "put"
        group = op.get("tbg_info", WHOLE)
        jobs = (
            [((a,), (b,)) for a, b in zip(sources, targets, strict=True)]
            if paired
            else [(tuple(sources), tuple(targets))]
        )
        for n, (read, written) in enumerate(jobs):
            length = read[0][3]
            low, high = (slice_start(length, group, n) for n in (0, 1))
            if start is not None:
                low, high = min(low + start, high), min(low + start + 3, high)
            if op.get("channel_type") == "port":
                if n == t:
                    mine, _ = self.end_of(r, block, op, op["channel_ids"][n])
                    for e in range(low, high):
                        self.push(mine, partial(self.one, read, written, e))
                    yield True
                continue
            # The thread of an element depends on addresses; only its move is certain.
            turn = n + read[0][2] + 3 * written[0][2]
            own = [e for e in range(low, high) if (e + turn) % self.threads == t]
            for e in self.dice.sample(own, len(own)):
                self.one(read, written, e)
                if self.dice.random() < 0.5:
                    yield True
        yield True

    def one(self, read: Any, written: Any, e: int) -> None:
        values = [self.memory[rank, name][at + e] for rank, name, at, _ in read]
        total = None if None in values else sum(values)
        for rank, name, at, _ in written:
            self.memory[rank, name][at + e] = total

    def run(self, calls: int, root: int) -> None:
        alive = {r: self.start(r) for r in range(self.ranks)}
        ends: list[tuple[int, int, list[Any]]] = []
        idle = 0
        while alive or any(self.queues.values()):
            got_on = False
            busy = [queue for queue in self.queues.values() if queue]
            if busy and self.dice.random() < 0.3:
                self.dice.choice(busy).pop(0)()
                got_on = True
            for r in self.dice.sample(list(alive), len(alive)):
                threads = alive[r]
                for thread in self.dice.sample(threads, self.dice.randrange(len(threads)) + 1):
                    for _ in range(self.dice.randrange(1, 8)):
                        answer = next(thread, None)
                        if answer is None:
                            threads.remove(thread)
                            got_on = True
                            break
                        if not answer:
                            break
                        got_on = True
                if not threads:
                    name, first = self.views[r, "o"]
                    size = self.gpus[r]["output_chunks"] * self.elements
                    ends.append((r, self.call[r], self.memory[r, name][first : first + size]))
                    self.call[r] += 1
                    del alive[r]
                    if self.call[r] < calls:
                        alive[r] = self.start(r)
            idle = 0 if got_on else idle + 1
            if idle > 200 and not any(self.queues.values()):
                raise WrongError("deadlock")
        for end in ends:
            self.require_result(*end, root)

    def require_result(self, r: int, call: int, have: list[Any], root: int) -> None:
        data = [self.data[rank, call] for rank in range(self.ranks)]
        if self.instance is not None and self.coll == "custom":
            self.require_chunks(self.instance, r, data, have)
            return
        sums = [sum(values) for values in zip(*data, strict=True)]
        share = len(data[0]) // self.ranks
        want = {
            "allgather": [x for one in data for x in one],
            "allreduce": sums,
            "gather": [x for one in data for x in one] if r == root else have,
            "reducescatter": sums[r * share : (r + 1) * share],
            "broadcast": data[root],
            "reduce": sums if r == root else have,
            "scatter": data[root][r * share : (r + 1) * share],
            "alltoall": [x for one in data for x in one[r * share : (r + 1) * share]],
        }[self.coll]
        if have != want:
            raise WrongError("result")

    def require_chunks(
        self, instance: Instance, r: int, data: list[list[int]], have: list[Any]
    ) -> None:
        """For a custom collective: every chunk, summed over all ranks where it starts.

        Buffers hold chunks in the order of their numbers; a rank without chunks passes a buffer of
        one.
        """
        goals = [c for c, row in enumerate(instance.post) if row[r]]
        for place in range(len(have) // self.elements):
            got = have[place * self.elements : (place + 1) * self.elements]
            want = [-1] * self.elements  # as the caller left it
            if place < len(goals):
                chunk, want = goals[place], [0] * self.elements
                for rank in (n for n, there in enumerate(instance.pre[chunk]) if there):
                    at = int(instance.pre[:chunk, rank].sum()) * self.elements
                    own = data[rank][at : at + self.elements]
                    want = [a + b for a, b in zip(want, own, strict=True)]
            if got != want:
                raise WrongError("result")


def simulate(
    plan: Plan, root: int, runs: int, dice: random.Random, instance: Instance | None = None
) -> list[str]:
    """The outcome of each run; "" if it is right."""
    results = []
    for _ in range(runs):
        try:
            Simulation(plan, dice, instance).run(
                4 if plan.get("use_double_scratch_buffer") else 2, root
            )
        except WrongError as error:
            results.append(str(error))
        else:
            results.append("")
    return results


def check(plan: Plan) -> int:
    """Passes; returns the root."""
    content = json.dumps(plan).encode()
    return int(RECORD.load_checker().check({"p": content}, {}).facts.get("root", 0))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All numbers and texts in a plan, with their paths."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from leaves(one, (*path, key))
    else:
        yield path, value


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


_SWAPS = {
    "i": "o", "o": "i", "s": "o", "signal": "wait", "wait": "signal", "rlxsignal": "signal",
    "rlxwait": "wait", "put": "copy", "copy": "put", "re": "copy", "rres": "rre", "memory": "port",
    "port": "memory", "sem_acquire": "sem_release", "sem_release": "sem_acquire", "nop": "barrier",
    "ppkt": "rppkt", "rppkt": "ppkt", "upkt": "cpkt", "respkt": "repkt",
    "allgather": "alltoall", "allreduce": "reduce", "reducescatter": "scatter",
    "alltoall": "allgather", "broadcast": "allreduce",
}  # fmt: skip


def mutants(plan: Plan) -> Iterator[Plan]:
    """Every number one more and one less, every word another, every operation gone or moved."""
    kept = pickle.dumps(plan)  # copied many times faster than by `deepcopy`
    for path, value in leaves(plan):
        changes: list[Any] = []
        if isinstance(value, bool):
            changes = [not value]
        elif isinstance(value, int):
            changes = [value + 1, value - 1]
        elif value in _SWAPS:
            changes = [_SWAPS[value]]
        for change in changes:
            mutant = pickle.loads(kept)
            at(mutant, path[:-1])[path[-1]] = change
            yield mutant
    for r, gpu in enumerate(plan["gpus"]):
        for b, block in enumerate(gpu["threadblocks"]):
            for n in range(len(block["ops"])):
                for change in ("lost", "twice", "moved"):
                    mutant = pickle.loads(kept)
                    ops = mutant["gpus"][r]["threadblocks"][b]["ops"]
                    if change == "lost":
                        del ops[n]
                    elif change == "twice":
                        ops.insert(n, copy.deepcopy(ops[n]))
                    elif n + 1 < len(ops):
                        ops.insert(n + 1, ops.pop(n))
                    yield mutant


def some_mutants(plan: Plan, number: int, dice: random.Random) -> list[Plan]:
    """Some of the mutants; thousands at once would keep Python's garbage collector busy."""
    every = sum(1 for _ in mutants(plan))
    chosen = set(dice.sample(range(every), min(number, every)))
    return [mutant for i, mutant in enumerate(mutants(plan)) if i in chosen]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("full_allgather", (2,)),
        ("ring_allgather", (3,)),
        ("reading_allreduce", (3,)),
        ("port_reducescatter", (3,)),
        ("barrier_broadcast", (3, 1)),
        ("piped_alltoall", (2,)),
        ("gathered", ()),
        ("reduced", ()),
        ("passed_on", ()),
        ("networked", ()),
        ("multicast", ()),
    ],
)
def test_mutants(
    plans: dict[str, Callable[..., Plan]],
    packet_plans: dict[str, Callable[..., Plan]],
    name: str,
    arguments: tuple[int, ...],
) -> None:
    dice = random.Random(name)
    plan = (plans | packet_plans)[name](*arguments)
    assert set(simulate(plan, check(plan), 20, dice)) == {""}
    verdicts: Counter[str] = Counter()
    for mutant in some_mutants(plan, 160, dice):
        try:
            root = check(mutant)
        except VerificationError as error:
            message = str(error)
            verdicts["caught"] += 1
            sure = re.search(
                r"deadlock: |wrong result|waits forever: (a signal|the packets)", message
            )
            if sure and "semaphore" not in message:
                verdicts["sure"] += 1
                # The simulator does not check required fields.
                with suppress(IndexError, KeyError, ValueError):
                    assert "" not in simulate(mutant, [0, *arguments][-1], 2, dice), message
        else:
            verdicts["accepted"] += 1
            assert set(simulate(mutant, root, 6, dice)) == {""}, json.dumps(mutant)
    assert verdicts["caught"] > 2 * verdicts["accepted"], verdicts
    assert verdicts["sure"] > 2, verdicts


def test_packets_overwritten_too_early_give_wrong_results(
    packet_plans: dict[str, Callable[..., Plan]],
) -> None:
    """One half of scratch is too few: a reader waits for a flag that was overwritten."""
    dice = random.Random(6)
    plan = {**packet_plans["gathered"](), "use_double_scratch_buffer": False}
    with pytest.raises(VerificationError, match="race"):
        check(plan)
    assert any(simulate(plan, 0, 200, dice))
    # Here each rank gets a signal that its packets were read before its call ends.
    plan = {**packet_plans["reduced"](), "use_double_scratch_buffer": False}
    assert set(simulate(plan, check(plan), 100, dice)) == {""}


def test_reported_races_give_wrong_results(plans: dict[str, Callable[..., Plan]]) -> None:
    """Lost nops and lost opening signals: a few hundred runs are enough to see an error."""
    dice = random.Random(5)
    seen = 0
    for name, lost in (
        ("full_allgather", "nop"),
        ("ring_allgather", "nop"),
        ("ring_allgather", "rlx"),
    ):
        plan = plans[name](3)
        for gpu in plan["gpus"]:
            block = gpu["threadblocks"][0]
            block["ops"] = [op for op in block["ops"] if not op["name"].startswith(lost)]
        with pytest.raises(VerificationError, match="race"):
            check(plan)
        seen += any(simulate(plan, 0, 200, dice))
    assert seen == 3


@pytest.mark.parametrize("seed", range(1, 9))
def test_written_plans(seed: int) -> None:
    """Plans of the exporter give the right numbers, too."""
    dice = random.Random(seed)
    case = random_case(dice)
    own = kind_of(case[0]).kind is Kind.CUSTOM
    channel, packets = dice.choice(["memory", "port"]), dice.choice(["no", "yes"])
    options = {"channel": channel, "packets": packets, "blocks": dice.choice([1, 2, 32])}
    handed = export_verified(
        RECORD, ExportRequest("x", "x", *case, seed % 2 == 1 and not own), options
    )
    ((_, content),) = handed.exported.files.items()
    root = int(handed.checked.facts.get("root", 0))
    assert set(simulate(json.loads(content), root, 4, dice, case[0])) == {""}
