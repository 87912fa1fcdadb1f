"""Seeds that a process of their own can import."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

import numpy as np

from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.searching import ChosenSeed

AROUND = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]

Turns = Generator[Proposal | None, SeedLimits, None]


class Made:
    """Proposes an algorithm, does something, and proposes what is none."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Turns:
        """A broadcast on a line of four nodes, and what comes after it."""
        algorithm = Algorithm((1, 1, 1), np.array(AROUND))
        yield Proposal(1, algorithm, f"process {os.getpid()}")
        self._then()
        yield Proposal(1, replace(algorithm, sends=np.array(AROUND[:2])))  # is none


def wrong() -> Made:
    """Its second proposal is not an algorithm."""
    return Made(lambda: None)


def lost() -> Made:
    """Its process ends before it does."""
    return Made(lambda: os._exit(3))


def endless() -> Made:
    """It never comes to its second."""
    return Made(lambda: time.sleep(600))


class _Begun:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Turns:
        """What it is told to begin with."""
        time.sleep(self._seconds)
        yield from limits.known


def begun() -> _Begun:
    """It proposes what it is told to begin with."""
    return _Begun(0.0)


def slow() -> _Begun:
    """It does so after a while."""
    return _Begun(1.5)


def of(load: Callable[[], Made | _Begun]) -> ChosenSeed:
    """One of them, which resumes."""
    return ChosenSeed(SeedRecord(load.__name__, "", load, resumes=True), {})
