"""Where routes part in several equally near switches, each node keeps one."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from random import Random

from syncoll.model import Fabric, FabricLink
from syncoll.routing import route
from syncoll.routing.attachment import one_switch_each


def boxes(near: list[list[int]], cards: int, inner: int = 90, card: int = 10) -> Fabric:
    """Two boxes of GPUs on a switch, with network cards that not all GPUs reach alike."""
    size, links = len(near), list[FabricLink]()
    nodes = 2 * size
    network = nodes + 2 * (1 + cards)

    def cable(a: int, b: int, width: int) -> None:
        links.extend(FabricLink(*ends, Fraction(width)) for ends in ((a, b), (b, a)))

    for box in range(2):
        switch = nodes + box * (1 + cards)
        for gpu, own in enumerate(near):
            cable(box * size + gpu, switch, inner)
            for one in own:
                cable(box * size + gpu, switch + 1 + one, card)
        for one in range(cards):
            cable(switch + 1 + one, network, card)
    switches = network - nodes + 1
    return Fabric("uneven", nodes, switches, by_ends(links), measure="GB/s", unit=Fraction(card))


def by_ends(links: Iterable[FabricLink]) -> tuple[FabricLink, ...]:
    return tuple(sorted(links, key=lambda x: (x.source, x.destination)))


def test_gpus_near_all_cards_leave_the_others_theirs() -> None:
    routing = route(boxes([[0], [0, 1], [1], [0, 1]], 2))
    assert not routing.removed
    assert routing.keeps_rate
    shared = [b for b in routing.topology.bounds if b.chunks_per_round == 1]
    # The two GPUs of a card share all of its bandwidth in each direction: in their box, and there.
    assert len(shared) == 8
    for bound in shared:
        assert len(bound.links) == 8
        assert {len({link[i] for link in bound.links}) for i in (0, 1)} == {2, 4}


def test_planes_that_a_broadcast_needs_all_stay_in_use() -> None:
    links = tuple(
        FabricLink(*ends, Fraction(9 if (node, plane) == (0, 5) else 10))
        for node, plane in product(range(4), (4, 5))
        for ends in ((node, plane), (plane, node))
    )
    fabric = Fabric("planes", 4, 2, by_ends(links), measure="GB/s", unit=Fraction(10))
    assert route(fabric).keeps_rate
    out = sum(b.chunks_per_round for b in route(fabric).topology.bounds if b.links[0][0] == 3)
    assert out == 2


def test_the_chosen_switches_are_as_even_as_all_choices_allow() -> None:
    """Compared with all choices, by the sum of squared loads over bandwidths."""
    random = Random(5)
    for _ in range(60):
        nodes, switches = random.randint(1, 5), random.randint(1, 4)
        near = [random.sample(range(switches), random.randint(1, switches)) for _ in range(nodes)]
        rate = [Fraction(random.randint(1, 3)) for _ in range(switches)]
        widths = {}
        for node, own in enumerate(near):
            for w in own:
                widths[node, nodes + w] = widths[nodes + w, node] = Fraction(1)
        for w in range(switches):
            widths[nodes + w, nodes + switches] = rate[w]
        kept = one_switch_each(nodes, widths, range(nodes, nodes + switches))
        if kept is None:
            assert all(len(own) == 1 for own in near)
            continue
        chosen = [[w - nodes for u, w in kept if u == node] for node in range(nodes)]
        assert all(len(own) == 1 and own[0] in near[node] for node, own in enumerate(chosen))

        def cost(choice: list[int], rate: list[Fraction] = rate) -> Fraction:
            return sum((choice.count(w) ** 2 / rate[w] for w in set(choice)), Fraction(0))

        least = min(cost(list(choice)) for choice in product(*near))
        assert cost([own[0] for own in chosen]) == least
