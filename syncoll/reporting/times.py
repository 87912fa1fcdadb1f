"""Times for each size, and the assumptions behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from syncoll.documents import StoredAlgorithm
from syncoll.planning import CostModel, MessageMeasure, message_of
from syncoll.reporting.subject import Subject
from syncoll.simulating import Comparison, Timed
from syncoll.units import format_bandwidth, format_time

__all__ = ["ASSUMED_ALPHA", "ASSUMED_BANDWIDTH", "Rival", "Simulated", "Times"]

ASSUMED_ALPHA = Fraction(1, 10**6)
ASSUMED_BANDWIDTH = Fraction(25 * 10**9)
"""Used if the speed of the machine is unknown."""

_SIMULATED = "the simulator: a send leaves when its data is there and its lane is free"


@dataclass(frozen=True, eq=False)
class Rival:
    """An algorithm to compare with: a classic, or a pipeline.

    Args:
        name: such as ``ring``.
        forms: the fastest counts, for each size; of a pipeline some members.
    """

    name: str
    forms: tuple[StoredAlgorithm, ...]
    classic: bool

    def seconds(self, model: CostModel, size: int) -> Fraction:
        """By the formula, for a size of one node's data."""
        return min(model.seconds(one.steps, one.bandwidth, size) for one in self.forms)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated asynchronous times.

    Args:
        sizes: of one node's data, in bytes.
        entries: for each entry of the report a time for each size, in seconds.
        rivals: the same for each rival.
    """

    sizes: tuple[float, ...]
    entries: tuple[tuple[float, ...], ...]
    rivals: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Times:
    """The model of a report, and its times.

    Args:
        alpha_from: the origin of alpha: "given", "as the machine is described" or "assumed".
        beta_from: the same of beta.
        rivals: pipelines, then classics that run on this machine.
        simulated: None without simulation.
        left_out: omissions, with the reasons.
    """

    model: CostModel
    alpha_from: str
    beta_from: str
    message: MessageMeasure
    rivals: tuple[Rival, ...] = ()
    simulated: Simulated | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        subject: Subject,
        model: CostModel,
        alpha_from: str,
        beta_from: str,
        compared: Comparison | None = None,
        left_out: Mapping[str, str] | None = None,
    ) -> Times:
        """By the formula, and by the simulator where a comparison is given.

        Args:
            compared: of the subject's algorithms in their order, then members of pipelines; with
                classics.
            left_out: why there is none.
        """
        message = message_of(one.stored.instance for one in subject.entries)
        how = (model, alpha_from, beta_from, message)
        if compared is None:
            return cls(*how, left_out=dict(left_out or {}))
        count = len(subject.entries)
        rows = [_floats(one.seconds) for one in compared.algorithms[:count]]
        forms: dict[tuple[str, bool], list[Timed]] = {}
        for one in compared.algorithms[count:]:
            forms.setdefault((_pipeline(one.name), False), []).append(one)
        for one in compared.classics:
            forms.setdefault((one.classic, True), []).append(one)
        rivals = [
            Rival(name, tuple(one.algorithm for one in each), classic)
            for (name, classic), each in forms.items()
        ]
        fastest = [
            _floats([min(times) for times in zip(*(one.seconds for one in each), strict=True)])
            for each in forms.values()
        ]
        sizes = _floats([message.node_bytes(size) for size in compared.sizes])
        simulated = Simulated(sizes, tuple(rows), tuple(fastest))
        return cls(*how, tuple(rivals), simulated, dict(compared.left_out))

    @property
    def words(self) -> str:
        """The model in a sentence."""
        return (
            f"alpha = {format_time(self.model.alpha)} a step ({self.alpha_from}); a link of one "
            f"chunk per round carries {format_bandwidth(self.model.bandwidth)} ({self.beta_from})"
        )

    def entry(self) -> dict[str, Any]:
        """For the page; times are in seconds, bandwidths in bytes per second."""
        simulated = None if self.simulated is None else vars(self.simulated)
        return {
            "alpha": float(self.model.alpha),
            "bandwidth": float(self.model.bandwidth),
            "alpha_from": self.alpha_from,
            "beta_from": self.beta_from,
            "per_node": float(self.message.per_node),
            "message": self.message.words if self.message.measured else "",
            "rivals": [
                {
                    "name": one.name,
                    "classic": one.classic,
                    "forms": [(form.steps, str(form.bandwidth)) for form in one.forms],
                }
                for one in self.rivals
            ],
            "simulated": simulated and {"words": _SIMULATED, **simulated},
        }


def _floats(seconds: Sequence[Fraction]) -> tuple[float, ...]:
    return tuple(map(float, seconds))


def _pipeline(where: str) -> str:
    """The name of the pipeline of a member such as ``families[0].member(5)``."""
    number = where.partition("[")[2].partition("]")[0]
    return "pipeline" if number == "0" else f"pipeline {number}"
