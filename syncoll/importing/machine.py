"""A machine or a fabric as a description has it: between the text of a tool and a topology.

An importer names the devices and the links between them, under keys of its own; `Machine.imported`
numbers them.  Direct links join accelerators and their switches.  Host links are PCIe, CPUs and the
links between; they place each device below another.  Host links are left out where direct ones
suffice, except the paths to the network cards that join boxes.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from syncoll.importing.clusters import nearest_nodes, used_cards, wants_cards
from syncoll.importing.description import TextError
from syncoll.importing.rates import rate_option
from syncoll.model import Fabric, FabricLink
from syncoll.model.fabric import reached
from syncoll.plugins import Imported, NetworkCard, Options
from syncoll.wording import counted

Key = Hashable


class _Link(NamedTuple):
    rate: Fraction | None
    label: str
    host: bool


_Links = dict[Key, dict[Key, _Link]]
_OTHER_ROOT, _NO_WAY = 20_000, 30_000
_SAME_ROOT = 10_000


class Machine:
    """Devices and links; `notes` has the assumptions and omissions, one sentence each.

    Args:
        options: of the importer `owner`; with ``boxes``, cards join several machines.
        label: the description's name in messages.

    Attributes:
        in_chunks: whether bandwidths are in chunks per round, not in GB/s.
    """

    def __init__(self, options: Options | None = None, label: str = "", owner: str = "") -> None:
        self.options, self.label, self.owner = options or {}, label, owner
        self.notes: list[str] = []
        self.names: dict[Key, str] = {}
        self._nodes: list[Key] = []
        self._cards: list[tuple[Key, NetworkCard]] = []
        self._links: _Links = {}
        self._above: dict[Key, Key] = {}
        self.in_chunks = False

    def note(self, text: str) -> None:
        """Says something once."""
        if text not in self.notes:
            self.notes.append(text)

    def node(self, key: Key, name: str) -> None:
        """Adds a compute node, the next number."""
        self._nodes.append(key)
        self.switch(key, name)

    def switch(self, key: Key, name: str) -> None:
        """Adds or renames a switch: a device that forwards, such as a PCIe bridge or a CPU."""
        self.names[key] = name
        self._links.setdefault(key, {})

    def card(self, card: NetworkCard, at: Key) -> None:
        """Adds a network card below a device; without distances, these follow from host links."""
        self._cards.append((at, card))

    def join(
        self,
        one: Key,
        other: Key,
        rate: Fraction | None,
        label: str = "",
        *,
        both_ways: bool = True,
        host: bool = False,
        below: bool = False,
    ) -> None:
        """Adds a link; several between the same two devices add up.  Keys name unknown devices.

        Args:
            rate: GB/s in each direction; None if the description has none.
            host: whether it belongs to PCIe and CPUs.
            below: a host link from `one` to the device above it.
        """
        if below:
            self._above.setdefault(one, other)  # of merged bridges the topmost
        for key in (one, other):
            self.names.setdefault(key, str(key))
            self._links.setdefault(key, {})
        for a, b in ((one, other), (other, one))[: 1 + both_ways]:
            known, link = self._links[a].get(b), _Link(rate, label, host or below)
            if known is not None:
                total = known.rate and rate and known.rate + rate
                link = link._replace(rate=total, label=_with_label(known.label, label))
            self._links[a][b] = link

    @property
    def size(self) -> tuple[int, int]:
        """The number of compute nodes and of other devices."""
        return len(self._nodes), len(self._links) - len(self._nodes)

    def reached(self, *, host: bool = True) -> int:
        """The number of compute nodes that node 0 reaches, over host links too or without."""
        pairs = ((a, b) for a, b, link in self._all() if host or not link.host)
        return len(reached(pairs, self._nodes[0]).intersection(self._nodes))

    def takes_host(self, direct: str, whole: str) -> bool:
        """Whether PCIe and CPUs are part of the machine by the option `network`, with a note why;
        `direct` are words for the other links, and `whole` for a text that lists all GPUs.

        Raises ImportFormatError for one GPU without other boxes, and for nvlink, if these links do
        not connect all compute nodes.
        """
        network, number = str(self.options["network"]), len(self._nodes)
        if number < (1 if int(self.options["boxes"]) > 1 else 2):
            raise TextError(
                f"it describes {counted(number, 'GPU')}", f"at least 2, or one and boxes=2; {whole}"
            )
        found = self.reached(host=False)
        if network == "nvlink" and found < number:
            raise TextError(
                f"its {direct} reach {found} of {number} GPUs from GPU 0",
                "links that connect all GPUs, or the option network=all",
            )
        host = network in ("pcie", "all") or (network == "auto" and found < number)
        if host and network == "auto":
            some = any(not link.host for _, _, link in self._all())
            self.note(
                f"{direct} do not connect all GPUs, so PCIe and CPUs are in it, too."
                if some
                else "The file lists no links between GPUs, so they talk over PCIe and CPUs."
            )
        elif not host and number > 1:
            self.note(
                f"Left out: PCIe and CPUs, since {direct} connect all GPUs (option network=all "
                "adds them)."
            )
        return host

    def root(self, key: Key) -> Key:
        """The topmost device above another, such as a CPU."""
        return self._way(key)[-1]

    def speeds(self, rate: Fraction | None, remedy: str) -> None:
        """Gives the links without a speed one; without any in the machine, each carries a chunk.

        Raises ImportFormatError if only some links have speeds and there is no `rate`; `remedy` is
        the option that sets it.
        """
        every = list(self._all())
        without = [(a, b) for a, b, link in every if link.rate is None]
        if rate is None and 0 < len(without) < len(every):
            one, other = (self.names[key] for key in without[0])
            message = f"no speed of the link from {one} to {other}, but others have one"
            raise TextError(message, remedy)
        for a, b in without:
            self._links[a][b] = self._links[a][b]._replace(rate=rate or Fraction(1))
        if rate is None and without:
            self.in_chunks = True
            self.note(f"No speeds in the text: each link carries one chunk per round ({remedy}).")

    def imported(
        self,
        *,
        host: bool = True,
        thin: bool = False,
        interconnect: str = "",
        shared: Collection[Key] = (),
        domain: int = 1,
    ) -> Imported:
        """The machine with numbers.

        Args:
            host: whether PCIe and CPUs are in it; otherwise only their paths to cards.
            thin: whether devices that only pass on, or lead nowhere, are left out.
            interconnect: see `Imported`, as for `shared` and `domain`.

        Raises OptionError for a card that does not exist, ImportFormatError without cards.
        """
        links: _Links = {key: {} for key in self._links}
        for a, b, link in self._all():
            if host or not link.host:
                links[a][b] = link
        cards = [self._with_distances(at, card) for at, card in self._cards]
        hooks = self.hooks(cards, domain)
        for c, at in list(hooks.items()):
            if at not in self._links or (host and not links[at]):
                del hooks[c]
        if hooks and not host:
            near = nearest_nodes([cards[c] for c in hooks])
            for at, nodes_near in zip(hooks.values(), near, strict=True):
                self._add_paths(at, [self._nodes[node] for node in nodes_near], links)
        nodes = set(self._nodes)
        if thin or not host:
            _thin(links, {*nodes, *hooks.values()})
        if not host:
            self._shorten(cards, hooks, links)
        keys = [*self._nodes, *(k for k in links if k not in nodes and (links[k] or host))]
        number = {key: i for i, key in enumerate(keys)}
        every = []
        for a, around_a in links.items():
            for b, link in around_a.items():
                assert link.rate is not None
                every.append(FabricLink(number[a], number[b], link.rate, link.label))
        every.sort(key=lambda link: (link.source, link.destination))
        for c, at in hooks.items():
            cards[c] = replace(cards[c], switch=number[at] - len(nodes))
        return Imported(
            Fabric(
                "imported",
                len(nodes),
                len(keys) - len(nodes),
                tuple(every),
                measure="chunks per round" if self.in_chunks else "GB/s",
            ),
            tuple(self.notes),
            tuple(self.names[key] for key in self._nodes),
            tuple(self.names[key] for key in keys[len(nodes) :]),
            tuple(cards),
            interconnect=interconnect,
            shared=tuple(number[key] - len(nodes) for key in shared if key in number),
            domain=domain,
        )

    def hooks(self, cards: Sequence[NetworkCard] = (), domain: int = 1) -> dict[int, Any]:
        """The cards that join boxes, in order, each with the device above; raises as `imported`."""
        if not wants_cards(self.options, domain) or not self._cards:
            return {}
        cards = cards or [self._with_distances(at, card) for at, card in self._cards]
        used = used_cards(cards, self.options, self.label, self.owner)
        return {c: self._cards[c][0] for c, card in enumerate(cards) if card in used}

    def _all(self) -> Iterator[tuple[Key, Key, _Link]]:
        for a, around in self._links.items():
            for b, link in around.items():
                yield a, b, link

    def _add_paths(self, start: Key, ends: Sequence[Key], links: _Links) -> None:
        """Adds the host links on the shortest paths from a device to others."""
        before: dict[Key, Key] = {start: start}
        queue = [start]
        for one in queue:
            for other, link in self._links[one].items():
                if link.host and other not in before:
                    before[other] = one
                    if other not in self._nodes:
                        queue.append(other)
        for end in ends:
            while end in before and before[end] != end:
                one = before[end]
                links[one][end], links[end][one] = self._links[one][end], self._links[end][one]
                end = one

    def _shorten(self, cards: list[NetworkCard], hooks: dict[int, Any], links: _Links) -> None:
        """Removes the switch of a card with one GPU of its own: this GPU needs no other card.
        Other GPUs come to the card from above, no faster than on the way to the switch."""
        nodes = {node: n for n, node in enumerate(self._nodes)}
        sharing = list(hooks.values())
        near = nearest_nodes([cards[c] for c in hooks]) if hooks else []
        users = dict(zip(hooks, near, strict=True))
        for c, at in list(hooks.items()):
            mine = [n for n in users[c] if self._nodes[n] in links[at]]
            above = [key for key in links[at] if key not in nodes]
            if at in nodes or sharing.count(at) > 1 or len(mine) != 1 or len(above) > 1:
                continue
            if len(links[at]) != 1 + len(above) or any(
                mine[0] in other for o, other in users.items() if o != c
            ):
                continue
            rates = [cards[c].lanes, links[at][self._nodes[mine[0]]].rate]
            lanes = min(rate for rate in rates if rate)
            if any((links[at][key].rate or lanes) < lanes for key in above):
                continue
            cards[c] = replace(cards[c], lanes=lanes, own=tuple(mine) if above else ())
            for key in links.pop(at):
                del links[key][at]
            if above:
                hooks[c] = above[0]
            else:
                del hooks[c]

    def _way(self, key: Key) -> list[Key]:
        way = [key]
        while way[-1] in self._above:
            way.append(self._above[way[-1]])
        return way

    def _with_distances(self, at: Key, card: NetworkCard) -> NetworkCard:
        if card.distances:
            return card
        mine = self._way(at)
        far = [self._distance(self._way(node), mine) for node in self._nodes]
        return replace(card, distances=tuple(far))

    def _distance(self, one: Sequence[Key], other: Sequence[Key]) -> int:
        """By the devices above two: bridges and CPUs."""
        if one[-1] != other[-1]:
            return _OTHER_ROOT if other[-1] in self._links.get(one[-1], ()) else _NO_WAY
        meet = next(key for key in one if key in other)
        return _SAME_ROOT if meet == one[-1] else one.index(meet) + other.index(meet)


def _with_label(labels: str, label: str) -> str:
    """The labels of parallel links, with another."""
    if not label or label in labels.split(" + "):
        return labels
    return f"{labels} + {label}" if labels else label


def _thin(links: _Links, kept: Iterable[Key]) -> None:
    """Drops dead-end switches, and those between two unlinked neighbours, except `kept`.  Neither
    changes the data that nodes can exchange."""
    kept = set(kept)
    todo = [key for key in links if key not in kept]
    while todo:
        key = todo.pop()
        around = links.get(key)
        if around is None or len(around) > 2:
            continue
        ends = list(around)
        if len(ends) == 2 and ends[1] in links[ends[0]]:
            continue
        for end in ends:
            del links[end][key]
        if len(ends) == 2:
            link = min((around[end] for end in ends), key=lambda link: (link.rate or 0, link.label))
            links[ends[0]][ends[1]] = links[ends[1]][ends[0]] = link
        del links[key]
        todo += [end for end in ends if end not in kept]


def speed_option(options: Options, name: str, owner: str) -> Fraction | None:
    """GB/s of an option that may be empty; raises OptionError if it is no bandwidth."""
    return rate_option(options, name, owner) if str(options[name]).strip() else None
