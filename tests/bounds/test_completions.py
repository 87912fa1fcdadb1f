"""Cases of the node that completes a sum first: valid bounds, often better than others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from syncoll import bounds
from syncoll.bounding import combining_rounds_bound, first_completion
from syncoll.bounding.branching import divided
from syncoll.bounding.first_completion import find_completions
from syncoll.bounding.shared_steiner_trees import find_gossip
from syncoll.certificates import (
    Certificate,
    ChunkClass,
    ChunkClasses,
    Completions,
    Priced,
    RoundsBound,
    Way,
)
from syncoll.certificates.completions import CompletionCase
from syncoll.deadline import Deadline
from syncoll.documents.certificates import bound_of, certificate_record
from syncoll.documents.record import read_record
from syncoll.documents.stored import load_text
from syncoll.errors import FileFormatError, VerificationError
from syncoll.model import Topology
from syncoll.testing.instances import random_topology
from syncoll_check import check
from syncoll_check.certificates import Certificate as IndependentCertificate
from syncoll_check.layout import WrongError
from syncoll_check.machine import Machine, Shape
from tests.oracles.classics import bus, dgx1, line, ring
from tests.oracles.least_sends import least_sends
from tests.oracles.proofs import argued

F = Fraction


def shape(pre: tuple[int, ...], post: tuple[int, ...], number: int = 1) -> ChunkClasses:
    return ChunkClasses(1, [ChunkClass(pre, post, number)], combining=True)


def everyone(nodes: int, number: int = 1) -> ChunkClasses:
    return shape(tuple(range(nodes)), tuple(range(nodes)), number)


@pytest.mark.parametrize(
    ("topology", "steps", "cost"),
    [
        (ring(5), 3, F(11, 10)),
        (ring(6), 4, F(7, 6)),
        (ring(7), 4, F(3, 2)),  # 31/21 without counting whole sends
        (ring(8), 6, F(19, 16)),  # 37/32
        (bus(3), 1, F(6)),
        (dgx1(), 3, F(1, 2)),
        (line(4), 5, F(5, 3)),
    ],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_known(topology: Topology, steps: int, cost: Fraction) -> None:
    nodes = topology.num_nodes
    found = find_completions(topology, everyone(nodes), steps)
    assert found is not None
    bound, certificate = found
    assert bound == cost
    assert certificate.check(topology, everyone(nodes, 3).classes) == 3 * cost


def test_a_bound_takes_completions_where_they_are_best() -> None:
    bound = combining_rounds_bound(ring(5), everyone(5), 3)
    assert bound.method == "completions"
    assert bound.rounds == F(11, 10), "an algorithm of 10 chunks and 11 rounds exists"
    assert bound_of(certificate_record(bound, 0)) == bound
    Certificate(everyone(5), bound).check(ring(5))


def read(value: Any) -> Any:
    """As the independent checker reads it."""
    if isinstance(value, dict):
        return {key: read(one) for key, one in value.items()}
    if isinstance(value, list):
        return tuple(read(one) for one in value)
    return F(value) if isinstance(value, str) and value[0].isdigit() else value


def independent(topology: Topology, pre: Any = (), post: Any = ()) -> Callable[[Any], object]:
    """The other checker's check of a written certificate about an allreduce of one chunk."""
    nodes = topology.num_nodes
    ends = [[(n, n) for n in some or range(nodes)] for some in (pre, post)]
    whole = {"pre": ends[0], "post": ends[1], "count": 1}
    asked = {"chunks": 1, "combining": True, "classes": [whole], "compared": [1], "scales": None}
    machine = Machine(nodes, list(topology.links), [
        {"links": one.links, "chunks_per_round": one.chunks_per_round} for one in topology.bounds
    ])  # fmt: skip
    return lambda written: IndependentCertificate(written, machine, [Shape(asked, machine)])


def counting(topology: Topology) -> Topology:
    """A machine with the same links on which R counts sends."""
    links = list(topology.links)
    loose = dict.fromkeys(links, 1000)
    return Topology.from_links("counting", topology.num_nodes, loose, [(links, 1)])


ALIKE = [(ring(6), 4), (counting(ring(4)), 2), (counting(bus(3)), 1), (counting(line(3)), 4)]


@pytest.mark.parametrize(("topology", "steps"), ALIKE)
def test_flows_of_orbits_prove_the_same(
    topology: Topology, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One way stands for all that are alike, which both checkers find out."""
    nodes = topology.num_nodes
    alone = find_completions(topology, everyone(nodes), steps)
    monkeypatch.setattr(first_completion, "QUICK", (0, 0))
    found = find_completions(topology, everyone(nodes), steps)
    assert found is not None
    assert alone is not None
    assert found[0] == alone[0]
    if topology.name == "counting":
        everything = (1 << nodes) - 1
        assert found[0] == least_sends(topology, everything, everything, steps)
    record = certificate_record(RoundsBound(found[0], steps, found[1]), 0)
    assert bound_of(record).certificate == found[1]
    independent(topology)(read(json.loads(msgspec.json.encode(record, enc_hook=str))))
    ways = [sum(len(case.ways) for case in one[1].argument.cases) for one in (alone, found)]
    assert ways[1] < ways[0]


def wrong_cases(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cases around node 0 of a ring; each breaks a rule."""
    own = case["automorphisms"]
    yield case | {"automorphisms": []}
    yield case | {"automorphisms": [*own, [*range(1, 6), 0]]}
    yield case | {"automorphisms": [*own, [0, 2, 1, 3, 4, 5]]}
    yield case | {"sends": [(0, 0, True)]}
    for kind in ("ways", "collects"):
        for i, way in enumerate(case[kind]):
            rows = [(link, step, F(1)) for link, step, _ in way["prices"]]
            others = [*case[kind][:i], *case[kind][i + 1 :]]
            yield case | {kind: [*others, way | {"prices": rows}]}


def test_cases_with_wrong_automorphisms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_completion, "QUICK", (0, 0))
    bound = combining_rounds_bound(ring(6), everyone(6), 4)
    record = certificate_record(bound, 0)
    written = read(json.loads(msgspec.json.encode(record, enc_hook=str)))
    is_right = independent(ring(6))
    is_right(written)
    tried = 0
    for i, case in enumerate(written["cases"]):
        for wrong in wrong_cases(case):
            cases = [*written["cases"][:i], wrong, *written["cases"][i + 1 :]]
            changed = written | {"cases": cases}
            with pytest.raises(WrongError):
                is_right(changed)
            content = json.loads(msgspec.json.encode(changed, enc_hook=str))
            again = bound_of(read_record(content, type(record), "changed"))
            with pytest.raises(VerificationError):
                Certificate(everyone(6), again).check(ring(6))
            tried += 1
    assert tried > 20


def test_the_other_checker_counts_whole_sends_exactly() -> None:
    """5/6 over 1/6 is 5, and 6 for numbers with a binary point."""
    links = [(a, a ^ bit) for a in range(8) for bit in (1, 2, 4)]
    cube = Topology.from_links("cube", 8, dict.fromkeys(links, 1))
    found = find_completions(cube, shape((3, 4, 5), (0, 2, 4)), 3)
    assert found is not None
    assert found[0] == F(5, 6)
    is_right = independent(cube, (3, 4, 5), (0, 2, 4))
    for rounds in (F(5, 6), F(1)):
        record = certificate_record(RoundsBound(rounds, 3, found[1]), 0)
        with nullcontext() if rounds < 1 else pytest.raises(WrongError):
            is_right(read(json.loads(msgspec.json.encode(record, enc_hook=str))))


def test_shares_of_alike_links_add_up_beyond_machine_words() -> None:
    """Shares of 2**64 units more than there are: their sum would be one that fits."""
    nodes = 12
    links = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    topology = Topology.from_links("full", nodes, dict.fromkeys(links, 1))
    others = [i for i, link in enumerate(topology.links) if 0 not in link]
    alike = len(others)
    units = len(links) * alike * (2**62 // (alike * nodes**3) // (len(links) * alike))
    units *= len(links)
    most = units // len(links) * alike // alike * alike
    asked = dict.fromkeys(((a, b) for a in range(nodes) for b in range(nodes) if a != b), most)
    surplus = len(asked) * most * alike % 2**64
    shares = []
    for (a, b), amount in asked.items():
        own = dict.fromkeys(others, amount)
        for link in others:
            cut = min(surplus // alike * alike, amount) if topology.links[link] != (a, b) else 0
            own[link], surplus = amount - cut, surplus - cut
        prices = {(link, 0): F(part, units) for link, part in own.items() if part}
        shares.append(Way(a, b, prices))

    def swaps(first: int) -> tuple[tuple[int, ...], ...]:
        every = range(first, nodes - 1)
        return tuple((*range(i), i + 1, i, *range(i + 2, nodes)) for i in every)

    case = CompletionCase(0, 0, 1, tuple(shares), (), (), swaps(1))
    prices = {(i, 0): F(1, len(links)) for i in range(len(topology.bounds))}
    with pytest.raises(VerificationError, match="exceed the price"):
        Priced(1, prices, Completions(swaps(0), (case,))).check(topology, everyone(nodes).classes)


def test_divided_cases_prove_the_cost_on_a_ring_of_eight() -> None:
    """No allreduce of 6 steps has less than the 20 sends a chunk that suffice."""
    bound = combining_rounds_bound(ring(8), everyone(8), 6, seconds=None, enough=F(5, 4))
    certificate = bound.certificate
    assert certificate is not None
    assert isinstance(certificate.argument, Completions)
    assert bound.rounds == F(5, 4)
    record = certificate_record(bound, 0)
    assert bound_of(record) == bound
    written = read(json.loads(msgspec.json.encode(record, enc_hook=str)))
    is_right = independent(ring(8))
    is_right(written)
    divided_case = next(case for case in written["cases"] if case.get("sends"))
    written["cases"] = [case for case in written["cases"] if case != divided_case]
    with pytest.raises(WrongError, match="no case"):
        is_right(written)
    cases = [case for case in certificate.argument.cases if case.sends]
    assert len(cases) > 1
    for one in cases:  # without any of them something is left out
        rest = tuple(case for case in certificate.argument.cases if case != one)
        with pytest.raises(VerificationError, match="no case"):
            argued(certificate, cases=rest).check(ring(8), everyone(8).classes)
    link, step, made = cases[0].sends[-1]
    for wrong, match in (((99, step, made), "does not exist"), ((link, step, not made), "no case")):
        changed = replace(cases[0], sends=(*cases[0].sends[:-1], wrong))
        rest = tuple(changed if case == cases[0] else case for case in certificate.argument.cases)
        with pytest.raises(VerificationError, match=match):
            argued(certificate, cases=rest).check(ring(8), everyone(8).classes)


def test_no_algorithm_needs_fewer_sends() -> None:
    """On small machines whose sends share one bus, where R counts them, by brute force."""
    checked, met = 0, [0, 0]
    for seed in range(7):
        machine = random_topology(seed, least_nodes=3, most_nodes=4)
        nodes, links = machine.num_nodes, list(machine.links)[:8]
        loose = dict.fromkeys(links, 1000)
        topology = Topology.from_links("counting", nodes, loose, [(links, 1)])
        whole = tuple(range(nodes))
        for pre, post in ((whole, whole), (whole[:2], whole[1:]), (whole[1:], whole[:1])):
            words = [sum(1 << n for n in one) for one in (pre, post)]
            for steps in (1, 2, 3):
                truth = least_sends(topology, *words, steps)
                if truth is None:
                    continue
                for i, find in enumerate((find_completions, find_gossip)):
                    found = find(topology, shape(pre, post), steps)
                    assert found is not None
                    assert found[0] <= truth, (seed, pre, post, steps, find)
                    met[i] += found[0] == truth
                    if find is find_completions:  # asked for too much
                        until = Deadline.after(60)
                        better = divided(topology, shape(pre, post), found[1], until, F(truth + 2))
                        assert better is None or better[0] <= truth, (seed, pre, post, steps)
                checked += 1
    assert checked > 12
    assert min(met) > checked / 2


class TestRefused:
    def changed(self, match: str, **change: object) -> None:
        found = argued(self.certificate(), **change)
        with pytest.raises(VerificationError, match=match):
            found.check(ring(5), everyone(5).classes)

    def priced(self, match: str, prices: dict[tuple[int, int], Fraction]) -> None:
        with pytest.raises(VerificationError, match=match):
            replace(self.certificate(), prices=prices).check(ring(5), everyone(5).classes)

    def certificate(self) -> Priced:
        found = find_completions(ring(5), everyone(5), 3)
        assert found is not None
        return found[1]

    def test_prices(self) -> None:
        prices = self.certificate().prices
        first = next(iter(prices))
        self.priced("costs", {**prices, first: F(1)})
        self.priced("negative", {**prices, first: F(-1)})
        self.priced("does not keep the bounds", {**prices, first: prices[first] / 2})
        self.priced("does not exist", {(99, 0): F(1)})

    def test_automorphisms(self) -> None:
        self.changed("no case", automorphisms=())
        self.changed("no permutation", automorphisms=((0, 0, 1, 2, 3),))
        self.changed("maps a link", automorphisms=((0, 2, 1, 3, 4),))

    def test_cases(self) -> None:
        certificate = self.certificate()
        assert isinstance(certificate.argument, Completions)
        first, *rest = certificate.argument.cases
        self.changed("no case", cases=tuple(rest))
        dear = {(link, step): F(1) for link in range(10) for step in range(3)}
        self.changed("above its price", cases=(replace(first, ways=(Way(0, 1, dear),)), *rest))
        whole = {at: price for at, price in certificate.prices.items() if at[1] == 0}
        twice = (Way(0, 1, whole), Way(0, 2, whole))
        self.changed("exceed", cases=(replace(first, ways=twice), *rest))
        self.changed(
            "has to be collected", cases=(replace(first, collects=(Way(0, first.node, {}),)), *rest)
        )
        again = (Way(0, 1, {}), Way(0, 1, {}))
        self.changed("two shares for one way", cases=(replace(first, ways=again), *rest))
        self.changed("has to get", cases=(replace(first, ways=(Way(1, 1, {}),)), *rest))
        self.changed("is possible", cases=(replace(first, node=5), *rest))
        early = replace(first, after=1, collects=(Way(2, first.node, {}),))
        self.changed("cannot hold all", cases=(early, *rest))

    def test_another_collective_or_number_of_steps_is_refused(self) -> None:
        certificate = self.certificate()
        bound = RoundsBound(F(11, 10), 2, certificate)
        with pytest.raises(VerificationError, match="about 3 steps"):
            Certificate(everyone(5), bound).check(ring(5))
        alone = ChunkClasses(1, [ChunkClass((0,), (1,), 1)], combining=False)
        with pytest.raises(VerificationError, match="combines nothing"):
            Certificate(alone, RoundsBound(F(11, 10), 3, certificate)).check(ring(5))


def test_automorphisms_of_cases_need_version_10(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_completion, "QUICK", (0, 0))
    document = bounds("ring(6)", "allreduce", max_steps=4).saved()
    assert document["schema"] == "syncoll/frontier/10"
    text = json.dumps(document)
    check(text.encode())
    load_text(text, "bounds.json")
    document = {k: v for k, v in document.items() if k != "digest"}
    text = json.dumps({**document, "schema": "syncoll/frontier/9"})
    with pytest.raises(WrongError, match="from version 10 on"):
        check(text.encode())
    with pytest.raises(FileFormatError, match="cases with automorphisms"):
        load_text(text, "bounds.json")
