"""Families: algorithms for every m, which start waves of chunks one after the other (step 13)."""

from bisect import bisect_left
from fractions import Fraction
from typing import Any

from .algorithms import MOST_CELLS, WIDTH, Replay, require_room
from .layout import Json, at, require
from .machine import Machine

MOST_INTERVAL = 4096


class Family:
    """A family whose members, for all m >= first, are algorithms with the stated costs."""

    def __init__(self, written: Json, machine: Machine) -> None:
        self.first: int = written["first"]
        self.limit: Fraction = written["limit"]  # of R/C
        self.usual: list[int | Fraction] = written["rounds_per_interval"]
        self.up, self.down = written.get("ramp_up", []), written.get("ramp_down", [])
        lengths = [len(rounds) for rounds in (self.usual, self.up, self.down)]
        require(lengths[0] > 0 and max(lengths) <= MOST_INTERVAL, "rounds of no step or too many")
        forms = (written[key] for key in ("steps", "rounds", "chunks"))
        self._forms: list[tuple[Any, Any]] = [(one["base"], one["each"]) for one in forms]
        parts = {key: written[key] for key in ("wave", "head", "tail") if key in written}
        self.depth, interval = parts["wave"]["steps"], lengths[0]
        fixed = {key: part["steps"] for key, part in parts.items() if key != "wave"}
        least = self.depth + (self.first - 1) * interval
        require(least >= max(0, sum(lengths[1:]), *fixed.values(), 0), "no room for all")
        each, wave = sum(self.usual), parts["wave"]["chunks"]
        chunks = sum(part["chunks"] for part in parts.values()) - wave
        rounds = sum(self.rounds(self.first)) - each * self.first
        closed = [(self.depth - interval, interval), (rounds, each), (chunks, wave)]
        require(self._forms == closed, f"steps, rounds and chunks are {closed}")
        require(self.limit == Fraction(each, wave), f"the limit is {Fraction(each, wave)}")
        require(self.costs(self.first)[2] > 0, f"no chunks with m = {self.first}")
        require(rounds * wave > chunks * each, "R/C does not fall")
        self.replays: dict[str, Replay] = {}
        for key, part in parts.items():
            with at(key):
                self.replays[key] = Replay(part, machine)
                self.replays[key].check()
        self._require_room(machine, fixed.get("head", 0), fixed.get("tail", 0))

    def costs(self, m: int) -> tuple[int, int | Fraction, int]:
        """S, R and C."""
        s, r, c = (base + each * m for base, each in self._forms)
        return s, r, c

    def last_within(self, steps: int) -> int:
        """The largest m with at most S steps; below `first` if no member is so short."""
        base, each = self._forms[0]
        return int((steps - base) // each)

    def within(self, steps: int) -> Fraction | None:
        """The least R/C with at most S steps."""
        m = self.last_within(steps)
        return None if m < self.first else Fraction(*self.costs(m)[1:])

    def beats(self, steps: int, cost: Fraction, chunks: int) -> bool:
        """Whether a member is better in S, R/C or C, and no worse in the others."""
        members = range(self.first, self.last_within(steps) + 1)
        i = bisect_left(members, True, key=lambda m: Fraction(*self.costs(m)[1:]) <= cost)
        if i == len(members):
            return False
        s, r, c = self.costs(members[i])  # S and C rise with m
        return c <= chunks and (s, Fraction(r, c), c) != (steps, cost, chunks)

    def rounds(self, m: int) -> list[int | Fraction]:
        """The rounds of each step."""
        steps = self.depth + (m - 1) * len(self.usual)
        rounds = [self.usual[t % len(self.usual)] for t in range(steps)]
        rounds[: len(self.up)] = self.up
        rounds[steps - len(self.down) :] = self.down
        return rounds

    def _require_room(self, machine: Machine, head: int, tail: int) -> None:
        """Checks that no member sends more than its rounds allow; the page defines for which m."""
        interval = len(self.usual)
        span = (
            max(self.depth, head, len(self.up)) + max(self.depth, tail, len(self.down)) + interval
        )
        last = max(self.first, 1 - (self.depth - span) // interval)
        cells = len(machine.room) * (span + interval) * (last + 1 - self.first)
        require(cells <= MOST_CELLS, "ramps too long to check")
        summed = all(one.holds_summed() for one in self.replays.values())
        loads = {key: one.loads(summed=summed) for key, one in self.replays.items()}
        for m in range(self.first, last + 1):
            rounds = self.rounds(m)
            starts = [("wave", k * interval) for k in range(m)]
            starts += [("head", 0), ("tail", len(rounds) - tail)]
            total = [0] * len(machine.room)
            for key, start in starts:
                for j, load in enumerate(loads.get(key, ())):
                    total[j] += load << WIDTH * start
            with at(f"member {m}"):
                require_room(machine, rounds, total)
