"""Alpha and beta of a network, from two measured points of an algorithm.

By S alpha + (R/C) L beta, and in every simulation without overheads, times are proportional to
(alpha, beta) together: alpha times a function of L beta / alpha. The ratio of two times therefore
determines beta / alpha, which bisection finds, and either time then determines alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

__all__ = ["Fitted", "Model", "Point", "fit", "lockstep"]

Point = tuple[int, float]
"""Bytes of one node's data, and seconds."""

Fitted = tuple[float, float]
"""Alpha in seconds, and beta in seconds for each byte of a link of one chunk per round."""

Model = Callable[[float, float, int], float]
"""Seconds by alpha, beta and bytes of one node's data; proportional to alpha and beta together."""

_RANGE = 1e12
"""Of beta / alpha, either way."""
_HALVINGS = 45


def lockstep(steps: int, bandwidth_cost: Fraction) -> Model:
    """S alpha + (R/C) L beta (SCCL paper, section 3.6)."""
    return lambda alpha, beta, size: steps * alpha + float(bandwidth_cost) * size * beta


def fit(model: Model, one: Point, other: Point) -> Fitted:
    """The alpha and beta with which a model takes the measured times at two sizes.

    Raises:
        ValueError: when no alpha and beta, both at least 0, do.
    """
    small, large = sorted((one, other))
    if small[0] == large[0] or not small[1] > 0:
        raise ValueError(f"{one} and {other} are not two times of two sizes")
    wanted = large[1] / small[1]

    def grown(ratio: float) -> float:
        return model(1.0, ratio, large[0]) / model(1.0, ratio, small[0])

    low, high = 1 / _RANGE, _RANGE
    slack = 1e-9
    if not grown(low) * (1 - slack) <= wanted <= grown(high) * (1 + slack):
        raise ValueError(
            f"from {small[0]} to {large[0]} bytes times grow by {wanted:g}; by alpha and beta they "
            f"grow by {grown(low):g} to {grown(high):g}"
        )
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if grown(middle) < wanted else (low, middle)
    ratio = (low * high) ** 0.5
    alpha = small[1] / model(1.0, ratio, small[0])
    return alpha, alpha * ratio
