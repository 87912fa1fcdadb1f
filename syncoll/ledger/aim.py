"""Aim: the message sizes that a search is for, and the costs that are useful for them."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import UsageError
from syncoll.results.frontier import Point
from syncoll.units import format_bandwidth, format_size, format_time


@dataclass(frozen=True)
class Aim:
    """Sizes L of one node's data, and a model of time: S * alpha + (R/C) * L / bandwidth.

    Where links have different latencies, a step takes between the least and the greatest of them.
    When two algorithms are compared, the extra steps of one count with the least latency, and the
    steps that it saves with the greatest.

    Args:
        alpha: seconds of a step at most; at least 0.
        bandwidth: bytes per second of a link that carries one chunk per round; above 0.
        low: bytes, at least 0.
        high: bytes, not less.
        cut: number of parts into which the searched collective divides L: P for an allgather that
            becomes a reducescatter of L bytes a node.
        least: seconds of a step at least; None for `alpha`.
        per_node: bytes of a message for each byte of L, for words.
        stated: the sizes in words, where protocols with parts of the bandwidth widen the range.

    Raises:
        UsageError: on a number out of its range.
    """

    alpha: Fraction
    bandwidth: Fraction
    low: Fraction
    high: Fraction
    cut: Fraction | int = 1
    least: Fraction | None = None
    per_node: Fraction = Fraction(1)
    stated: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        if (
            not 0 <= self.of_more <= self.alpha
            or self.bandwidth <= 0
            or not 0 <= self.low <= self.high
        ):
            raise UsageError(
                f"an aim of {self.low} to {self.high} bytes at alpha = {self.alpha} s and "
                f"{self.bandwidth} bytes/s; expected sizes in order, an alpha of at least 0 and a "
                "bandwidth above 0"
            )

    @property
    def of_more(self) -> Fraction:
        """Seconds that an extra step takes at least."""
        return self.alpha if self.least is None else self.least

    def __str__(self) -> str:
        ends = (format_size(size * self.per_node) for size in self.stated or (self.low, self.high))
        sizes = " to ".join(dict.fromkeys(ends))
        times = " to ".join(dict.fromkeys((format_time(self.of_more), format_time(self.alpha))))
        return f"messages of {sizes} (alpha {times}, {format_bandwidth(self.bandwidth)})"

    def is_useful(self, steps: int, cost: Fraction, points: Iterable[Point]) -> bool:
        """Whether an algorithm of these S and R/C would be the fastest for some size.  It beats
        each point for all sizes on one side of a threshold, so it is the fastest in an interval."""
        above, below = self.low / self.cut, self.high / self.cut
        open_above = open_below = False
        for point in points:
            fewer = point.steps - steps
            gained = fewer * (self.alpha if fewer > 0 else self.of_more) * self.bandwidth
            lost = cost - point.bandwidth  # faster where lost * L < gained
            if lost == 0:
                if gained <= 0:
                    return False
            elif lost > 0 and gained / lost <= below:
                below, open_below = gained / lost, True
            elif lost < 0 and gained / lost >= above:
                above, open_above = gained / lost, True
        return above < below or (above == below and not open_above and not open_below)
