"""Priced: prices on bounds in steps, and an argument for the payments of chunks at these prices.

Put a price on each bound and step.  The price of a send is the sum of the prices of all bounds with
its link.  So all sends of an algorithm cost at most R times the cost of a round.  An argument gives
the least cost of a chunk's sends, for any algorithm.  Distinct chunks use distinct sends, hence

    R  >=  sum of the payments of all chunks  /  cost of a round in the dearest step.

With prices for S steps, and for flows, a round must cost at most 1, and R >= the sum.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from syncoll.certificates.chunk_classes import ChunkClass, NodeNumber
from syncoll.certificates.link_prices import LinkPrices, Prices
from syncoll.errors import VerificationError
from syncoll.model import Counting, Topology


class Argument:
    """The payments of chunks at some prices, with witnesses.

    Attributes:
        method: its word in files.
        words: why chunks pay, for users.
        of_sums: whether it is about classes of combined chunks; otherwise it is about demands.
        timed: whether it needs prices for S steps (True), or one price for all steps (False: then a
            round may cost any amount, by which the payment is divided), or has either.
        every_send: whether it charges a chunk for several sends that a switch may carry as one;
            then no price may be of a bound for which switches copy or add up
            (`syncoll.model.counting`).
    """

    method: ClassVar[str]
    words: ClassVar[str] = "prices on the links"
    of_sums: ClassVar[bool] = False
    timed: ClassVar[bool | None] = True
    every_send: ClassVar[bool] = True

    @abstractmethod
    def pays(self, prices: LinkPrices, asked: Sequence[Any]) -> Fraction:
        """The payment of all chunks together.
        Raises `VerificationError` if a witness breaks a rule.

        Args:
            asked: demands, or classes of chunks, see `of_sums`.
        """


@dataclass(frozen=True)
class SumsArgument(Argument):
    """An argument about chunks that are combined; a chunk of a class pays whole sends.

    Args:
        automorphisms: for each automorphism the image of each node; they keep the links, the bounds
            with their prices, and the chunks.  One witness serves a whole orbit.
    """

    automorphisms: tuple[tuple[NodeNumber, ...], ...]

    of_sums = True

    def pays(self, prices: LinkPrices, asked: Sequence[ChunkClass]) -> Fraction:
        """The payment of all chunks; a sum of prices, so a multiple of their common divisor."""
        costs = self.costs(prices, asked).items()
        return sum((prices.whole_sends(cost) * asked[k].count for k, cost in costs), Fraction(0))

    @abstractmethod
    def costs(self, prices: LinkPrices, classes: Sequence[ChunkClass]) -> dict[int, Fraction]:
        """The least payment of a chunk, by the position of its class; others pay nothing.  Raises
        `VerificationError` when a witness breaks a rule."""


@dataclass(frozen=True)
class Priced:
    """Proves a lower bound on R.

    Args:
        steps: S, for algorithms of at most S steps; None for any number, and every step is 0.
        prices: (position of the bound in the topology, step) to its price above 0.
        argument: the payments of chunks.
    """

    steps: int | None
    prices: Prices
    argument: Argument

    def check(self, topology: Topology, asked: Sequence[Any]) -> Fraction:
        """The proved bound on R.
        Raises `VerificationError` if a price or the argument breaks a rule.

        Args:
            asked: the demands, or the classes of chunks, that the argument is about.
        """
        argument = self.argument
        if argument.timed not in (None, self.steps is not None):
            kind = "a number of steps" if argument.timed else "any number of steps"
            raise VerificationError(f"the method {argument.method} is about {kind} only")
        prices = LinkPrices.of(topology, self.steps, self.prices)
        if argument.every_send:
            for i, _ in self.prices:
                if topology.bounds[i].counts is not Counting.SENDS:
                    raise VerificationError(
                        f"bound {i} has a price in a proof that counts every send, but its switch "
                        "copies or adds up"
                    )
        if argument.timed is not False:
            for step, cost in enumerate(prices.rooms):
                if cost > 1:
                    raise VerificationError(f"a round of step {step} costs {cost}, more than 1")
            return argument.pays(prices, asked)
        paid, room = argument.pays(prices, asked), prices.rooms[0]
        if paid and not room:
            raise VerificationError(f"chunks pay {paid}, but no link that they need has a price")
        return paid / room if paid else Fraction(0)

    def scaled(self, factor: Fraction) -> "Priced":
        """The same with `factor` times the rounds, on a topology of as much less bandwidth: all
        prices grow alike, unless the payment is divided by the cost of a round."""
        if self.argument.timed is False:
            return self
        prices = {at: price * factor for at, price in self.prices.items()}
        return replace(self, prices=prices, argument=_scaled(self.argument, factor))

    def renumbered(self, bounds: Sequence[int]) -> "Priced":
        """The same on a topology whose bounds have other positions: `bounds[i]` for i."""
        moved = {(bounds[i], step): price for (i, step), price in self.prices.items()}
        return replace(self, prices=moved)


def _scaled(value: Any, factor: Fraction) -> Any:
    """An argument or a witness whose prices, or parts of prices, grow by a factor."""
    if isinstance(value, Mapping):
        return {at: price * factor for at, price in value.items()}
    if isinstance(value, tuple):
        return tuple(_scaled(one, factor) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    own = {one.name: getattr(value, one.name) for one in fields(value)}
    return replace(value, **{name: _scaled(one, factor) for name, one in own.items()})
