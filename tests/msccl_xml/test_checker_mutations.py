"""Mutation tests: every attribute and every element of small files, against a naive simulator.

The simulator shares no code with the checker.  It has another reader (the standard library's),
random numbers instead of symbols, and a random scheduler, also between the reading and the writing
of an instruction.  Files that the checker accepts must give the right numbers in each run; files
with a reported deadlock or wrong result must fail in each run.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from syncoll.errors import VerificationError
from syncoll_msccl_xml import RECORD
from tests.msccl_xml.conftest import Tb, write

DEPTH = {"Simple": 2, "LL": 8, "LL128": 8}


class WrongError(Exception):
    """A wrong outcome of a simulation."""


class Simulation:
    """One run of a file with one placement, one size of pieces and one random generator.

    With `open_sends` a send raises its flag before it reads, as RCCL's may under LL.
    """

    def __init__(
        self, text: str, in_place: bool, piece: int, dice: random.Random, open_sends: bool = False
    ) -> None:
        self.open_sends = open_sends
        self.algo = ElementTree.fromstring(text)
        self.dice = dice
        self.coll = self.algo.attrib["coll"]
        self.chunks = int(self.algo.attrib["nchunksperloop"], 0)
        self.ranks = int(self.algo.attrib["ngpus"], 0)
        self.memory: dict[tuple[int, str], list[Any]] = {}
        self.given: list[list[int]] = []
        self.views: dict[tuple[int, str], tuple[str, int]] = {}
        for r in range(self.ranks):
            large, small = self.chunks, self.chunks // self.ranks
            i, o = {"allgather": (small, large), "reducescatter": (large, small)}.get(
                self.coll, (large, large)
            )
            data = [dice.randrange(1 << 30) for _ in range(i)]
            self.given.append(data)
            self.memory[r, "s"] = [None] * 1000
            self.views[r, "s"] = ("s", 0)
            if in_place:
                common: list[Any] = [None] * max(i, o)
                at = r * small if i < o else 0
                common[at : at + i] = data
                self.memory[r, "c"] = common
                self.views[r, "i"] = ("c", at)
                self.views[r, "o"] = ("c", r * small if o < i else 0)
            else:
                self.memory[r, "i"], self.memory[r, "o"] = list(data), [None] * o
                self.views[r, "i"], self.views[r, "o"] = ("i", 0), ("o", 0)
        self.depth = DEPTH[self.algo.attrib["proto"]]
        self.queues: dict[tuple[int, int, int], list[Any]] = {}
        self.room: dict[tuple[int, int, int], int] = {}
        self.flags: dict[tuple[int, int], int] = {}
        self.threads = [
            self.thread(int(gpu.attrib["id"], 0), tb, piece)
            for gpu in self.algo.findall("gpu")
            for tb in gpu.findall("tb")
        ]

    def thread(self, rank: int, tb: ElementTree.Element, piece: int) -> Iterator[bool]:
        """A thread block; yields whether it made progress."""
        number = int(tb.attrib["id"], 0)
        chan = int(tb.attrib["chan"], 0)
        out = (rank, int(tb.attrib["send"], 0), chan)
        into = (int(tb.attrib["recv"], 0), rank, chan)
        for position, step in enumerate(tb.findall("step")):
            a = step.attrib
            kind = a["type"]
            if int(a["depid"], 0) >= 0:
                awaited = (rank, int(a["depid"], 0))
                while self.flags.get(awaited, -1) < int(a["deps"], 0):
                    yield False
            if kind == "nop":
                continue
            count = int(a["cnt"], 0)
            for start in range(0, count, piece):
                size = min(piece, count - start)
                sends = kind in ("s", "rcs", "rrs", "rrcs")
                receives = kind in ("r", "rcs", "rrc", "rrs", "rrcs")
                while (receives and not self.queues.get(into)) or (
                    sends and self.room.get(out, 0) >= self.depth
                ):
                    yield False
                values: list[Any] = [0] * size
                if receives:
                    values = self.queues[into].pop(0)
                    if len(values) != size:
                        raise WrongError("count")
                if kind == "s" and self.open_sends:
                    if int(a["hasdep"], 0):
                        self.flags[rank, number] = position
                    for _ in range(self.dice.randrange(12)):
                        yield True
                src, dst = int(a["srcoff"], 0) + start, int(a["dstoff"], 0) + start
                if kind not in ("r", "rcs"):
                    values = self.plus(values, self.read(rank, a["srcbuf"], src, size))
                if kind == "re":
                    values = self.plus(values, self.read(rank, a["dstbuf"], dst, size))
                yield True
                if kind not in ("s", "rrs"):
                    for j in self.dice.sample(range(size), size):
                        self.write(rank, a["dstbuf"], dst + j, values[j])
                        yield True
                if receives:
                    self.room[into] -= 1
                if sends:
                    self.queues.setdefault(out, []).append(values)
                    self.room[out] = self.room.get(out, 0) + 1
            if int(a["hasdep"], 0):
                self.flags[rank, number] = position
            yield True

    @staticmethod
    def plus(one: list[Any], other: list[Any]) -> list[Any]:
        return [None if x is None or y is None else x + y for x, y in zip(one, other, strict=True)]

    def read(self, rank: int, buffer: str, offset: int, size: int) -> list[Any]:
        name, start = self.views[rank, buffer]
        found = self.memory[rank, name][start + offset : start + offset + size]
        if offset < 0 or len(found) != size:
            raise WrongError("bounds")
        return found

    def write(self, rank: int, buffer: str, offset: int, value: Any) -> None:
        name, start = self.views[rank, buffer]
        if offset < 0 or start + offset >= len(self.memory[rank, name]):
            raise WrongError("bounds")
        self.memory[rank, name][start + offset] = value

    def run(self) -> None:
        alive = list(self.threads)
        while alive:
            got_on = False
            for thread in self.dice.sample(alive, len(alive)):
                for _ in range(self.dice.randrange(1, 6)):
                    answer = next(thread, None)
                    if answer is None:
                        alive.remove(thread)
                        got_on = True
                        break
                    if not answer:
                        break
                    got_on = True
            if not got_on:
                raise WrongError("deadlock")
        if any(self.queues.values()):
            raise WrongError("unreceived")

    def require_result(self, root: int) -> None:
        sums = [sum(data[j] for data in self.given) for j in range(len(self.given[0]))]
        share = self.chunks // self.ranks
        for r in range(self.ranks):
            want: list[int]
            if self.coll == "allreduce":
                want = sums
            elif self.coll == "allgather":
                want = [x for data in self.given for x in data]
            elif self.coll == "reducescatter":
                want = sums[r * share : (r + 1) * share]
            elif self.coll == "alltoall":
                want = [x for data in self.given for x in data[r * share : (r + 1) * share]]
            elif self.coll == "broadcast":
                want = self.given[root]
            else:
                assert self.coll == "reduce"
                want = sums if r == root else []
            if self.read(r, "o", 0, len(want)) != want:
                raise WrongError("result")


def simulate(
    text: str,
    root: int,
    runs: int,
    dice: random.Random,
    pieces: tuple[int, ...] = (1, 2, 71),
    open_sends: bool = False,
) -> list[str]:
    """The outcome of each run; "" if it is right."""
    algo = ElementTree.fromstring(text).attrib
    placements = [True] * int(algo["inplace"]) + [False] * int(algo["outofplace"])
    results = []
    for run in range(runs):
        for in_place in placements:
            try:
                piece = pieces[run % len(pieces)]
                simulation = Simulation(text, in_place, piece, dice, open_sends)
                simulation.run()
                simulation.require_result(root)
                results.append("")
            except WrongError as wrong:
                results.append(str(wrong))
    return results


def check(text: str, dialect: str = "executor") -> dict[str, int | str]:
    options = {"dialect": dialect}
    return dict(RECORD.load_checker().check({"x.xml": text.encode()}, options).facts)


VALUES = {
    "type": ["s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop", "ra", "S", ""],
    "srcbuf": ["i", "o", "s", "x"],
    "dstbuf": ["i", "o", "s", "x"],
    "coll": ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "none"],
    "proto": ["LL", "LL128", "simple"],
    "name": ["y"],
}
NUMBER = re.compile(r"-?\d+")


def mutants(text: str) -> Iterator[str]:
    """Other values for every attribute; every attribute and element left out, twice, swapped."""
    for match in re.finditer(r' (\w+)="([^"]*)"', text):
        key, value = match.groups()
        options = [v for v in VALUES.get(key, ()) if v != value]
        if NUMBER.fullmatch(value):
            number = int(value)
            options = [str(number + 1), str(number - 1), str(-number or 7), "99999999999", "x"]
        for option in options:
            yield f'{text[: match.start()]} {key}="{option}"{text[match.end() :]}'
        yield text[: match.start()] + text[match.end() :]
    lines = text.splitlines(keepends=True)
    for n, line in enumerate(lines):
        rest = lines[n + 1 :]
        yield "".join([*lines[:n], *rest])
        yield "".join([*lines[: n + 1], line, *rest])
        if rest:
            yield "".join([*lines[:n], rest[0], line, *rest[1:]])
            if "<step" in line and "<step" in rest[0]:
                yield renumbered([*lines[:n], rest[0], line, *rest[1:]])
        if "<step" in line:
            yield renumbered([*lines[:n], *rest])
            yield renumbered([*lines[: n + 1], line, *rest])
    blocks = list(re.finditer(r" *<(tb|gpu) .*?</\1>\n", text, re.DOTALL))
    for block in blocks:
        yield text[: block.start()] + text[block.end() :]


def renumbered(lines: list[str]) -> str:
    """Numbers steps in order, so that only the operations are wrong."""
    number = 0
    result = []
    for line in lines:
        number = 0 if "<tb" in line else number
        if "<step" in line:
            line = re.sub(r'step s="\d+"', f'step s="{number}"', line)
            number += 1
        result.append(line)
    return "".join(result)


SMALL = {
    "ring_allgather": (3,),
    "ring_allreduce": (3,),
    "split_allreduce": (3,),
    "direct_alltoall": (3,),
    "nop_reducescatter": (),
    "chain_broadcast": (),
    "star_reduce": (),
}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_simulator_agrees_on_right_files(
    name: str, algorithms: dict[str, Callable[..., str]]
) -> None:
    text = algorithms[name](*SMALL[name])
    root = int(check(text).get("root", 0))
    assert set(simulate(text, root, 30, random.Random(name))) == {""}


def test_sends_under_ll_are_read_before_they_are_overwritten() -> None:
    """Two ranks exchange two chunks in place; each overwrites its source after a later step."""
    gpus = []
    for r in range(2):
        sender, receiver = Tb(1 - r, -1), Tb(-1, 1 - r)
        for chunk in ("0", "1"):
            sender.add("s", f"i{chunk}", f"s{chunk}", flag=1)
        sender.add("cpy", "i1", "s2", flag=1)
        for chunk, later in (("0", 1), ("1", 2)):
            receiver.add("r", f"i{chunk}", f"s{chunk}")
            receiver.add("re", f"s{chunk}", f"i{chunk}", dep=(0, later))
        gpus.append([sender, receiver])
    text = write("allreduce", 2, (2, 2, 3), gpus, inplace=1, proto="LL")
    dice, late = random.Random(0), 0
    early = text.replace('deps="2"', 'deps="1"')  # the send of the chunk itself
    assert "result" in simulate(early, 0, 60, dice, open_sends=True)
    for mutant in (text, *mutants(text)):
        try:
            check(mutant, "rccl")
        except VerificationError as error:
            late += "may end before its reads are done" in str(error)
        else:
            assert set(simulate(mutant, 0, 12, dice, open_sends=True)) == {""}, mutant
    assert late >= 4


@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_mutant_is_caught_or_harmless(
    name: str, algorithms: dict[str, Callable[..., str]]
) -> None:
    text = algorithms[name](*SMALL[name])
    dice = random.Random(name)
    root = int(check(text).get("root", 0))
    caught = harmless = 0
    everything = list(mutants(text))
    for mutant in dice.sample(everything, min(len(everything), 150)):
        try:
            facts = check(mutant)
        except VerificationError as error:
            caught += 1
            message = str(error)
            assert message.startswith("x.xml: ")
            if re.search("deadlock|wrong result", message) and "place: " not in message:
                assert "" not in simulate(mutant, root, 2, dice, (1,)), message
        else:
            harmless += 1
            results = simulate(mutant, int(facts.get("root", root)), 12, dice)
            assert set(results) == {""}, mutant
    assert caught > 4 * harmless


def test_large_messages_are_sent_chunk_by_chunk(algorithms: dict[str, Callable[..., str]]) -> None:
    text = algorithms["ring_allgather"](3, 2)
    with pytest.raises(VerificationError, match=r"deadlock: .*do not all fit into one message"):
        check(text)
    results = simulate(text, 0, 6, random.Random(1))
    assert results == ["deadlock", "", ""] * 2
    small = text.replace("134217728", str(6 << 20))
    assert check(small)["chunks per message"] == 2
    assert set(simulate(small, 0, 6, random.Random(1), (2,))) == {""}
    with pytest.raises(VerificationError, match="deadlock"):
        check(text.replace("134217728", str((6 << 20) + 1)))
    assert check(text.replace("Simple", "LL"))["chunks moved"] == 24
    assert set(simulate(text.replace("Simple", "LL"), 0, 6, random.Random(1))) == {""}


def test_lost_dependencies_are_races(algorithms: dict[str, Callable[..., str]]) -> None:
    text = algorithms["split_allreduce"](3)
    lost = 0
    for match in re.finditer(r'depid="0" deps="\d+"', text):
        mutant = f'{text[: match.start()]}depid="-1" deps="-1"{text[match.end() :]}'
        with pytest.raises(VerificationError, match=r"race: .* nothing orders the two"):
            check(mutant)
        lost += 1
    assert lost == 9
