"""Seeds that a background process can import."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np

from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Options, Proposal, SeedLimits, SeedRecord
from syncoll.searching import ChosenSeed

AROUND = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]

Turns = Generator[Proposal | None, SeedLimits, None]


class Made:
    """Proposes an algorithm, calls a function, and proposes an invalid algorithm."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Turns:
        """Yields a broadcast on a line of four nodes, then an invalid one."""
        algorithm = Algorithm((1, 1, 1), np.array(AROUND))
        yield Proposal(1, algorithm, f"process {os.getpid()}")
        self._then()
        yield Proposal(1, replace(algorithm, sends=np.array(AROUND[:2])))  # incomplete


def wrong() -> Made:
    """A seed whose second proposal is not an algorithm."""
    return Made(lambda: None)


def lost() -> Made:
    """A seed whose process ends early."""
    return Made(lambda: os._exit(3))


def endless() -> Made:
    """A seed that never makes its second proposal."""
    return Made(lambda: time.sleep(600))


class _Begun:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Turns:
        """Yields the warm starts."""
        time.sleep(self._seconds)
        yield from limits.known


def begun() -> _Begun:
    """A seed that proposes its warm starts."""
    return _Begun(0.0)


def slow() -> _Begun:
    """A seed that proposes its warm starts after a while."""
    return _Begun(1.5)


def of(load: Callable[[], Made | _Begun]) -> ChosenSeed:
    """The choice of a seed that resumes."""
    return ChosenSeed(SeedRecord(load.__name__, "", load, resumes=True), {})
