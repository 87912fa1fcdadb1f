"""Networks of the papers, as fabrics, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

from syncoll.model.fabric import Fabric

__all__ = [
    "a100",
    "bigraph",
    "dgx1",
    "fat_tree",
    "leaf_spine",
    "mi250",
    "p2_16xlarge",
    "random_fabric",
    "torus",
]

# ForestColl paper, figure 7(a): xGMI links between the 16 GPUs of a box, and how many run side by
# side; each carries 50 GB/s.
_XGMI = (
    (0, 1, 4), (0, 4, 2), (0, 8, 1), (1, 5, 1), (1, 9, 1), (1, 10, 1), (2, 3, 4), (2, 6, 1),
    (2, 9, 1), (2, 10, 1), (3, 7, 2), (3, 11, 1), (4, 5, 4), (4, 6, 1), (5, 6, 1), (5, 7, 1),
    (6, 7, 4), (8, 9, 4), (8, 12, 2), (9, 13, 1), (10, 11, 4), (10, 14, 1), (11, 15, 2),
    (12, 13, 4), (12, 14, 1), (13, 14, 1), (13, 15, 1), (14, 15, 4),
)  # fmt: skip

# SCCL paper, section 2.2: two Hamiltonian cycles of NVLinks, the first of them double.
_DGX1 = (((0, 1, 4, 5, 6, 7, 2, 3), 2), ((0, 2, 1, 3, 6, 4, 7, 5), 1))

_Links = list[tuple[int, int, int | Fraction]]


def a100(boxes: int) -> Fabric:
    """DGX A100 boxes (ForestColl paper, section 5.3): 8 GPUs on an NVSwitch and 8 network cards.

    300 GB/s from a GPU to its NVSwitch, 25 GB/s to its network card; card i of each box leads to
    one of two InfiniBand switches, i mod 2.  One box has no cards.
    """
    gpus, links = 8 * boxes, _Links()
    switches = boxes if boxes == 1 else boxes * 9 + 2
    for box in range(boxes):
        for i in range(8):
            gpu = 8 * box + i
            links.append((gpu, gpus + box, 300))
            if boxes > 1:
                card = gpus + boxes + gpu
                links += [(gpu, card, 25), (card, gpus + 9 * boxes + i % 2, 25)]
    return Fabric.from_links(f"a100(boxes={boxes})", gpus, switches, links, both_ways=True)


def mi250(boxes: int, gpus: int = 16) -> Fabric:
    """MI250 boxes (ForestColl paper, section 5.2, figure 7): 16 GPUs, or the first `gpus` of each.

    xGMI links of 50 GB/s in a box; 16 GB/s from each GPU to one InfiniBand switch when there is
    more than one box.
    """
    links = _Links()
    for box in range(boxes):
        at = gpus * box
        links += [(at + u, at + v, 50 * n) for u, v, n in _XGMI if max(u, v) < gpus]
        if boxes > 1:
            links += [(at + i, gpus * boxes, 16) for i in range(gpus)]
    name = f"mi250(boxes={boxes})" if gpus == 16 else f"mi250(boxes={boxes}, gpus={gpus})"
    return Fabric.from_links(name, gpus * boxes, int(boxes > 1), links, both_ways=True)


def torus(*sides: int, bandwidth: int = 1) -> Fabric:
    """A torus; a side of 2 has one link between the two nodes of a line."""
    nodes = 1
    for side in sides:
        nodes *= side
    links, stride = _Links(), 1
    for side in sides:
        for v in range(nodes):
            place = v // stride % side
            if place + 1 < side or side > 2:
                links.append((v, v + ((place + 1) % side - place) * stride, bandwidth))
        stride *= side
    return Fabric.from_links(f"torus({','.join(map(str, sides))})", nodes, 0, links, both_ways=True)


def dgx1() -> Fabric:
    """DGX-1 with V100 GPUs: two rings of NVLinks of 25 GB/s, the first of them double."""
    links: _Links = [(ring[i], ring[(i + 1) % 8], 25 * n) for ring, n in _DGX1 for i in range(8)]
    return Fabric.from_links("dgx1", 8, 0, links, both_ways=True)


def p2_16xlarge(bandwidth: int = 1) -> Fabric:
    """Amazon P2.16xlarge (spanning-tree paper): a tree of PCIe switches over 16 GPUs.

    Two GPUs share a card's switch; four cards hang from each of two central switches, which are
    joined.  Switches 16 to 23 are the cards, 24 and 25 the centres.
    """
    links: _Links = [(gpu, 16 + gpu // 2, bandwidth) for gpu in range(16)]
    links += [(16 + card, 24 + card // 4, bandwidth) for card in range(8)]
    links.append((24, 25, bandwidth))
    return Fabric.from_links("p2_16xlarge", 16, 10, links, both_ways=True)


def fat_tree(radix: int, leaves: int, bandwidth: int = 16) -> Fabric:
    """A two-level fat tree: `radix` nodes under each leaf, as many roots as nodes under a leaf.

    With 8 and 8 this is the 64-node network of the MultiTree paper, section VI; 16 GB/s a link.
    """
    nodes = radix * leaves
    links: _Links = [(v, nodes + v // radix, bandwidth) for v in range(nodes)]
    links += [
        (nodes + leaf, nodes + leaves + root, bandwidth)
        for leaf in range(leaves)
        for root in range(radix)
    ]
    return Fabric.from_links(
        f"fat_tree({radix},{leaves})", nodes, leaves + radix, links, both_ways=True
    )


def bigraph(switches: int, nodes: int, bandwidth: int = 16) -> Fabric:
    """BiGraph: two layers of switches, completely joined, with nodes under all of them.

    `bigraph(4, 8)` is the 4 x 8 network of the MultiTree paper, section VI: 4 switches in all, 8
    nodes on each; enough parallel links between layers to carry the nodes' data.
    """
    half = switches // 2
    total = switches * nodes
    links: _Links = [(v, total + v // nodes, bandwidth) for v in range(total)]
    links += [
        (total + a, total + half + b, Fraction(bandwidth * nodes, half))
        for a in range(half)
        for b in range(half)
    ]
    return Fabric.from_links(f"bigraph({switches},{nodes})", total, switches, links, both_ways=True)


def leaf_spine(
    boxes: Sequence[Sequence[int]],
    cards: Sequence[int],
    uplinks: Sequence[Sequence[int]],
    *,
    scale_up: int = 300,
) -> Fabric:
    """Boxes of GPUs under leaf switches under spines, as irregular as one likes.

    Args:
        boxes: for each leaf the GPUs of each box below it; a box of one GPU has no switch.
        cards: for each leaf the bandwidth of the card of each GPU below it.
        uplinks: for each leaf the bandwidth to each spine.
        scale_up: from a GPU to its box's switch.
    """
    nodes = sum(map(sum, boxes))
    leaves, spines = len(boxes), len(uplinks[0])
    num_boxes = sum(map(len, boxes))
    links, gpu, box = _Links(), 0, 0
    for leaf, below in enumerate(boxes):
        for size in below:
            for _ in range(size):
                if size > 1:
                    links.append((gpu, nodes + leaves + spines + box, scale_up))
                links.append((gpu, nodes + leaf, cards[leaf]))
                gpu += 1
            box += 1
        links += [
            (nodes + leaf, nodes + leaves + spine, b) for spine, b in enumerate(uplinks[leaf]) if b
        ]
    return Fabric.from_links(
        f"leaf_spine({nodes} GPUs in {num_boxes} boxes, {leaves} leaves, {spines} spines)",
        nodes,
        leaves + spines + num_boxes,
        links,
        both_ways=True,
    )


def random_fabric(random: Random, *, irregular: bool) -> Fabric:
    """A small network of nodes and switches in which every vertex reaches every other.

    A regular one has equal links both ways.  An irregular one is a union of directed cycles, which
    is balanced at every vertex but one-way in many places.
    """
    nodes, switches = random.randint(2, 6), random.randint(1, 4)
    total = nodes + switches
    links: _Links = []
    if irregular:
        ring = random.sample(range(total), total)
        cycles = [ring] + [
            random.sample(range(total), random.randint(2, total))
            for _ in range(random.randint(1, 5))
        ]
        for cycle in cycles:
            bandwidth = Fraction(random.randint(1, 9), random.choice((1, 1, 1, 2, 3)))
            links += [(u, v, bandwidth) for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
        return Fabric.from_links("random cycles", nodes, switches, links)
    for v in range(1, total):
        links.append((random.randrange(v), v, random.randint(1, 6)))
    for _ in range(random.randint(0, 2 * total)):
        u, v = random.sample(range(total), 2)
        links.append((u, v, random.choice((1, 1, 2, 3, Fraction(5, 2)))))
    return Fabric.from_links("random", nodes, switches, links, both_ways=True)
