"""Clusters: boxes of a machine joined by its network cards, and their text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine, import_spec
from syncoll.importing.clusters import nearest_nodes
from syncoll.model import Fabric, FabricLink
from syncoll.plugins import CLUSTER_OPTIONS, Imported, ImporterRecord, NetworkCard
from syncoll.spec import SpecLibrary

RATES = st.sampled_from([Fraction(25), Fraction("12.5"), Fraction(100, 3), Fraction(1)])


def record_of(imported: Imported) -> ImporterRecord:
    class Reads:
        def read(self, text: str, label: str, options: Any) -> Imported:
            del text, label, options
            return imported

    return ImporterRecord("made", "for tests", Reads, options=CLUSTER_OPTIONS)


@st.composite
def machines(draw: st.DrawFn) -> Imported:
    nodes, own = draw(st.integers(2, 6)), draw(st.integers(0, 3))
    links = {(n, (n + 1) % nodes) for n in range(nodes)}
    links |= {(n, nodes + s) for n in range(draw(st.integers(0, nodes))) for s in range(own)}
    if draw(st.booleans()):
        links |= {(a, b) for a in range(nodes) for b in range(nodes) if a != b}
    links |= {(b, a) for a, b in links if draw(st.booleans())}
    links |= {pair for s in range(own) for pair in ((0, nodes + s), (nodes + s, 0))}
    fabric = Fabric(
        "some",
        nodes,
        own,
        tuple(FabricLink(a, b, draw(RATES), draw(st.sampled_from("xy"))) for a, b in sorted(links)),
    )
    cards = tuple(
        NetworkCard(
            f"nic{c}",
            tuple(draw(st.integers(0, 2)) for _ in range(nodes)),
            draw(st.sampled_from([Fraction(25), Fraction("12.5"), Fraction(20)])),
            draw(st.integers(0, own - 1)) if own and draw(st.booleans()) else None,
            draw(st.one_of(st.none(), RATES)),
        )
        for c in range(draw(st.integers(1, 5)))
    )
    return Imported(fabric, cards=cards, names=tuple(f"GPU{n}" for n in range(nodes)))


@settings(max_examples=25, deadline=None)
@given(one=machines(), boxes=st.integers(2, 5), rails=st.booleans())
def test_any_cluster(one: Imported, boxes: int, rails: bool) -> None:
    """Its text has the links in its words, one by one, also with another number of boxes."""
    record = record_of(one)
    options = {"boxes": boxes, "rails": "yes" if rails else "no"}
    made = import_machine(record, "text", "some.txt", options).machine
    spec = import_spec(record, "text", "some.txt", options)
    library = SpecLibrary((), {"made": lambda *_: spec})
    assert Fabric.of(library.topology("made:spec")).links == made.links
    assert isinstance(made, Fabric)
    assert isinstance(one.machine, Fabric)
    nodes, own, near = one.machine.num_nodes, one.machine.num_switches, nearest_nodes(one.cards)
    used = [c for c, nearest in enumerate(near) if nearest]
    each = own + len(used)
    expected: dict[tuple[int, int], Fraction] = {}
    for box in range(boxes):
        place = [box * nodes + n for n in range(nodes)]
        place += [boxes * nodes + box * each + s for s in range(each)]
        expected |= {(place[a], place[b]): rate for (a, b), rate in one.machine.bandwidths.items()}
        for position, c in enumerate(used):
            card, hub = one.cards[c], boxes * (nodes + each) + (position if rails else 0)
            assert card.bandwidth is not None
            mine = place[nodes + own + position]
            ends = near[c] if card.switch is None else [nodes + card.switch]
            slower = min(card.bandwidth, card.lanes or card.bandwidth)
            for end in ends:
                expected[place[end], mine] = expected[mine, place[end]] = slower
            expected[mine, hub] = expected[hub, mine] = card.bandwidth
    assert made.bandwidths == expected


def test_the_text_of_a_cluster() -> None:
    """The boxes and the speed of the cards are parameters; patterns are not listed."""
    ring = {(n, (n + 1) % 4) for n in range(4)}
    fabric = Fabric(
        "some", 4, 0, tuple(FabricLink(a, b, Fraction(50), "NVLink") for a, b in sorted(ring))
    )
    cards = tuple(NetworkCard(f"nic{c}", tuple(int(c != n) for n in range(4))) for c in range(4))
    record = record_of(Imported(fabric, cards=cards))
    spec = import_spec(record, "text", "some.txt", {"boxes": 4, "card": "200Gb/s"})
    assert (
        spec[spec.index("topology") :]
        == """\
topology some(boxes = 4, card = 25) {
    require boxes >= 1 "at least 1 box"
    nodes 4 * boxes
    switches 4 * boxes + 1
    link (4 * box + i, 4 * box + 1 + i) for box in range(boxes), i in range(3)
        bandwidth 50 GB/s label "NVLink"
    link (4 * box + 3, 4 * box) for box in range(boxes) bandwidth 50 GB/s label "NVLink"
    link (4 * box + i, switch(4 * box + i)) both ways for box in range(boxes), i in range(4)
        bandwidth card GB/s label "to a network card"
    link (switch(4 * box + i), switch(4 * boxes)) both ways
        for box in range(boxes), i in range(4) bandwidth card GB/s label "network card"
}
"""
    )
    library = SpecLibrary((), {"made": lambda *_: spec.replace("boxes = 4", "boxes = 7")})
    assert Fabric.of(library.topology("made:x")).num_nodes == 28
    one = import_machine(record, "text", "some.txt").notes[-1]
    assert one.startswith("Left out: network cards (nic0, nearest to node 0; nic1, ")


@pytest.mark.parametrize("boxes", [1, 2])
def test_importers_without_cards_take_no_boxes(boxes: int) -> None:
    fabric = Fabric("some", 2, 0, (FabricLink(0, 1, Fraction(1)), FabricLink(1, 0, Fraction(1))))
    record = record_of(Imported(fabric))
    if boxes == 1:
        assert import_machine(record, "text", "some.txt", {"boxes": 1}).machine == fabric
        return
    with pytest.raises(ImportFormatError, match="lists no network cards"):
        import_machine(record, "text", "some.txt", {"boxes": 2})


def test_slow_cards_do_not_join_unasked() -> None:
    links = (FabricLink(0, 1, Fraction(50)), FabricLink(1, 0, Fraction(50)))
    cards = tuple(NetworkCard(f"nic{c}", (0, 0), rate) for c, rate in
                  ((0, Fraction(50)), (1, Fraction(3)), (2, Fraction(50))))  # fmt: skip
    record = record_of(Imported(Fabric("some", 2, 0, links), cards=cards))
    made = import_machine(record, "text", "some.txt", {"boxes": 2})
    assert made.machine.num_nodes == 4
    assert "Left out: nic1, because others are more than twice as fast" in made.notes[-1]
    asked = import_machine(record, "text", "some.txt", {"boxes": 2, "cards": "nic0+nic1+nic2"})
    assert "nic1 of 3 GB/s" in " ".join(asked.notes)
