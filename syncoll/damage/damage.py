"""Damage: a broken or slower part of a machine, and the links of a network that it affects.

A damage names a link, in one direction or both, a node, a switch, or a label.  A label is found by
some of its words: ``card 2`` is the ``network card of GPU 2``.  A part that is slower by N has 1/N
of its bandwidth, as in `simulate`.  `syncoll.spec.damages` reads damages from texts.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import UsageError
from syncoll.model import Fabric, Link, Topology
from syncoll.wording import argument, counted

_MOST_LISTED = 12

Vertex = tuple[bool, int]
"""Whether it is a switch, and its number among the switches or the nodes."""


@dataclass(frozen=True)
class Damage:
    """One broken or slow part.

    Args:
        ends: the ends of a link.
        both_ways: whether the link in the opposite direction is affected, too.
        label: words of a label; empty for a link, node or switch.
        factor: how many times slower; None for a broken part.
    """

    text: str
    ends: tuple[Vertex, Vertex] | None = None
    both_ways: bool = False
    vertex: Vertex | None = None
    label: str = ""
    factor: Fraction | None = None

    @property
    def words(self) -> str:
        """The damage in words, in one spelling."""
        return self._spelled(self.label)

    @property
    def in_the_language(self) -> str:
        """The damage as the spec language writes it, with a label in quotation marks."""
        return self._spelled('"' + re.sub(r'(["\\])', r"\\\1", self.label) + '"')

    def _spelled(self, label: str) -> str:
        if self.ends is not None:
            arrow = "<->" if self.both_ways else "->"
            what = f"link {arrow.join(map(_short, self.ends))}"
        elif self.vertex is not None:
            what = f"{'switch' if self.vertex[0] else 'node'} {self.vertex[1]}"
        else:
            what = label
        return what if self.factor is None else f"{what} by {self.factor}"


def _short(vertex: Vertex) -> str:
    return f"switch {vertex[1]}" if vertex[0] else str(vertex[1])


@dataclass(frozen=True)
class Affected:
    """The effect of damages on one network.

    Args:
        links: the links that are removed.
        vertices: the nodes, then the switches, that are removed with all their links.
        slower: links with the factors by which they are slower.
        shared: positions of bounds over several links, with their factors; without switches.
    """

    links: frozenset[Link]
    vertices: frozenset[int]
    slower: Mapping[Link, Fraction]
    shared: Mapping[int, Fraction]


def affected_by(network: Topology | Fabric, damages: Sequence[Damage]) -> Affected:
    """Finds the parts of a network that damages name.  Raises `UsageError` if a part does not
    exist, or is both broken and slower."""
    if not damages:
        raise UsageError(
            f"no damage is given: name a broken or slower part with {argument('without')}"
        )
    links: set[Link] = set()
    vertices: set[int] = set()
    slower: dict[Link, Fraction] = {}
    slowed: list[tuple[Damage, set[Link]]] = []
    shared: dict[int, Fraction] = {}
    own = _links(network)
    for damage in damages:
        found, bounds = _named(network, own, damage)
        if damage.factor is None:
            links |= found
            if damage.vertex is not None:
                vertices.add(_number(network, damage.vertex, damage))
            continue
        slowed.append((damage, found))
        for bound in bounds:
            shared[bound] = shared.get(bound, Fraction(1)) * damage.factor
        for link in () if bounds else found:
            slower[link] = slower.get(link, Fraction(1)) * damage.factor
    for damage, found in slowed:
        if found <= links:
            raise UsageError(
                f"{damage.text!r}: it is removed by another damage and cannot also be slower; "
                "name only one of them"
            )
    slower = {link: factor for link, factor in slower.items() if link not in links}
    return Affected(frozenset(links), frozenset(vertices), slower, shared)


def _links(network: Topology | Fabric) -> set[Link]:
    if isinstance(network, Fabric):
        return set(network.bandwidths)
    return set(network.links)


def _named(
    network: Topology | Fabric, own: set[Link], damage: Damage
) -> tuple[set[Link], list[int]]:
    """The links that a damage affects, and the positions of the bounds with its label."""
    if damage.vertex is not None:
        number = _number(network, damage.vertex, damage)
        return {link for link in own if number in link}, []
    if damage.ends is None:
        return _labelled(network, damage)
    a, b = (_number(network, vertex, damage) for vertex in damage.ends)
    wanted = {(a, b), (b, a)} if damage.both_ways else {(a, b)}
    missing = sorted(wanted - own)
    if missing:
        raise UsageError(_no_link(network, own, missing[0], damage))
    return wanted, []


def _number(network: Topology | Fabric, vertex: Vertex, damage: Damage) -> int:
    is_switch, number = vertex
    switches = network.num_switches if isinstance(network, Fabric) else 0
    count, kind = (switches, "switch") if is_switch else (network.num_nodes, "node")
    if number >= count:
        there = f"{counted(count, kind)}, 0 to {count - 1}" if count else f"no {kind}"
        raise UsageError(f"{damage.text!r}: {network.name} has {there}")
    return number + (network.num_nodes if is_switch else 0)


def _no_link(network: Topology | Fabric, own: set[Link], missing: Link, damage: Damage) -> str:
    """Message that a link does not exist, with the links at its ends."""
    a, b = missing
    leaving, entering = (
        ", ".join(_few([_shown(network, link[1 - end]) for link in sorted(own) if link[end] == at]))
        for end, at in enumerate(missing)
    )
    kind = "cable" if isinstance(network, Fabric) and network.num_switches else "link"
    return (
        f"{damage.text!r}: {network.name} has no {kind} from {_shown(network, a)} to "
        f"{_shown(network, b)}; from {_shown(network, a)} there are {kind}s to "
        f"{leaving or 'nowhere'}, and to {_shown(network, b)} from {entering or 'nowhere'}"
    )


def _shown(network: Topology | Fabric, vertex: int) -> str:
    nodes = network.num_nodes
    return f"switch {vertex - nodes}" if vertex >= nodes else str(vertex)


def _few(names: Sequence[str]) -> list[str]:
    rest = len(names) - _MOST_LISTED
    return [*names[:_MOST_LISTED], f"{rest} others"] if rest > 0 else [*names]


def _labelled(network: Topology | Fabric, damage: Damage) -> tuple[set[Link], list[int]]:
    """The links with a label or under a bound with it, and the positions of these bounds."""
    labels: dict[str, set[Link]] = {}
    bounds: dict[str, list[int]] = {}
    if isinstance(network, Fabric):
        for one in network.links:
            labels.setdefault(one.label, set()).add((one.source, one.destination))
    else:
        for i, bound in enumerate(network.bounds):
            labels.setdefault(bound.label, set()).update(bound.links)
            bounds.setdefault(bound.label, []).append(i)
    labels.pop("", None)
    asked = damage.label.lower()
    found = [label for label in labels if label.lower() == asked]
    if not found:
        words = _words(asked)
        found = [label for label in labels if words <= _words(label.lower())]
    if len(found) == 1:
        return labels[found[0]], bounds.get(found[0], [])
    what = f"{damage.text!r}: "
    if found:
        raise UsageError(
            f"{what}several labels of {network.name} match: {_either(found)}; name one of them"
        )
    by_lower = {label.lower(): label for label in labels}
    close = [by_lower[one] for one in difflib.get_close_matches(asked, by_lower, n=3, cutoff=0.4)]
    there = "links such as " + ", ".join(
        f"{_shown(network, a)}->{_shown(network, b)}" for a, b in sorted(_links(network))[:4]
    )
    there += f", and nodes 0 to {network.num_nodes - 1}"
    if isinstance(network, Fabric) and network.num_switches:
        there += f", switches 0 to {network.num_switches - 1}"
    if labels:
        there += f", and the labels {_either(close or sorted(labels))}"
    raise UsageError(f"{what}{network.name} has no such part; it has {there}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _either(labels: Iterable[str]) -> str:
    return " or ".join(_few([repr(label) for label in labels]))
