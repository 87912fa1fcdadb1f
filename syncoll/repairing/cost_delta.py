"""The cost of a damage, and the part of it that no algorithm can recover.

For each S the best R/C found on the damaged machine is compared with the whole machine's R/C, and
with the proved bound of the damaged machine: the excess of the bound over the whole machine's R/C
is unrecoverable.  A bound below the whole machine's R/C proves no loss.
"""

from dataclasses import dataclass
from fractions import Fraction

from syncoll.damage.damaged import Damaged
from syncoll.results import Frontier


@dataclass(frozen=True)
class Loss:
    """One line of the comparison.

    Args:
        steps: limit on S; None for any number of steps.
        whole: the least R/C found on the whole machine within these steps, or None.
        now: the least R/C found on the damaged machine.
        bound: a lower bound on R/C within these steps on the damaged machine; None if no algorithm
            exists.
        found_by: the seed or solver of the algorithm on the damaged machine; ``kept`` and
            ``mended`` stand for algorithms of the whole machine.
    """

    steps: int | None
    whole: Fraction | None
    now: Fraction | None
    bound: Fraction | None
    found_by: str = ""

    @property
    def lost(self) -> Fraction | None:
        """The relative increase of R/C; 1/3 means a third more."""
        return _more(self.now, self.whole)

    @property
    def lost_for_good(self) -> Fraction | None:
        """A proved lower bound on this increase; None if no loss is proved."""
        share = _more(self.bound, self.whole)
        return None if share is None or share < 0 else share

    @property
    def gap(self) -> Fraction | None:
        """The gap between the best algorithm and the bound."""
        return _more(self.now, self.bound)


def _more(high: Fraction | None, low: Fraction | None) -> Fraction | None:
    return None if high is None or not low else high / low - 1


def losses(whole: Frontier, now: Frontier) -> tuple[Loss, ...]:
    """A line for each S at which either machine has a point, and one for any number of steps."""
    steps = sorted({point.steps for point in (*whole.best, *now.best)})
    return tuple(_line(whole, now, s) for s in (*steps, None))


def _line(whole: Frontier, now: Frontier, steps: int | None) -> Loss:
    before, _ = _best(whole, steps)
    after, found_by = _best(now, steps)
    impossible = steps is not None and steps < now.least_steps
    return Loss(steps, before, after, None if impossible else bound_for(now, steps), found_by)


def _best(frontier: Frontier, steps: int | None) -> tuple[Fraction | None, str]:
    """The least R/C with at most `steps` steps, or for any number, and its seed or solver,
    pipelines included, by their limits for any number."""
    found = [(p.bandwidth, p.backend) for p in frontier.points if steps is None or p.steps <= steps]
    for family in frontier.families:
        cost = family.limit if steps is None else family.cost_within(steps)
        if cost is not None:
            found.append((cost, family.found_by))
    return min(found, key=lambda one: one[0], default=(None, ""))


def bound_for(frontier: Frontier, steps: int | None) -> Fraction:
    """The proved bound on R/C of at most `steps` steps, also by one for more; None: of any
    number."""
    least = frontier.least_bandwidth
    if steps is None or frontier.evidence is None:
        return least
    proved = (proof.bound for proof in frontier.evidence.proofs if proof.steps >= steps)
    return max(least, *proved, Fraction(0))


def percent(share: Fraction | None) -> str:
    """``+33.3 %``, ``2.5x`` from 100 % on; a dash for None."""
    if share is None:
        return "-"
    if share >= 1:
        return f"{float(1 + share):.3g}x"
    return f"{100 * float(share):+.3g} %" if share else "0 %"


@dataclass(frozen=True, eq=False)
class Repair:
    """The result of a repair.

    Args:
        machine: the damaged and the whole machine.
        whole: the given frontier.
    """

    machine: Damaged
    whole: Frontier
    frontier: Frontier

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The cost of the damage for each S; the last for any number of steps."""
        return losses(self.whole, self.frontier)
