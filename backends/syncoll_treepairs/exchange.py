"""Seed `exchange`: all nodes exchange, which is an allreduce in as many steps as the diameter.

It is separate from `treepairs` because a search asks quick seeds first and waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.packing.whole_chunks import DealtChunks
from syncoll.plugins import OptionValue, Proposal, SeedLimits
from syncoll.plugins.turns import Proposals, ResumingSeed, Turn
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS, chunks_of, fits
from syncoll_treepairs.pairs import Pair
from syncoll_treepairs.shortest_paths import everywhere
from syncoll_treepairs.whole_pairs import few_chunks, own_sends

__all__ = ["ExchangeSeed", "fewest_steps"]

_MOST_CHUNKS = 24
"""Largest C, in multiples of the least C."""


class ExchangeSeed(ResumingSeed):
    """Proposes an allreduce in as many steps as the diameter, of a few chunks."""

    fits = staticmethod(fits)

    def proposals(
        self,
        topology: Topology,
        collective: Collective,
        turn: Turn,
        options: Mapping[str, OptionValue],
    ) -> Proposals:
        """See `ResumingSeed`."""
        multiple, per = chunks_of(topology, collective)
        dealt = fewest_steps(topology, turn.limits, multiple, per, turn.until)
        if dealt is not None:
            algorithm = own_sends(topology, dealt).tightened(topology)
            note = "all nodes exchange along shortest paths"
            yield Proposal(int(dealt.chunks / per), algorithm, note)


def fewest_steps(
    topology: Topology, limits: SeedLimits, multiple: int, per: Fraction, until: Deadline
) -> DealtChunks[Pair] | None:
    """Exchanges of all nodes; None where they have too many sends or the limits allow none.

    Args:
        multiple: the number of chunks is a multiple of it.
        per: chunks of the collective per unit of C.
        until: deadline; the best result so far is returned.
    """
    if limits.max_steps is not None and limits.max_steps < topology.distances.max():
        return None
    pairs = [Pair(core.sends, core, core.steps) for core in everywhere(topology)]
    if not pairs:
        return None
    room = MOST_CONTRIBUTIONS // max(len(pair.sends) * topology.num_nodes for pair in pairs)
    most = min(room, int((limits.max_chunks or _MOST_CHUNKS) * per), _MOST_CHUNKS * multiple)
    return few_chunks(topology, pairs, most, multiple, until)
