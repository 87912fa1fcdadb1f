"""Damage: parts named by texts, and the damaged machine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import syncoll
from syncoll.damage.damaged import Damaged, damaged
from syncoll.errors import ImpossibleError, LocatedError, UsageError
from syncoll.model import Collective, Fabric, Topology
from syncoll.repairing.fewer_nodes import collective_of_the_rest
from syncoll.routing import as_topology
from syncoll.session import Session
from syncoll.simulating.network import PhysicalNetwork, physical_network
from syncoll.simulating.semantics import Semantics, parse_slow
from syncoll.spec.damages import parse_damage


def left(topology: str, *without: str, slow: tuple[str, ...] = ()) -> Damaged:
    damages = [*map(parse_damage, without), *(parse_damage(one, slow=True) for one in slow)]
    return damaged(syncoll.topology(topology), damages)


def rates(topology: Topology) -> dict[tuple[int, int], Fraction]:
    return {
        bound.links[0]: bound.chunks_per_round for bound in topology.bounds if len(bound.links) == 1
    }


@pytest.mark.parametrize(
    "text", ["link 0->1", "0->1", " link  node 0 -> GPU 1 ", "cable rank 0->1"]
)
def test_removing_a_link_removes_only_this_link(text: str) -> None:
    whole, now = syncoll.topology("dgx1"), left("dgx1", text).topology
    assert {*whole.links} - {*now.links} == {(0, 1)}
    assert {*rates(whole).items()} - {*rates(now).items()} == {((0, 1), Fraction(2))}
    assert now.num_nodes == 8
    assert now.name == "dgx1 without link 0->1"


def test_both_ways_and_several() -> None:
    whole, now = syncoll.topology("dgx1"), left("dgx1", "link 0<->1", "2->3").topology
    assert {*whole.links} - {*now.links} == {(0, 1), (1, 0), (2, 3)}


def test_a_repeated_damage_is_named_once() -> None:
    for again in ("link 0->1", "0->1"):
        now = left("dgx1", "link 0->1", "node 5", again, slow=("2->3 by 2",)).topology
        assert now.name == "dgx1 without link 0->1 and node 5 and with link 2->3 by 2"


@pytest.mark.parametrize(
    ("without", "slow"), [("0<->1", "0->1"), ("node 0", "1->0"), ("node 5", "node 5")]
)
def test_a_removed_part_cannot_be_slower(without: str, slow: str) -> None:
    with pytest.raises(UsageError, match=f"'{slow} by 2': it is removed"):
        left("dgx1", without, slow=(f"{slow} by 2",))
    left("dgx1", "0->1", slow=("node 0 by 2",))  # other links of node 0 exist


def test_removing_a_node_removes_its_links() -> None:
    machine = left("dgx1", "node 5", "node 0")
    assert machine.nodes == (1, 2, 3, 4, 6, 7)
    assert machine.lost_nodes == (0, 5)
    kept = {(a, b) for a, b in machine.whole.links if not {a, b} & {0, 5}}
    ends = {(machine.nodes[a], machine.nodes[b]) for a, b in machine.topology.links}
    assert ends == kept


def test_slower_links_carry_a_part() -> None:
    now = left("dgx1", slow=("link 0->1 by 3/2", "2->3 by 2")).topology
    before = rates(syncoll.topology("dgx1"))
    assert rates(now) == before | {(0, 1): Fraction(4, 3), (2, 3): before[2, 3] / 2}
    twice = left("dgx1", slow=("link 0->1 by 2", "node 0 by 2")).topology
    assert rates(twice)[0, 1] == before[0, 1] / 4
    assert rates(twice)[1, 0] == before[1, 0] / 2


def test_shared_bandwidth_is_unchanged_without_a_link() -> None:
    whole, now = syncoll.topology("dgx2"), left("dgx2", "link 0->1").topology
    assert [b.chunks_per_round for b in now.bounds] == [b.chunks_per_round for b in whole.bounds]
    assert len(now.links) == len(whole.links) - 1
    slow = left("dgx2", slow=("NVLinks out of GPU 3 by 2",)).topology
    (bound,) = (b for b in slow.bounds if b.label == "NVLinks out of GPU 3")
    assert bound.chunks_per_round == 3
    assert len(bound.links) == 15
    alone = left("dgx2", slow=("link 3->4 by 2",)).topology
    assert rates(alone) == {(3, 4): Fraction(3)}


def test_a_slow_link_has_a_part_of_its_own_bandwidth() -> None:
    """A bound that the link shares is narrower and stays unchanged, in simulations as well."""
    four = dict.fromkeys([(0, 1), (1, 0), (0, 2), (2, 0)], 4)
    whole = Topology.from_links("mine", 3, four, [([(0, 1), (0, 2)], 2)])
    slow = parse_damage("link 0->1 by 2", slow=True)
    now = damaged(whole, [slow]).topology
    assert rates(now) == rates(whole) | {(0, 1): Fraction(2)}
    simulated = Semantics(slow=(parse_slow("0->1 by 2"),)).on(network(whole))
    assert [(x.ends, x.bandwidth) for x in network(now).lanes] == [
        (x.ends, x.bandwidth) for x in simulated.lanes
    ]
    # A shared bound still counts if one link remains in it.
    alone = damaged(whole, [slow, parse_damage("0->2")]).topology
    assert [one.chunks_per_round for one in alone.bounds if one.links == ((0, 1),)] == [2, 2]
    narrow = Topology.from_links("mine", 3, four, [([(0, 1), (0, 2)], 1)])
    alone = damaged(narrow, [slow, parse_damage("0->2")]).topology
    assert {one.chunks_per_round for one in alone.bounds if one.links == ((0, 1),)} == {2, 1}


def network(topology: Topology) -> PhysicalNetwork:
    return physical_network(topology, Fraction(1), Fraction(1))


def test_cables_and_switches_break_where_they_are() -> None:
    """The unit of a chunk per round is unchanged, even if the slowest cable is slower now."""
    whole = syncoll.topology("a100(boxes=2)")
    assert whole.fabric is not None
    for text, cables in (("card 2", 2), ("network card of GPU 2", 2), ("switch 2", 4)):
        now = left("a100(boxes=2)", text).topology
        assert now.fabric is not None
        assert len(whole.fabric.links) - len(now.fabric.links) == cables
        # GPU 2 has no way of its own to other boxes, also without its switch.
        across = [(a, b) for a, b in now.links if (a < 8) != (b < 8)]
        lost = 2 if text != "switch 2" else 0
        assert all(lost not in link for link in across)
        assert now.fabric.chunk_bandwidth == whole.fabric.chunk_bandwidth == 25
    slow = left("a100(boxes=2)", slow=("card 2 by 5",)).topology
    assert slow.fabric is not None
    assert slow.fabric.chunk_bandwidth == 25
    assert min(bound.chunks_per_round for bound in slow.bounds) == Fraction(1, 5)


def test_switches_still_copy_and_reduce() -> None:
    wires = [(n, 4 + n // 2, 2) for n in range(4)] + [(4, 5, 1)]
    fabric = replace(
        Fabric.from_links("two", 4, 2, wires, both_ways=True), multicast=(4, 5), reduce=(5,)
    )
    machine = damaged(as_topology(fabric), [parse_damage("node 1")])
    now = machine.topology.fabric
    assert now is not None
    assert (now.multicast, now.reduce, now.num_switches) == ((3, 4), (4,), 2)
    assert machine.topology.counts_copies


def test_routed_steps_go_other_ways() -> None:
    now = left("routed torus(4,4)", "link 0->1").topology
    assert (0, 1) in now.links  # by another way, which shares more
    assert now.fabric is not None
    assert (0, 1) not in now.fabric.bandwidths


@pytest.mark.parametrize(
    ("topology", "text", "words"),
    [
        ("dgx1", "node 9", "dgx1 has 8 nodes, 0 to 7"),
        ("dgx1", "switch 0", "dgx1 has no switch"),
        ("dgx1", "link 3->4", "no link from 3 to 4; from 3 there are links to 0, 1, 2, 6, and to"),
        ("dgx1", "foo", "links such as 0->1"),
        ("dgx1", "-> 3", "names no part"),
        ("dgx1", "", "names no part"),
        ("a100(boxes=2)", "link 3->6", "no cable from 3 to 6; from 3 there are cables to switch 0"),
        ("a100(boxes=2)", "network crad of GPU 2", "labels 'network card of GPU 2'"),
        ("a100(boxes=2)", "GPU", "several labels"),
    ],
)
def test_unknown_parts_are_refused_with_the_known_ones(
    topology: str, text: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        left(topology, text)


@pytest.mark.parametrize("text", ["link 0->1", "link 0->1 by 1", "link 0->1 by 1/2", "0->1 by 2/0"])
def test_slow_needs_a_factor(text: str) -> None:
    with pytest.raises(UsageError, match="by N"):
        parse_damage(text, slow=True)


def rest(machine: Damaged, name: str) -> str:
    session = Session()
    return collective_of_the_rest(machine, session.collective(name), session.collective).name


def test_a_collective_without_a_node() -> None:
    machine = left("dgx1", "node 1")
    for name, expected in (
        ("allgather", "allgather"),
        ("allreduce", "allreduce"),
        ("alltoall", "alltoall"),
        ("broadcast", "broadcast"),
        ("broadcast(root=3)", "broadcast(root=2)"),
        ("reduce(root=0)", "reduce"),
        ("multi_broadcast(0,4)", "multi_broadcast(0,3)"),
    ):
        assert rest(machine, name).replace(" ", "") == expected.replace(" ", "")
    for name in ("broadcast(root=1)", "reduce(root=1)"):
        with pytest.raises(ImpossibleError, match="is empty without node 1"):
            rest(machine, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("allgather within [[0,1],[2,3]]", "allgather within [[0],[1,2]]"),
        ("2 * broadcast(root=3) + allgather", "2 * broadcast(root=2) + allgather"),
        ("broadcast(root=1) + broadcast(root=2)", "broadcast(root=1)"),
        ("(allgather + broadcast) within [[1,0],[3,2]]", None),
        ("alltoall + broadcast", "alltoall without node 1 + broadcast"),
        ("reducescatter within [[0,1],[2,3]]", None),
    ],
)
def test_sums_and_groups_without_a_node(name: str, expected: str | None) -> None:
    """The rest has exactly the demands of the whole collective on the remaining nodes."""
    machine, session = left("fully_connected(4)", "node 1"), Session()
    whole = session.collective(name)
    now = collective_of_the_rest(machine, whole, session.collective)
    if expected is not None:
        assert now.name == expected
    assert asked(now, 3, [0, 1, 2]) == asked(whole, 4, [0, 2, 3])
    if now.dual is not None and whole.dual is not None:
        assert asked(now.dual, 3, [0, 1, 2]) == asked(whole.dual, 4, [0, 2, 3])


def test_rows_and_columns_of_sizes_without_a_node() -> None:
    sizes = [[0, 2, 1, 0], [1, 0, 0, 3], [0, 1, 0, 2], [4, 0, 1, 0]]
    machine = left("fully_connected(4)", "node 1")
    whole = syncoll.collective("alltoallv", sizes)
    now = collective_of_the_rest(machine, whole, Session().collective)
    rest = [[row[i] for i in (0, 2, 3)] for row in (sizes[0], sizes[2], sizes[3])]
    expected = syncoll.collective("alltoallv", rest)
    for chunks in (1, 3):
        assert now.tabulate(3, chunks).matching(expected.tabulate(3, chunks)) is not None
    assert now.name == f"{whole.name} without node 1"
    with pytest.raises(LocatedError, match="not defined on 5 nodes"):
        now.tabulate(4, 1)


def asked(collective: Collective, nodes: int, left: list[int]) -> dict[bytes, Fraction]:
    """The number of chunks with each pre and post on the remaining nodes, for C = 1."""
    chunks = collective.least_chunks(nodes)
    assert chunks is not None
    table = collective.tabulate(nodes, chunks)
    pre, post = table.pre[:, left], table.post[:, left]
    counts: dict[bytes, Fraction] = {}
    for before, after in zip(pre, post, strict=True):
        if before.any() and after.any():
            row = before.tobytes() + after.tobytes()
            counts[row] = counts.get(row, Fraction(0)) + Fraction(1, chunks)
    return counts


def test_impossible_collectives_are_refused() -> None:
    with pytest.raises(ImpossibleError, match=r"is impossible without link 3->0.*node 3"):
        rest(left("ring(4)", "link 3->0", "link 3->2"), "allgather")
    growing = Collective.from_relations(
        "growing",
        lambda nodes, chunks: nodes,
        lambda c, n, nodes, chunks: n == c,
        lambda c, n, nodes, chunks: (n == c) | (chunks == 1),
        irregular=True,
    )
    with pytest.raises(UsageError, match="growing is irregular"):
        collective_of_the_rest(left("line(3)", "link 0->1"), growing, Session().collective)
    with pytest.raises(UsageError, match="no node"):
        left("ring(2)", "node 0", "node 1")
