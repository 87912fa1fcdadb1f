"""The proofs of bounds as drawn: prices on links, nodes of a cut, parts of a machine."""

from fractions import Fraction
from typing import Any

from syncoll.certificates import Certificate, Cut, Parts
from syncoll.model import Topology
from syncoll.reporting.packing import ByteRoom, pack
from syncoll.results import Frontier
from syncoll.wording import counted


def proof_entries(frontier: Frontier, room: ByteRoom) -> dict[str, Any]:
    """The proofs for each number of steps, and the certificates that they rest on."""
    evidence = frontier.evidence
    if evidence is None:
        return {"proofs": [], "certificates": []}
    number = {id(one): i for i, one in enumerate(evidence.certificates)}

    def position(one: Certificate) -> int:
        return number.get(id(one), evidence.certificates.index(one))

    proofs = [
        {
            "steps": proof.steps,
            "bound": str(proof.bound),
            "best": None if proof.best is None else str(proof.best),
            "words": proof.words,
            "certificates": [position(one) for one in proof.certificates],
        }
        for proof in evidence.proofs
    ]
    if evidence.bandwidth:
        proofs.append(
            {
                "steps": None,
                "bound": str(frontier.least_bandwidth),
                "best": None,
                "words": "no algorithm of any number of steps has a bandwidth cost below "
                f"{frontier.least_bandwidth}",
                "certificates": [position(one) for one in evidence.bandwidth],
            }
        )
    certificates = [
        certificate_entry(one, frontier.topology, room) for one in evidence.certificates
    ]
    return {"proofs": proofs, "certificates": certificates}


def certificate_entry(one: Certificate, topology: Topology, room: ByteRoom) -> dict[str, Any]:
    """A certificate: its claim and argument, and the data to draw.

    Returns:
        ``prices``: the positions of ``limits``, their ``steps`` (0 for one price for all steps) and
            the index of each price in ``values``, or None without room; ``inside``: the nodes of a
            cut; ``parts``: for each node its part.
    """
    bound = one.bound
    priced = bound.link_prices(topology)
    values = sorted({price for _, _, price in priced})
    number = {price: i for i, price in enumerate(values)}
    prices = room.take(
        pack(
            [
                [i for i, _, _ in priced],
                [step or 0 for _, step, _ in priced],
                [number[price] for _, _, price in priced],
            ]
        )
    )
    argument = None if bound.certificate is None else bound.certificate.argument
    return {
        "steps": bound.steps,
        "rounds": str(bound.rounds),
        "chunks": one.shape.chunks,
        "bandwidth": str(one.bandwidth),
        "words": _words(one, topology),
        "by_step": any(step is not None for _, step, _ in priced),
        "prices": prices,
        "values": [str(price) for price in values],
        "inside": list(argument.nodes) if isinstance(argument, Cut) else None,
        "inwards": bound.mirrored,
        "parts": list(argument.parts) if isinstance(argument, Parts) else None,
    }


def _words(one: Certificate, topology: Topology) -> list[str]:
    bound, chunks = one.bound, one.shape.chunks
    per_node = f"C = {chunks}"
    end = f"so that R is at least {bound.rounds} with {per_node}: R/C >= {one.bandwidth}."
    if bound.certificate is None:
        return ["Nothing needs to be proved: R is at least 0."]
    if bound.method == "cut":
        covers = (topology.bounds[i].chunks_per_round for i, _ in bound.certificate.prices)
        room = sum(covers, Fraction(0))
        way = "enter" if bound.mirrored else "leave"
        crossing = counted(bound.rounds * room, "chunk")
        crossing += ", or partial results of them," if one.shape.combining else ""
        return [
            f"With {per_node}, {crossing} must {way} the marked nodes in every algorithm.",
            f"The links that {way} them carry {counted(room, 'chunk')} per round together, {end}",
        ]
    if bound.method == "sends":
        return [
            "Nodes of one colour are one part of the machine. A chunk with contributors in a parts "
            "that is needed in b of them takes at least a + b - 2 sends between parts.",
            "Each such send pays the price of its link, which is at least 1. A round has room for "
            f"the sum of all prices times the room of their links, {end}",
        ]
    first = "Put a price on links such that everything that a round can carry costs at most 1" + (
        "." if bound.steps is None else " in each step."
    )
    second = _PAID[bound.method].format(bound.rounds)
    return [first, second, f"Rounds pay for all of it, {end}"]


_PAID = {
    "completions": "Some node knows a sum first. All contributions have to reach that node, and "
    "every other node that needs the sum has to receive its missing contributions.",
    "gossip": "The sends of a chunk hold a tree from every contributor and one into every node "
    "that needs the sum; each send divides its price among them.",
    "boxes": "Each node of a box sends something before the box's last contribution leaves it, and "
    "receives something after the last one came. Boxes exchange in the cheapest order.",
    "switches": "A value pays once where switches copy it, and once where switches add it up. "
    "The price counts the cheapest way to form a sum in these steps and to copy it.",
    "trees": "A chunk needs a tree of sends to all its destinations; the cheapest trees of all "
    "chunks cost {} together.",
    "prices": "Even on the cheapest ways, everything that has to be sent costs {} together.",
}
"""By method, the payment of chunks; with the sum, if it is that of all chunks alone."""
