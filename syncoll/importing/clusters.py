"""Clusters: several boxes like the machine of a dump, joined by the network cards in it.

A dump lists cards and their distances from each GPU, but not their other ends.  The assumed network
is the simplest: the cards of all boxes meet in one non-blocking switch.  With rails, each card and
the same card of the other boxes have a switch of their own.

Within a box a GPU uses its nearest cards, as in NCCL and RCCL, over a link as fast as the card;
GPUs that share a card share its bandwidth to the network.  A card at a switch of the machine (if it
has PCIe) is reached through that switch.  A card that is not the nearest of any GPU, as most
storage cards are not, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from syncoll.errors import OptionError, PluginError
from syncoll.importing.description import TextError, shortened
from syncoll.importing.rates import parse_rate
from syncoll.model import Fabric, FabricLink
from syncoll.plugins import Imported, NetworkCard, OptionValue
from syncoll.spec import limits
from syncoll.wording import few

__all__ = ["CARD", "LANES", "REACH", "join_boxes", "nearest_nodes", "used_cards"]

CARD = "network card"
"""The label of a link between a card and the network."""
REACH = "to a network card"
"""The label of a link between the machine and a card, which is as fast as the card."""
LANES = "PCIe of a network card"
"""The label of such a link that is slower than the card."""
_MOST_SHOWN = 16


def join_boxes(
    imported: Imported, options: Mapping[str, OptionValue], label: str, owner: str
) -> Imported:
    """The cluster of the options, or the machine alone with a note on its cards.

    Raises OptionError for importer `owner` if the speed of a card is invalid or missing, or a
    chosen card does not exist; ImportFormatError without cards, or for too large a cluster.
    """
    boxes = int(options["boxes"])
    given = _given_rate(options, owner)
    if boxes == 1:
        _chosen(imported.cards, options, label, owner)  # fails for cards that do not exist
        if not imported.cards:
            return imported
        return replace(imported, notes=(*imported.notes, _left_out(imported)))
    used = used_cards(imported.cards, options, label, owner)
    joined = []
    for card, near in zip(used, nearest_nodes(used), strict=True):
        rate = given or card.bandwidth
        if rate is None:
            raise OptionError(
                f"{owner} with boxes={boxes} needs the speed of the network cards, which "
                f"{label} does not state: set card=50GB/s or card=400Gb/s"
            )
        joined.append((card, rate, near))
    chosen = _chosen(imported.cards, options, label, owner)
    return _cluster(imported, joined, chosen, boxes, options["rails"] == "yes")


_Joined = Sequence[tuple[NetworkCard, Fraction, Sequence[int]]]
"""The cards of a box, each with its GB/s and the nodes that have no nearer card."""


def used_cards(
    cards: Sequence[NetworkCard], options: Mapping[str, OptionValue], label: str, owner: str
) -> tuple[NetworkCard, ...]:
    """The chosen cards that are nearest to some node, in the order of the dump.

    Raises OptionError if a chosen card does not exist, ImportFormatError without any.
    """
    if not cards:
        raise TextError(
            f"boxes={options['boxes']}, but it lists no network cards to join boxes",
            "a description with network cards: the output of `nvidia-smi topo -m` on a machine "
            "with cards, or the XML that NCCL and RCCL write (importer nccl-xml)",
        )
    chosen = _chosen(cards, options, label, owner)
    near = nearest_nodes(chosen)
    return tuple(card for card, nodes in zip(chosen, near, strict=True) if nodes)


def nearest_nodes(cards: Sequence[NetworkCard]) -> list[list[int]]:
    """For each card the nodes that have no nearer card."""
    least = [min(column) for column in zip(*(card.distances for card in cards), strict=True)]
    return [[n for n, far in enumerate(card.distances) if far == least[n]] for card in cards]


def _given_rate(options: Mapping[str, OptionValue], owner: str) -> Fraction | None:
    """The option `card`, if given; it needs a unit, because cards are sold by bits."""
    text = str(options["card"]).strip()
    if not text:
        return None
    rate = parse_rate(text)
    if rate is None or text[-1:].isdigit():
        raise OptionError(
            f"option card of {owner} is {text!r}; it must be a bandwidth above 0 with its unit, "
            "such as 50GB/s or 400Gb/s"
        )
    return rate


def _chosen(
    cards: Sequence[NetworkCard], options: Mapping[str, OptionValue], label: str, owner: str
) -> list[NetworkCard]:
    text = str(options["cards"]).strip()
    if not text:
        return list(cards)
    names = [name.strip() for name in text.split("+")]
    for name in names:
        if not any(name and name in (card.name, card.alias) for card in cards):
            known = _few(cards) or "none"
            raise OptionError(
                f"option cards of {owner} names {name!r}, but {label} has no such card; its "
                f"network cards: {known}"
            )
    return [card for card in cards if {card.name, card.alias}.intersection(names)]


def _called(card: NetworkCard) -> str:
    return f"{card.name} ({card.alias})" if card.alias else card.name


def _few(cards: Sequence[NetworkCard]) -> str:
    return shortened([_called(card) for card in cards], _MOST_SHOWN)


def _node(imported: Imported, node: int) -> str:
    return imported.names[node] if imported.names else f"node {node}"


def _left_out(imported: Imported) -> str:
    lines = []
    for card, nodes in zip(imported.cards, nearest_nodes(imported.cards), strict=True):
        speed = "" if card.bandwidth is None else f", {float(card.bandwidth):g} GB/s"
        near = ", ".join(_node(imported, node) for node in nodes)
        lines.append(f"{_called(card)}{speed}" + (f", nearest to {near}" if near else ""))
    known = all(card.bandwidth is not None for card in imported.cards)
    how = "boxes=2" if known else "boxes=2 and their speed, such as card=50GB/s,"
    shown = few(lines, _MOST_SHOWN, "; ")
    return f"Left out: network cards ({shown}). With {how} they join two such machines."


def _cluster(
    imported: Imported, joined: _Joined, chosen: Sequence[NetworkCard], boxes: int, rails: bool
) -> Imported:
    machine = imported.machine
    if not isinstance(machine, Fabric) or machine.measure != "GB/s":
        raise PluginError("an importer with network cards must return a fabric in GB/s")
    nodes, own = machine.num_nodes, machine.num_switches
    switches = own + len(joined)
    hubs = len(joined) if rails else 1
    # The links of one box; numbers after its own vertices belong to the network.
    network = nodes + switches
    links = [(x.source, x.destination, x.bandwidth, x.label) for x in machine.links]
    for j, (card, rate, near) in enumerate(joined):
        vertex = nodes + own + j
        speed = rate if card.lanes is None else min(rate, card.lanes)
        what = REACH if speed == rate else LANES
        ends = near if card.switch is None else [nodes + card.switch]
        for end in ends:
            links += [(end, vertex, speed, what), (vertex, end, speed, what)]
        hub = network + (j if rails else 0)
        links += [(vertex, hub, rate, CARD), (hub, vertex, rate, CARD)]
    if boxes * max(nodes, switches) > limits.MAX_NODES or boxes * len(links) > limits.MAX_LINKS:
        raise TextError(
            f"{boxes} boxes, each of {nodes} compute nodes, {switches} switches and "
            f"{len(links)} links; at most {limits.MAX_NODES}, {limits.MAX_NODES} and "
            f"{limits.MAX_LINKS} can be handled in all"
        )

    def placed(vertex: int, box: int) -> int:
        if vertex < nodes:
            return box * nodes + vertex
        first = boxes * nodes
        if vertex < network:
            return first + box * switches + vertex - nodes
        return first + boxes * switches + vertex - network

    every = sorted(
        (placed(a, box), placed(b, box), rate, what)
        for box in range(boxes)
        for a, b, rate, what in links
    )
    cluster = replace(
        machine,
        num_nodes=boxes * nodes,
        num_switches=boxes * switches + hubs,
        links=tuple(FabricLink(*link) for link in every),
    )
    names = [_node(imported, node) for node in range(nodes)]
    inner = imported.switch_names or tuple(f"switch {s}" for s in range(own))
    called = [_called(card) for card, *_ in joined]
    networks = [f"network of {name}" for name in called] if rails else ["network"]
    return Imported(
        cluster,
        (*imported.notes, *_notes(imported, joined, chosen, boxes, rails)),
        tuple(f"{name} of box {box}" for box in range(boxes) for name in names),
        (
            *(f"{name} of box {box}" for box in range(boxes) for name in (*inner, *called)),
            *networks,
        ),
        imported.cards,
        boxes,
        hubs,
        imported.interconnect,
    )


def _notes(
    imported: Imported, joined: _Joined, chosen: Sequence[NetworkCard], boxes: int, rails: bool
) -> list[str]:
    where = (
        "each card meets the same card of all other boxes in a switch of its own"
        if rails
        else "the cards of all boxes meet in one switch"
    )
    notes = [
        f"{boxes} such boxes, box after box, are joined by their network cards: {where}, which "
        "is non-blocking; the dump does not describe the network (options boxes and rails)."
    ]
    lines = [
        f"{_called(card)} of {float(rate):g} GB/s nearest to "
        + ", ".join(_node(imported, node) for node in nodes)
        for card, rate, nodes in joined
    ]
    shown = few(lines, _MOST_SHOWN, "; ")
    notes.append(f"Network cards of a box, with GB/s in each direction: {shown}.")
    used = [card for card, *_ in joined]
    if any(card.switch is None for card in used):
        notes.append(
            "A GPU reaches its nearest cards at their full speed, in addition to all its other "
            "links; GPUs that share a card share its bandwidth."
        )
    rest = [card for card in imported.cards if card not in used]
    for why, left in (
        ("which were not chosen", [card for card in rest if card not in chosen]),
        ("because each GPU is nearer to another", [card for card in rest if card in chosen]),
    ):
        if left:
            notes.append(f"Left out: {_few(left)}, {why} (option cards).")
    return notes
