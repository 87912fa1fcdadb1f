"""The collectives of these seeds: every node contributes to every chunk and needs it."""

from fractions import Fraction

from syncoll.model import UNREACHABLE, Collective, Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.plugins import Answer

MOST_CONTRIBUTIONS = MOST_CELLS << 7
"""Most sends (one per orbit) times nodes of an algorithm; limits memory."""

MOST_ENDS = 2 * MOST_CELLS
"""Most links times nodes, and links times the square of S; limits work."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether every node contributes to every chunk and needs it."""
    if not collective.combining:
        return Answer(False, "it does not combine contributions")
    if topology.num_nodes < 3:
        return Answer(False, "it needs at least three nodes")
    if len(topology.links) * topology.num_nodes > MOST_ENDS:
        return Answer(False, "the network has too many links times nodes")
    if topology.distances.max() == UNREACHABLE:
        return Answer(False, "not every node reaches every other")
    chunks = collective.least_chunks(topology.num_nodes)
    if chunks is None:
        return Answer(False, "the collective admits no small C")
    table = collective.tabulate(topology.num_nodes, chunks)
    if not (table.pre.all() and table.post.all()):
        return Answer(False, "not every node contributes to every chunk and needs it")
    return Answer(True)


def chunks_of(topology: Topology, collective: Collective) -> tuple[int, Fraction]:
    """The divisor of the number of chunks, and the chunks per unit of C."""
    least = collective.least_chunks(topology.num_nodes)
    assert least is not None  # checked by `fits`
    multiple = len(collective.tabulate(topology.num_nodes, least))
    return multiple, Fraction(multiple, least)
