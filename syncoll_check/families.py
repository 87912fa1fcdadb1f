"""Families: algorithms for every m, which start a wave of chunks after the other (step 13)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .algorithms import WIDTH, Replay, require_room
from .layout import Json, at, require
from .machine import Machine

__all__ = ["Family"]

MOST_INTERVAL = 4096
MOST_CELLS = 1 << 28
"""Bounds times steps of the members that are looked at."""


class Family:
    """A family all of whose members are algorithms with the stated costs.

    Attributes:
        first: the least m.
        replays: of its parts.
        wave: its chunks are those of every part, in proportion.
        limit: what R/C falls to.
    """

    def __init__(self, written: Json, machine: Machine) -> None:
        self.first: int = written["first"]
        self.wave = written["wave"]
        self.parts = [written[key] for key in ("wave", "head", "tail") if key in written]
        self.usual: list[int] = written["rounds_per_interval"]
        self.up, self.down = written.get("ramp_up", []), written.get("ramp_down", [])
        few = max(map(len, (self.usual, self.up, self.down))) <= MOST_INTERVAL
        require(self.usual and few, f"rounds of none or of more than {MOST_INTERVAL} steps")
        self._grows: list[tuple[int, int]] = [
            (written[key]["base"], written[key]["each"]) for key in ("steps", "rounds", "chunks")
        ]
        self.limit = Fraction(sum(self.usual), self.wave["chunks"])
        self._require_form(written)
        self.replays: dict[str, Replay] = {}
        for key in ("wave", "head", "tail"):
            if key in written:
                with at(key):
                    same = written[key].get("combining", False)
                    require(same is self.wave.get("combining", False), "combining differs")
                    self.replays[key] = Replay(written[key], machine)
                    self.replays[key].check()
        summed = all(one.holds_summed() for one in self.replays.values())
        self._require_room(machine, {k: x.loads(summed=summed) for k, x in self.replays.items()})

    def _require_form(self, written: Json) -> None:
        """The closed form is that of the parts."""
        interval, depth = len(self.usual), self.wave["steps"]
        fixed = self.parts[1:]
        least = depth + (self.first - 1) * interval
        room = max(0, len(self.up) + len(self.down), *(part["steps"] for part in fixed))
        require(least >= room, f"{least} steps, of which the ramps or a part take {room}")
        each, wave = sum(self.usual), self.wave["chunks"]
        grown = [
            (depth - interval, interval),
            (sum(self.rounds(self.first)) - each * self.first, each),
            (sum(part["chunks"] for part in fixed), wave),
        ]
        require(self._grows == grown, f"steps, rounds and chunks are {grown}")
        require(self.limit == written["limit"], f"the limit is {self.limit}")
        require(self.costs(self.first)[2] > 0, f"no chunks with m = {self.first}")
        require(grown[1][0] * wave > grown[2][0] * each, "R/C does not fall")

    def costs(self, m: int) -> tuple[int, int, int]:
        """S, R and C."""
        s, r, c = (base + each * m for base, each in self._grows)
        return s, r, c

    def last_within(self, steps: int) -> int:
        """The largest m with at most so many steps; below `first` where there is none."""
        base, each = self._grows[0]
        return (steps - base) // each

    def within(self, steps: int) -> Fraction | None:
        """The least R/C with at most so many steps."""
        m = self.last_within(steps)
        return None if m < self.first else Fraction(*self.costs(m)[1:])

    def rounds(self, m: int) -> list[int]:
        """Of each step."""
        steps = self.wave["steps"] + (m - 1) * len(self.usual)
        rounds = [self.usual[t % len(self.usual)] for t in range(steps)]
        rounds[: len(self.up)] = self.up
        rounds[steps - len(self.down) :] = self.down
        return rounds

    def _require_room(self, machine: Machine, loads: dict[str, Sequence[int]]) -> None:
        """Passes where no member sends more than its rounds allow, see the page for which m."""
        depth, interval = self.wave["steps"], len(self.usual)
        fixed = dict(zip(list(loads)[1:], (part["steps"] for part in self.parts[1:]), strict=True))
        span = max(depth, fixed.get("head", 0), len(self.up))
        span += max(depth, fixed.get("tail", 0), len(self.down)) + interval
        last = max(self.first, 1 - (depth - span) // interval)
        cells = len(machine.room) * (span + interval) * (last + 1 - self.first)
        require(cells <= MOST_CELLS, "ramps too long to be looked at")
        nothing = [0] * len(machine.room)
        for m in range(self.first, last + 1):
            rounds = self.rounds(m)
            total = list(loads.get("head", nothing))
            end = WIDTH * (len(rounds) - fixed.get("tail", 0))
            for j, tail in enumerate(loads.get("tail", nothing)):
                total[j] += tail << end
                total[j] += sum(loads["wave"][j] << WIDTH * k * interval for k in range(m))
            with at(f"member {m}"):
                require_room(machine, rounds, total)
