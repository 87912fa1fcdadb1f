"""Flows over time: proves that an algorithm, of any number of chunks, takes longer than a deadline.

Put a price on each lane and interval of time, for a byte that enters the lane in it.  Until the
deadline the lanes have room for

    sum over lanes and intervals of  price * bytes per second of the lane * seconds of the interval.

Each byte of a chunk moves along lanes from a source to a destination, and pays at least the
cheapest way through time (Ford & Fulkerson 1958; Fleischer & Skutella 2007 for several flows).  If
chunks pay more than the room is worth, they are not all there at the deadline.
docs/certificates.md, "Flows over time", has the argument: it holds for chunks of any size, in any
order of sends.  Intervals need not match latencies: a byte counts as entering at the start of an
interval, so it arrives no later than in the schedule, and ways only get cheaper.

A byte with several destinations moves along a tree, which has a way to each of them.  A passage may
divide its price among the destinations.  Then the byte pays at least the cheapest way to each one
under its shares (the dual of Wong's relaxation of Steiner trees, 1984).

A `DemandView` that is mirrored runs backwards in time from the deadline, on reversed lanes.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates.chunk_classes import ChunkClasses, DemandView, NodeNumber
from syncoll.certificates.link_prices import LARGEST, Table
from syncoll.errors import ModelError, VerificationError

_MOST_INTERVALS, _MOST_CELLS = 1 << 10, 1 << 27
"""Limits on intervals, and on intervals times places times destinations, for the check."""


@dataclass(frozen=True, order=True)
class Passage:
    """A passage of a lane, by its position, from one place to the next; the seconds pass from
    entering the lane to being at the next place."""

    tail: int
    head: int
    lane: int
    seconds: Fraction


@dataclass(frozen=True)
class TimedNetwork:
    """The lanes of a machine in seconds and bytes.

    Args:
        places: number of nodes, which come first, and of other places between two lanes.
        rates: bytes per second of each lane.
    """

    nodes: int
    places: int
    passages: tuple[Passage, ...]
    rates: tuple[Fraction, ...]

    def reversed(self) -> "TimedNetwork":
        """The network with time running backwards.

        Bytes that leave a lane together may have entered it apart, and have more room, if their
        passages differ.  So each passage is as fast as the fastest one of its lane.  Passages keep
        their order.
        """
        slowest_first = sorted(self.passages, key=lambda one: -one.seconds)
        least = {one.lane: one.seconds for one in slowest_first}
        turned = (Passage(one.head, one.tail, one.lane, least[one.lane]) for one in self.passages)
        return replace(self, passages=tuple(turned))


@dataclass(frozen=True)
class FlowsOverTime:
    """Prices of lanes in intervals.

    Args:
        times: seconds at which intervals begin, from 0 on, and the deadline.
        prices: (lane, interval) to a whole number above 0.
        payments: for each destination the positions of the demands that pay for their ways to it.
        reading: the demands, see `DemandView`.
        node: for a reading that is about one node.
        shares: for each payment its part of the price, from (passage, interval); without them each
            payment is of whole prices, and no demand pays for two destinations.
    """

    times: tuple[Fraction, ...]
    prices: Mapping[tuple[int, int], int]
    payments: tuple[tuple[NodeNumber, tuple[int, ...]], ...]
    reading: DemandView = DemandView.MOVING
    node: int | None = None
    shares: tuple[Mapping[tuple[int, int], int], ...] = ()

    @property
    def deadline(self) -> Fraction:
        """Seconds."""
        return self.times[-1]

    def most_bytes(self, network: TimedNetwork, shape: ChunkClasses) -> Fraction:
        """The most bytes of one node's data that may arrive in time: with more, every algorithm
        takes longer than the deadline.  Raises `VerificationError` if the proof breaks a rule."""
        intervals = len(self.times) - 1
        ascends = all(a < b for a, b in pairwise((Fraction(0), *self.times[1:])))
        if not 0 < intervals <= _MOST_INTERVALS or self.times[0] or not ascends:
            raise VerificationError(f"{intervals} intervals that do not ascend from 0")
        room = Fraction(0)
        for (lane, i), price in self.prices.items():
            if not (0 <= lane < len(network.rates) and 0 <= i < intervals and price > 0):
                raise VerificationError(f"a price of {price} for lane {lane} in interval {i}")
            room += price * network.rates[lane] * (self.times[i + 1] - self.times[i])
        paid = self._paid(network.reversed() if self.reading.mirrored else network, shape)
        if not paid:
            raise VerificationError("no demand pays for its way")
        return room * shape.chunks / paid

    def _paid(self, network: TimedNetwork, shape: ChunkClasses) -> int:
        try:
            demands = shape.demands(self.reading, self.node)
        except ModelError as error:
            raise VerificationError(str(error)) from error
        if not {k for _, ks in self.payments for k in ks} <= {*range(len(demands))}:
            raise VerificationError("a payment of a demand that does not exist")
        self._require_shares(network)
        ends, paid = [end for end, _ in self.payments], 0
        if not {*ends} <= {*range(network.nodes)}:
            raise VerificationError("a payment for a node that does not exist")
        wide = network.places + (len(network.passages) if self.shares else 0)
        if len(self.times) * wide * len(ends) > _MOST_CELLS:
            raise VerificationError(f"more than {_MOST_CELLS} places and intervals")
        for (end, ks), ways in zip(self.payments, self._ways(network, ends).T, strict=True):
            for k in ks:
                if end not in demands[k].destinations:
                    raise VerificationError(f"demand {k} does not need node {end}")
                least = min((int(ways[n]) for n in demands[k].sources), default=0)
                paid += demands[k].count * least
        return paid

    def _require_shares(self, network: TimedNetwork) -> None:
        """Checks that no demand pays more than the prices."""
        owners = defaultdict[int, list[int]](list)
        for number, (_, ks) in enumerate(self.payments):
            for k in ks:
                owners[k].append(number)
        if not self.shares:
            if any(len(one) > 1 for one in owners.values()):
                raise VerificationError("a demand pays the whole prices twice")
            return
        if len(self.shares) != len(self.payments):
            raise VerificationError(f"{len(self.shares)} shares for {len(self.payments)} payments")
        for (passage, i), value in (one for share in self.shares for one in share.items()):
            if not (0 <= passage < len(network.passages) and i >= 0 and value > 0):
                raise VerificationError(f"a share of {value} for passage {passage}, interval {i}")
        for together in {tuple(one) for one in owners.values()}:
            spent = Counter[tuple[int, int]]()
            for number in together:
                spent.update(self.shares[number])
            for (passage, i), value in spent.items():
                if value > self.prices.get((network.passages[passage].lane, i), 0):
                    raise VerificationError(f"shares above the price of passage {passage}")

    def _ways(self, network: TimedNetwork, ends: Sequence[int]) -> Table:
        """``[places, ends]``: the cost of the cheapest way from each place at time 0 to each
        destination by the deadline, under its share; without a way the sum of all prices, which is
        no more."""
        most = sum(self.prices.values())
        kind = np.int64 if most < LARGEST >> 1 else object
        order = sorted(range(len(network.passages)), key=lambda one: network.passages[one])
        passages = [network.passages[one] for one in order]
        tails, starts = np.unique([one.tail for one in passages], return_index=True)
        heads = np.array([one.head for one in passages], dtype=np.int64)
        shape = len(self.times) - 1, len(passages), len(self.shares) or 1
        price: Table = np.zeros(shape, dtype=kind)
        if self.shares:
            place = {passage: at for at, passage in enumerate(order)}
            for number, share in enumerate(self.shares):
                for (passage, i), value in share.items():
                    price[i, place[passage], number] = value
        else:
            on_lane: Table = np.zeros((len(self.times) - 1, len(network.rates)), dtype=kind)
            for (lane, i), value in self.prices.items():
                on_lane[i, lane] = value
            price[:, :, 0] = on_lane[:, [one.lane for one in passages]]
        after = arrivals(self.times, [one.seconds for one in passages])
        cost: Table = np.full((len(self.times), network.places, len(ends)), most, dtype=kind)
        for i in reversed(range(len(self.times) - 1)):
            cost[i] = cost[i + 1]
            cost[i, ends, np.arange(len(ends))] = 0
            while len(tails):
                over = cost[after[i], heads] + price[i]
                least = np.minimum(np.minimum.reduceat(over, starts, axis=0), cost[i, tails])
                if (least == cost[i, tails]).all():
                    break
                cost[i, tails] = least
        first: Table = cost[0]
        return first


def arrivals(times: Sequence[Fraction], seconds: Sequence[Fraction]) -> Ints:
    """``[intervals, passages]``: the interval in which a byte arrives that enters at the start of
    an interval; after the deadline the number of intervals."""
    table = {one: [bisect_right(times, at + one) - 1 for at in times[:-1]] for one in {*seconds}}
    found = np.array([table[one] for one in seconds], dtype=np.int64)
    return found.reshape(len(seconds), len(times) - 1).T
