"""Fits: the costs of a runtime from measured times.

The costs of the start are multiplied by factors for all protocols, and by smaller ones for each.
The logarithms of factors are least squares of two kinds: distances of logarithms of times, which
count less from some size on, and the factors themselves.  So three rows move the few costs that
they show, and many rows move all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.arrays import Floats
from syncoll.errors import UsageError
from syncoll.measuring.ways import Load, Way
from syncoll.runtime import Kind
from syncoll.simulating import Hop, Protocol, Reach, Runtime
from syncoll.wording import counted

_LEAST_ROWS, _FOLDS = 3, 5

_ROWS_FOR_ERROR = 8
"""With fewer rows the error is the one of the runtime from which the fit starts."""

_NOISE = 0.1
"""A distance of logarithms that is usual between a model and a measurement."""

_COMMON, _OWN = 0.7, 0.25
"""Usual logarithms of factors, for all protocols and for each."""

_OUTLIER = 0.5

_MOST_ITERATIONS, _MOST_DAMPING, _STEP, _ENOUGH = 60, 1e8, 1e-4, 1e-5
"""Limits of least squares, the step of slopes, and the part of the sum that is worth a step."""

_NUM_COSTS = 1 + 2 * len(Reach)
"""The call, then the hops by kind of link, then the shares."""

_DECADES = ((1 << 16, "below 64 KiB"), (1 << 24, "64 KiB to 16 MiB"), (1 << 62, "above 16 MiB"))


@dataclass(frozen=True)
class Sample:
    """A measured time, and the ways in which the library may have done it.

    Args:
        size: bytes of the message.
        gpus: of a process.
        name: of the log, for people.
    """

    size: int
    seconds: float
    ways: tuple[Way, ...]
    kind: Kind
    gpus: int = 1
    name: str = ""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted runtime, and how well it does.

    Args:
        runtime: with its source and its error.
        errors: |time / measured time - 1| of each sample.
        before: the same errors of the runtime from which the fit started.
        held_out: the same errors of fits to other samples.
    """

    runtime: Runtime
    samples: tuple[Sample, ...]
    errors: Floats
    before: Floats
    held_out: Floats

    @property
    def outliers(self) -> list[Sample]:
        """The samples that the fit does not explain."""
        return [self.samples[i] for i in np.flatnonzero(self.errors > _OUTLIER).tolist()]

    def by_decade(self) -> dict[str, float]:
        """The median error for messages of some sizes."""
        words = np.array([decade_of(one.size) for one in self.samples])
        known = (word for _, word in _DECADES if word in words)
        return {word: float(np.median(self.errors[words == word])) for word in known}


def decade_of(size: int) -> str:
    """The sizes in words to which a size belongs."""
    return next(word for most, word in _DECADES if size < most)


def fit(samples: Sequence[Sample], start: Runtime) -> Fit:
    """Fits the call, the hops and the shares of each protocol.  Raises `UsageError` if there are
    fewer than three rows."""
    if len(samples) < _LEAST_ROWS:
        rows = counted(len(samples), "row")
        raise UsageError(f"{rows} to fit costs to; expected at least {_LEAST_ROWS}")
    made, held, number = fitted(samples, start), np.empty(len(samples)), len(samples)
    for part in range(min(_FOLDS, number)):
        kept = [one for i, one in enumerate(samples) if i % _FOLDS != part]
        held[part::_FOLDS] = _errors(fitted(kept, start), samples[part::_FOLDS])
    rows, logs = counted(number, "row"), ", ".join(dict.fromkeys(one.name for one in samples))
    made = replace(
        made,
        source=f"{start.name} fitted to {rows} of {logs}",
        error=Fraction(f"{np.median(held):.3g}") if number >= _ROWS_FOR_ERROR else start.error,
        basis=f"calibrated on {rows} of the machine",
    )
    return Fit(made, tuple(samples), _errors(made, samples), _errors(start, samples), held)


def predicted(runtime: Runtime, samples: Sequence[Sample]) -> Floats:
    """Seconds of each sample under a runtime."""
    return _Rows(samples, runtime).seconds()


def _errors(runtime: Runtime, samples: Sequence[Sample]) -> Floats:
    away: Floats = np.abs(predicted(runtime, samples) / [x.seconds for x in samples] - 1)
    return away


class _Rows:
    """Samples as arrays over (sample, way, kind of link), padded by repeating the last way."""

    def __init__(self, samples: Sequence[Sample], runtime: Runtime) -> None:
        most = max(len(one.ways) for one in samples)
        ways = [(*one.ways, *one.ways[-1:] * (most - len(one.ways))) for one in samples]
        loads = [[[astuple(y.loads.get(x, Load())) for x in Reach] for y in z] for z in ways]
        self._latency, self._hops, *rest = np.moveaxis(np.array(loads, float), -1, 0)
        self._share, self._rate, self._cables = rest
        self._messages, self._sent = np.array([[(x.messages, x.sent) for x in y] for y in ways]).T
        self._size = np.array([float(one.size) for one in samples])
        self._gpus = np.array([one.gpus - 1.0 for one in samples])
        self._runtime, asked = runtime, list(zip(samples, ways, strict=True))
        used = [[runtime.protocols_for(one.kind, way.name) for way in each] for one, each in asked]
        self._runs = [  # for each protocol ``[ways, samples]``
            np.array([[x in own for own in each] for each in used]).T for x in runtime.protocols
        ]

    def seconds(self, factors: Floats | None = None) -> Floats:
        """``[samples]``: the least time over ways and protocols.

        Args:
            factors: ``[1 + protocols, costs]``, logarithms for all protocols, and for each.
        """
        protocols, found = self._runtime.protocols, np.full(len(self._size), np.inf)
        if factors is None:
            factors = np.zeros((1 + len(protocols), _NUM_COSTS))
        for one, own, runs in zip(protocols, factors[1:], self._runs, strict=True):
            each = np.where(runs, self._of(one, np.exp(factors[0] + own)), np.inf)
            found = np.minimum(found, each.min(axis=0))
        return found + float(self._runtime.per_gpu) * self._gpus

    def _of(self, one: Protocol, scale: Floats) -> Floats:
        """``[ways, samples]``: seconds in a protocol whose costs are scaled."""
        call, (factor, extra, share, most) = _costs(one, scale)
        busy = (self._share / np.minimum(self._rate * share, self._cables * most)).max(axis=2).T
        if one.block_rate is not None:
            busy = np.maximum(busy, self._sent / float(one.block_rate * one.blocks))
        path = (self._latency * factor + self._hops * extra).sum(axis=2).T
        found: Floats = call + float(one.message) * self._messages + path + busy * self._size
        return found


def _costs(one: Protocol, scale: Floats) -> tuple[float, Floats]:
    """The call, and ``[4, kinds of links]``: factor, extra, share and rate, times `scale`."""
    hops = [one.hops[reach] for reach in Reach]
    costs = np.array([[x.factor, x.extra, x.share, x.rate or np.inf] for x in hops], float).T
    costs *= scale[1:].reshape(2, -1).repeat(2, axis=0)
    costs[2] = np.minimum(1.0, costs[2])
    return float(one.call) * float(scale[0]), costs


def scaled(one: Protocol, scale: Floats) -> Protocol:
    """A protocol with its costs times their factors, with four digits."""
    call, costs = _costs(one, scale)
    exact: list[list[Any]] = [
        [Fraction(f"{x:.4g}") if x < np.inf else None for x in row] for row in costs.T.tolist()
    ]
    hops = {reach: Hop(*row) for reach, row in zip(Reach, exact, strict=True)}
    return replace(one, call=Fraction(f"{call:.4g}"), hops=hops)


def fitted(samples: Sequence[Sample], start: Runtime) -> Runtime:
    """The runtime with the most likely factors."""
    rows, usual = _Rows(samples, start), np.full((1 + len(start.protocols), _NUM_COSTS), _OWN)
    usual[0], measured = _COMMON, np.array([one.seconds for one in samples])

    def distances(flat: Floats) -> Floats:
        factors = flat.reshape(usual.shape)
        away = np.log(rows.seconds(factors) / measured) / _NOISE
        robust = np.sqrt(2 * (np.sqrt(1 + away**2) - 1))  # half of its square is the soft L1 loss
        return np.concatenate([robust, (factors / usual).ravel()])

    factors = least_squares(distances, np.zeros(usual.size)).reshape(usual.shape)
    scales = np.exp(factors[0] + factors[1:])
    made = (scaled(one, scale) for one, scale in zip(start.protocols, scales, strict=True))
    return replace(start, protocols=tuple(made))


def least_squares(distances: Callable[[Floats], Floats], begin: Floats) -> Floats:
    """A local minimum of the sum of squares, by the method of Levenberg and Marquardt."""
    found, here, damping = begin, distances(begin), 1e-2
    for _ in range(_MOST_ITERATIONS):
        moved = found + _STEP * np.eye(len(found))
        slopes = np.array([(distances(one) - here) / _STEP for one in moved])
        normal, down, least = slopes @ slopes.T, slopes @ here, float(here @ here)
        while damping < _MOST_DAMPING:
            damped = normal + damping * np.diag(np.diag(normal))
            there = found - np.linalg.solve(damped, down)
            away = distances(there)
            if float(away @ away) < least:
                break
            damping *= 4
        else:
            return found
        found, here, damping = there, away, damping / 8
        if float(away @ away) > least * (1 - _ENOUGH):
            break
    return found
