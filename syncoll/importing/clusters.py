"""Clusters: several boxes like the machine of a dump, joined by the network cards in it.

docs/topology-files.md ("Clusters") has the options and the choice of cards, as in NCCL and RCCL.
If the importer knows no PCIe, a GPU reaches its card by a link that is as fast as the card.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from syncoll.errors import OptionError, PluginError
from syncoll.importing.description import TextError, shortened
from syncoll.importing.rates import has_no_unit, parse_rate
from syncoll.model import Fabric, FabricLink
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll.spec import limits
from syncoll.wording import few

CARD = "network card"
"""The label of a link between a card and the network."""
REACH = "to a network card"
"""The label of a link between the machine and a card, which is as fast as the card."""
LANES = "PCIe of a network card"
"""The label of such a link that is slower than the card."""
_MOST_SHOWN = 16


def join_boxes(imported: Imported, options: Options, label: str, owner: str) -> Imported:
    """The cluster of the options, or the machine alone with a note on its cards.

    Raises OptionError for importer `owner` if the speed of a card is invalid or missing, or a
    chosen card does not exist; ImportFormatError without cards, or for too large a cluster.
    """
    boxes = int(options["boxes"])
    given = _given_rate(options, owner)
    if boxes == 1:
        if int(options.get("domain", 0)) > 1:
            raise OptionError(
                f"option domain of {owner} needs the number of boxes, such as "
                f"boxes={options['domain']}"
            )
        _chosen(imported.cards, options, label, owner)  # fails for cards that do not exist
        notes = [_left_out(imported)] if imported.cards else []
        if imported.domain > 1:
            notes.append(
                f"NVLinks lead out of such a box, to the NVSwitches of {imported.domain} boxes: "
                f"with boxes={imported.domain} these are one machine (option domain)."
            )
        return replace(imported, notes=(*imported.notes, *notes))
    domain = int(options.get("domain", 0)) or imported.domain
    if domain > 1 and not imported.shared:
        raise TextError(
            f"domain={domain}, but no NVSwitches join its GPUs, which other boxes could share",
            "a machine with NVSwitches, or domain=1",
        )
    if domain > 1:
        trays = min(domain, boxes)
        if boxes % trays:
            raise TextError(f"{boxes} boxes in domains of {domain}", f"a multiple of {domain}")
        if trays == boxes:
            return _cluster(imported, [], [], boxes, rails=False, trays=boxes)
        imported = _domain(imported, options, trays, label, owner)
        options, boxes = {**options, "cards": ""}, boxes // trays
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


def wants_cards(options: Options, domain: int = 1) -> bool:
    """Whether network cards join boxes: there are more than share their NVSwitches."""
    return int(options.get("boxes", 1)) > max(1, int(options.get("domain", 0)) or domain)


def used_cards(
    cards: Sequence[NetworkCard], options: Options, label: str, owner: str
) -> tuple[NetworkCard, ...]:
    """The chosen cards that are nearest to some node, in the order of the dump.  Raises OptionError
    if a chosen card does not exist, ImportFormatError without any."""
    if not cards:
        raise TextError(
            f"boxes={options['boxes']}, but it lists no network cards to join boxes",
            "a description with network cards: the output of `nvidia-smi topo -m` on a machine "
            "with cards, or the XML that NCCL and RCCL write (importer nccl-xml)",
        )
    chosen = _chosen(cards, options, label, owner)
    if not str(options["cards"]).strip():
        fastest = max((card.bandwidth or 0 for card in chosen), default=0)
        chosen = [card for card in chosen if 2 * (card.bandwidth or fastest) >= fastest]
    near = nearest_nodes(chosen)
    return tuple(card for card, nodes in zip(chosen, near, strict=True) if nodes)


def nearest_nodes(cards: Sequence[NetworkCard]) -> list[list[int]]:
    """For each card the nodes that have no nearer one.  A card that is equally far from all nodes,
    such as one on another socket, is near to none if another is nearer to some node."""
    closest = min((min(card.distances) for card in cards), default=0)
    own = [min(card.distances) == closest or len(set(card.distances)) > 1 for card in cards]
    used = [card for card, near in zip(cards, own, strict=True) if near]
    least = [min(column) for column in zip(*(card.distances for card in used), strict=True)]
    return [
        [n for n, far in enumerate(card.distances) if near and far == least[n]]
        for card, near in zip(cards, own, strict=True)
    ]


def _given_rate(options: Options, owner: str) -> Fraction | None:
    """The option `card`, if given; it needs a unit, because cards are sold by bits."""
    text = str(options["card"]).strip()
    rate = parse_rate(text)
    if text and (rate is None or has_no_unit(text)):
        raise OptionError(
            f"option card of {owner} is {text!r}; it must be a bandwidth above 0 with its unit, "
            "such as 50GB/s or 400Gb/s"
        )
    return rate


def _chosen(
    cards: Sequence[NetworkCard], options: Options, label: str, owner: str
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


def _domain(imported: Imported, options: Options, trays: int, label: str, owner: str) -> Imported:
    """The boxes of one domain as one machine, with the used cards of each."""
    used = used_cards(imported.cards, options, label, owner)
    whole = _cluster(imported, [], [], trays, rails=False, trays=trays)
    inner = imported.machine.num_switches - len(imported.shared)  # type: ignore[union-attr]
    nodes = imported.machine.num_nodes
    far = 1 + max(far for card in used for far in card.distances)
    place = _places(imported, 0)
    cards = []
    for tray in range(trays):
        for card in used:
            distances = [far] * (nodes * trays)
            distances[nodes * tray : nodes * (tray + 1)] = card.distances
            hook = card.switch
            if hook is not None:
                hook = tray * inner + place[nodes + hook] - nodes
            name, own = f"{card.name} of box {tray}", tuple(nodes * tray + n for n in card.own)
            cards.append(replace(card, name=name, distances=tuple(distances), switch=hook, own=own))
    return replace(whole, cards=tuple(cards), boxes=1, hubs=0)


def _places(imported: Imported, cards: int) -> list[int]:
    """The numbers of a box's vertices if shared switches come after its cards."""
    machine = imported.machine
    assert isinstance(machine, Fabric)
    nodes, own = machine.num_nodes, machine.num_switches
    inner = [nodes + s for s in range(own) if s not in imported.shared]
    order = [*range(nodes), *inner, *[None] * cards, *(nodes + s for s in imported.shared)]
    return [order.index(vertex) for vertex in range(nodes + own)]


def _cluster(
    imported: Imported,
    joined: _Joined,
    chosen: Sequence[NetworkCard],
    boxes: int,
    rails: bool,
    trays: int = 1,
) -> Imported:
    """All boxes; the `trays` of a domain share their switches and nothing else."""
    machine = imported.machine
    if not isinstance(machine, Fabric) or machine.measure != "GB/s":
        raise PluginError("an importer with network cards must return a fabric in GB/s")
    if trays == 1:
        imported = replace(imported, shared=())
    nodes, shared = machine.num_nodes, len(imported.shared)
    own = machine.num_switches - shared
    switches = own + len(joined)
    hubs = shared + (len(joined) if rails else bool(joined))
    # The links of one box; numbers after its own vertices belong to the network.
    network = nodes + switches
    place = _places(imported, len(joined))
    links = [(place[x.source], place[x.destination], x.bandwidth, x.label) for x in machine.links]
    for j, (card, rate, near) in enumerate(joined):
        vertex = nodes + own + j
        speed = rate if card.lanes is None else min(rate, card.lanes)
        what = REACH if speed == rate else LANES
        ends = near if card.switch is None else [*card.own, place[nodes + card.switch]]
        for end in ends:
            links += [(end, vertex, speed, what), (vertex, end, speed, what)]
        hub = network + shared + (j if rails else 0)
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
    every_switch = imported.switch_names or [f"switch {s}" for s in range(machine.num_switches)]
    inner = [name for s, name in enumerate(every_switch) if s not in imported.shared]
    called = [_called(card) for card, *_ in joined]
    networks = [every_switch[s] for s in imported.shared]
    networks += [f"network of {name}" for name in called] if rails else ["network"] * bool(joined)
    notes = [
        f"{boxes} such boxes, box after box, share their NVSwitches, taken as one switch (option "
        "domain); their network cards are left out."
    ]
    if trays == 1:
        notes = _notes(imported, joined, chosen, boxes, rails)
    return Imported(
        cluster,
        (*imported.notes, *notes),
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
    notes.append(f"Network cards of a box (option cards), GB/s in each direction: {shown}.")
    used = [card for card, *_ in joined]
    if any(card.switch is None and card.lanes is None for card in used):
        notes.append(
            "A GPU reaches its nearest cards at their full speed, in addition to all its other "
            "links; GPUs that share a card share its bandwidth."
        )
    near = nearest_nodes(chosen) if chosen else []
    nearest = [card for card, nodes in zip(chosen, near, strict=True) if nodes]
    left: dict[str, list[NetworkCard]] = {}
    for card in imported.cards:
        if card not in used:
            why = "because others are more than twice as fast"
            if card not in nearest:
                why = "because others are nearer to the GPUs"
            if card not in chosen:
                why = "which were not chosen"
            left.setdefault(why, []).append(card)
    notes += [f"Left out: {_few(cards)}, {why} (option cards)." for why, cards in left.items()]
    return notes
