"""Collectives made of others from Python: conventions for C, errors, and caches."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from syncoll.errors import ModelError, Origin
from syncoll.model import Collective, RelationTable, inverse_of, sequence_of
from syncoll.model.chunk_lookup import part_chunks
from tests.oracles.classics import allgather, alltoall, broadcast, gather, line, ring, scatter

HERE = Origin("x.syncoll", 3, 5, "a line of text", 4)
THERE = Origin("x.syncoll", 4, 1, "another line", 2)


def reduce(root: int = 0) -> Collective:
    return inverse_of(broadcast(root), f"reduce({root})")


def reducescatter() -> Collective:
    return inverse_of(allgather(), "reducescatter")


def allreduce() -> Collective:
    return sequence_of([[reducescatter(), allgather()], [reduce(), broadcast()]], "allreduce")


def alike(one: RelationTable, two: RelationTable) -> bool:
    return np.array_equal(one.pre, two.pre) and np.array_equal(one.post, two.post)


def admitted(collective: Collective, nodes: int, most: int = 24) -> list[int]:
    return [chunks for chunks in range(1, most + 1) if collective.admits(nodes, chunks)]


class TestInverse:
    @pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8])
    @pytest.mark.parametrize("make", [allgather, lambda: broadcast(0), lambda: gather(0)])
    @pytest.mark.parametrize("chunks", [1, 2, 3])
    def test_pre_and_post_change_places(
        self, make: Callable[[], Collective], nodes: int, chunks: int
    ) -> None:
        """C counts a node's chunks at the start: the most at one node in the dual's post."""
        dual = make()
        table = dual.tabulate(nodes, chunks)
        own = int(table.post.sum(axis=0).max())
        inverse = inverse_of(dual, "i")
        assert inverse.admits(nodes, own)
        turned = inverse.tabulate(nodes, own)
        assert np.array_equal(turned.pre, table.post)
        assert np.array_equal(turned.post, table.pre)

    @pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8])
    def test_which_chunks_are_admitted(self, nodes: int) -> None:
        multiples = [c for c in range(1, 25) if c % nodes == 0]
        assert admitted(reducescatter(), nodes) == multiples
        assert admitted(reduce(), nodes) == list(range(1, 25))
        assert admitted(inverse_of(gather(), "i"), nodes) == multiples
        assert admitted(inverse_of(alltoall(), "i"), nodes) == multiples

    @pytest.mark.parametrize("nodes", [2, 3, 4])
    def test_a_node_may_have_fewer_chunks_than_the_dual_counts(self, nodes: int) -> None:
        """The inverse of scatter counts one node's pieces, as gather does."""
        dual = Collective.from_relations(
            "scatter",
            lambda p, c: c,
            lambda c, n, *_: n == 0,
            lambda c, n, p, _: n == c % p,
            admits=lambda p, c: c % p == 0,
        )
        inverse = inverse_of(dual, "i")
        assert admitted(inverse, nodes) == list(range(1, 25))
        assert alike(inverse.tabulate(nodes, 3), gather().tabulate(nodes, 3))

    @pytest.mark.parametrize("make", [allgather, lambda: broadcast(1), gather, scatter, alltoall])
    @pytest.mark.parametrize("nodes", [2, 3, 4])
    def test_the_inverse_of_an_inverse(self, make: Callable[[], Collective], nodes: int) -> None:
        dual = make()
        inverse = inverse_of(dual, "i")
        twice = inverse_of(inverse, "ii")
        assert not twice.combining
        assert twice.dual is inverse
        for chunks in admitted(dual, nodes, 8):
            if dual.tabulate(nodes, chunks).pre.sum(axis=0).max() == chunks:  # C is per node
                assert twice.admits(nodes, chunks)
                assert alike(twice.tabulate(nodes, chunks), dual.tabulate(nodes, chunks))

    def test_its_fields(self) -> None:
        dual = alltoall()
        inverse = inverse_of(dual, "i", HERE)
        assert (inverse.name, inverse.combining, inverse.dual) == ("i", True, dual)
        assert (inverse.ways, inverse.origin) == ((), HERE)
        assert dual.name in inverse.requirement
        assert dual.requirement in inverse.requirement

    def test_several_roots(self) -> None:
        dual = Collective.from_arrays("d", [[1, 0, 0], [1, 1, 0]], [[1, 1, 1], [1, 1, 1]])
        inverse = inverse_of(dual, "i", HERE)
        with pytest.raises(ModelError, match="chunk 1 of d has 2 roots") as caught:
            inverse.tabulate(3, 2)
        assert caught.value.origin == HERE
        assert "exactly one node" in caught.value.expected

    def test_a_chunk_without_a_root(self) -> None:
        dual = Collective.from_arrays("d", [[0, 0]], [[0, 1]])
        with pytest.raises(ModelError, match="chunk 0 of d has 0 roots"):
            inverse_of(dual, "i").tabulate(2, 1)

    def test_an_inverse_with_several_results_has_several_roots(self) -> None:
        """Only collectives with one result for each chunk have an inverse."""
        dual = dataclasses.replace(gather(), combining=True)
        assert not inverse_of(dual, "i").combining
        everywhere = Collective.from_arrays("a", [[1, 1]], [[1, 1]])
        everywhere = dataclasses.replace(everywhere, combining=True)
        with pytest.raises(ModelError, match="has 2 roots"):
            inverse_of(everywhere, "i").tabulate(2, 1)

    def test_no_such_chunks(self) -> None:
        inverse = inverse_of(allgather(), "i", HERE)
        with pytest.raises(ModelError, match="i is not defined for C = 3 on 2 nodes") as caught:
            inverse.tabulate(2, 3)
        assert caught.value.origin == HERE
        with pytest.raises(ModelError, match="i is not defined for C = 3 on 4 nodes") as caught:
            inverse.instantiate(ring(4), chunks=3, steps=3, rounds=3)
        assert caught.value.origin == HERE

    def test_a_composed_one_has_no_inverse(self) -> None:
        with pytest.raises(ModelError, match="allreduce is composed of others") as caught:
            inverse_of(allreduce(), "i", HERE)
        assert caught.value.origin == HERE
        assert "a pre and a post" in caught.value.expected

    def test_instances_combine(self) -> None:
        instance = reducescatter().instantiate(line(3), chunks=3, steps=2, rounds=3)
        assert instance.combining
        assert instance.num_chunks == instance.chunks == 3


class TestSequence:
    @pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8])
    def test_allreduce(self, nodes: int) -> None:
        whole = allreduce()
        assert whole.combining
        assert admitted(whole, nodes) == list(range(1, 25))
        one_way = sequence_of([[reducescatter(), allgather()]], "one")
        assert admitted(one_way, nodes) == [c for c in range(1, 25) if c % nodes == 0]
        for chunks in (1, nodes, 2 * nodes, 2 * nodes + 1):
            table = whole.tabulate(nodes, chunks)
            assert table.pre.shape == (chunks, nodes)
            assert table.pre.all()
            assert table.post.all()

    def test_chunks_that_only_move(self) -> None:
        whole = sequence_of([[gather(1), broadcast(1)]], "whole")
        assert not whole.combining
        for chunks in (1, 2, 3):
            assert alike(whole.tabulate(4, chunks), allgather().tabulate(4, chunks))

    def test_chunks_are_numbered_as_in_the_first_part(self) -> None:
        """The later part lists the same chunks in another order."""
        first = Collective.from_arrays("f", [[1, 0], [1, 0]], [[1, 0], [0, 1]])
        later = Collective.from_arrays("l", [[0, 1], [1, 0]], [[0, 1], [1, 1]])
        table = sequence_of([[first, later]], "s").tabulate(2, 1)
        assert table.pre.tolist() == [[True, False], [True, False]]
        assert table.post.tolist() == [[True, True], [False, True]]

    def test_three_parts_and_composed_parts(self) -> None:
        flat = sequence_of([[reducescatter(), gather(), broadcast()]], "flat")
        first = sequence_of([[reducescatter(), gather()]], "first")
        nested = sequence_of([[first, broadcast()]], "nested")
        for whole in (flat, nested):
            assert admitted(whole, 3) == [c for c in range(1, 25) if c % 3 == 0]
            assert alike(whole.tabulate(3, 6), allreduce().tabulate(3, 6))

    def test_its_fields(self) -> None:
        parts = [reduce(), broadcast()]
        whole = sequence_of([parts], "w", HERE)
        assert (whole.name, whole.origin, whole.dual) == ("w", HERE, None)
        assert whole.ways == (tuple(parts),)
        assert whole.requirement

    def test_combining_after_another(self) -> None:
        ways = [[reduce(), broadcast()], [reduce(), broadcast(), reduce(1)]]
        with pytest.raises(ModelError) as caught:
            sequence_of(ways, "w", HERE)
        assert "reduce(1) combines, so it cannot come after broadcast" in caught.value.message
        assert caught.value.origin == HERE
        with pytest.raises(ModelError) as caught:
            sequence_of(ways, "w", HERE, origins=[[HERE, HERE], [HERE, HERE, THERE]])
        assert caught.value.origin == THERE

    def test_only_one_way_combines(self) -> None:
        ways = [[reduce(), broadcast()], [gather(), broadcast()]]
        with pytest.raises(ModelError, match="one way to it combines and another does") as caught:
            sequence_of(ways, "w", HERE)
        assert caught.value.origin == HERE
        with pytest.raises(ModelError) as caught:
            sequence_of(ways, "w", HERE, origins=[[HERE, HERE], [THERE, HERE]])
        assert caught.value.origin == THERE

    @pytest.mark.parametrize("ways", [[], [[]], [[reduce(), broadcast()], []]])
    def test_no_parts(self, ways: list[list[Collective]]) -> None:
        with pytest.raises(ModelError, match="without parts"):
            sequence_of(ways, "w")

    def test_parts_that_do_not_fit_together(self) -> None:
        whole = sequence_of([[reduce(1), broadcast(0)]], "w", HERE, origins=[[HERE, THERE]])
        message = r"broadcast does not start where the part before it ends \(3 nodes, C = 2\)"
        for attempt in (whole.admits, whole.tabulate):
            with pytest.raises(ModelError, match=message) as caught:
                attempt(3, 2)
            assert caught.value.origin == THERE

    def test_ways_that_differ(self) -> None:
        same = sequence_of([[reduce(), broadcast()], [reduce(1), broadcast(1)]], "same")
        assert same.tabulate(3, 2).post.all()
        whole = sequence_of([[reduce(), broadcast()], [reduce(1)]], "w", HERE)
        with pytest.raises(ModelError) as caught:
            whole.tabulate(3, 2)
        assert "reduce(1) has another result than reduce(0) then" in caught.value.message
        assert caught.value.origin == HERE

    def test_no_such_chunks(self) -> None:
        whole = sequence_of([[reducescatter(), allgather()]], "w", HERE)
        with pytest.raises(ModelError, match="w is not defined for C = 5 on 4 nodes") as caught:
            whole.tabulate(4, 5)
        assert caught.value.origin == HERE

    def test_a_part_is_asked_once_for_each_size(self) -> None:
        asked: list[tuple[int, int]] = []
        base = broadcast()

        def tabulate(nodes: int, chunks: int) -> RelationTable:
            asked.append((nodes, chunks))
            return base.tabulate(nodes, chunks)

        whole = sequence_of([[reduce(), dataclasses.replace(base, tabulate=tabulate)]], "w")
        for _ in range(5):
            assert whole.admits(4, 6)
        assert len(asked) <= 3


class TestPartChunks:
    @pytest.mark.parametrize("nodes", [1, 3, 8])
    def test_common_ones(self, nodes: int) -> None:
        assert part_chunks(broadcast(), nodes, 24) == 24
        assert part_chunks(allgather(), nodes, 24 * nodes) == 24
        assert part_chunks(reducescatter(), nodes, 24) == 24
        assert part_chunks(alltoall(), nodes, nodes * nodes) == nodes

    def test_an_impossible_number_of_chunks(self) -> None:
        assert part_chunks(allgather(), 4, 6) is None
        assert part_chunks(alltoall(), 4, 20) is None

    @pytest.mark.parametrize("total", [6, 7, 500, 990])
    def test_irregular_ones(self, total: int) -> None:
        odd = Collective.from_relations(
            "o", lambda _, c: c + 5, lambda *_: True, lambda *_: True, irregular=True
        )
        assert part_chunks(odd, 3, total) == total - 5
        assert part_chunks(odd, 3, 5) is None

    def test_absurd_ones_end(self) -> None:
        few = Collective.from_relations(
            "f", lambda *_: 3, lambda *_: True, lambda *_: True, irregular=True
        )
        never = dataclasses.replace(few, admits=lambda _, c: c > 10**7)
        assert part_chunks(few, 3, 10**9) is None
        assert part_chunks(never, 3, 10**9) is None


def _all(_table_nodes: int, chunks: int) -> RelationTable:
    return RelationTable(np.ones((chunks, 3), bool), np.ones((chunks, 3), bool))


def _one(_table_nodes: int, chunks: int) -> RelationTable:
    return RelationTable(np.eye(3, dtype=bool)[[1] * chunks], np.ones((chunks, 3), bool))


def _any(_nodes: int, _chunks: int) -> bool:
    return True


def test_they_can_be_pickled_when_their_parts_can() -> None:
    base = Collective("b", _one, _any)
    inverse = inverse_of(base, "i", HERE)
    whole = sequence_of([[inverse, base], [inverse, base]], "w", HERE, origins=[[HERE] * 2] * 2)
    whole.tabulate(3, 2)
    copy: Collective = pickle.loads(pickle.dumps(whole))
    assert copy.admits(3, 4)
    assert alike(copy.tabulate(3, 4), _all(3, 4))
    assert (copy.name, copy.combining, copy.origin) == ("w", True, HERE)
    assert copy.ways[0][0].dual == base


class TestCutting:
    """Whether a larger C cuts the chunks of the least one."""

    def test_an_inverse_is_as_regular_as_its_dual(self) -> None:
        dual = Collective.from_arrays("gather up", [[1, 0], [0, 1]], [[1, 0], [1, 0]])
        inverse = inverse_of(dual, "inverse")
        assert not inverse.irregular
        assert admitted(inverse, 2, 9) == [2, 4, 6, 8]
        assert inverse.tabulate(2, 6).same_as(inverse.tabulate(2, 2).cut(3))
        assert inverse_of(dataclasses.replace(dual, irregular=True), "inverse").irregular

    def test_a_sequence_is_as_regular_as_its_parts(self) -> None:
        assert not allreduce().irregular
        odd = dataclasses.replace(broadcast(), irregular=True)
        assert sequence_of([[reduce(), odd]], "w").irregular
        assert sequence_of([[reduce(), broadcast()], [reduce(), odd]], "w").irregular

    def test_a_sequence_paired_by_place_cuts_its_chunks(self) -> None:
        """Both parts list their chunks as they like, and differently for each C."""
        mix = blocks("mix", lambda c, n, p, k: n == c // k, lambda c, n, *_: (c >= 0) | (n >= 0))
        sort = blocks("sort", lambda c, n, *_: (c >= 0) | (n >= 0), lambda c, n, p, _: n == c % p)
        both = sequence_of([[mix, sort]], "both")
        assert not both.irregular
        assert not RelationTable(mix.tabulate(2, 2).pre, sort.tabulate(2, 2).post).same_as(
            both.tabulate(2, 1).cut(2)
        )
        for chunks in range(1, 7):
            assert both.admits(2, chunks)
            assert alike(both.tabulate(2, chunks), both.tabulate(2, 1).cut(chunks))

    def test_parts_whose_chunks_fit_together_for_some_c(self) -> None:
        """Two chunks for a C of the first, three for one of the second."""
        first = Collective.from_arrays("two", [[1, 0]] * 2, [[1, 1]] * 2)
        later = Collective.from_arrays("three", [[1, 1]] * 3, [[0, 1]] * 3)
        both = sequence_of([[first, later]], "both")
        assert admitted(both, 2, 10) == [3, 6, 9]
        assert alike(both.tabulate(2, 9), both.tabulate(2, 3).cut(3))

    @pytest.mark.parametrize("other", [([[1, 0]] * 2, [[1, 1]] * 2), ([[0, 1]], [[1, 1]])])
    def test_all_ways_must_have_the_same_result(self, other: tuple[list[list[int]], ...]) -> None:
        """Also if no C that was tried admits more than one of them."""
        one = Collective.from_arrays("one", [[1, 0]], [[1, 1]])
        two = dataclasses.replace(
            Collective.from_arrays("two", *other), admits=lambda _, c: c % 5 == 0
        )
        assert sequence_of([[one], [one]], "same").tabulate(2, 1).post.all()
        with pytest.raises(ModelError, match="two has another result than one"):
            sequence_of([[one], [two]], "w").tabulate(2, 1)

    def test_a_part_after_a_choice_continues_multiples(self) -> None:
        """The choice itself is also defined for C = 3, whose chunks are not the cut chunks of C =
        2."""
        one = Collective.from_arrays("one", [[1, 0]], [[1, 1]])
        two = dataclasses.replace(one, name="two", admits=lambda _, c: c % 2 == 0)
        three = dataclasses.replace(one, name="three", admits=lambda _, c: c % 3 == 0)
        choice = sequence_of([[two], [three]], "choice")
        assert admitted(choice, 2, 6) == [2, 3, 4, 6]
        back = Collective.from_arrays("back", [[1, 1]], [[0, 1]])
        whole = sequence_of([[choice, back]], "whole")
        assert admitted(whole, 2, 6) == [2, 4, 6]
        assert alike(whole.tabulate(2, 6), whole.tabulate(2, 2).cut(3))

    def test_too_large_a_sequence_to_compare_is_refused(self) -> None:
        parts = [
            Collective.from_arrays(f"{n}", [[1, 1]] * n, [[1, 1]] * n) for n in (307, 311, 313)
        ]
        whole = sequence_of([[parts[0]], parts], "w")
        with pytest.raises(ModelError, match=r"307 then 311 then 313 fit together for 29\d* chunk"):
            whole.tabulate(2, 1)


def blocks(name: str, pre: Callable[..., object], post: Callable[..., object]) -> Collective:
    return Collective.from_relations(name, lambda p, c: p * c, pre, post)


class TestMeasuresThatGoUpAndDown:
    def test_a_smaller_measure_after_a_larger_one_is_found(self) -> None:
        odd = Collective.from_relations(
            "odd",
            lambda p, c: c if c % 2 == 0 else 3 * c,
            lambda c, n, *_: n == 0,
            lambda c, n, *_: n == 1,
            irregular=True,
        )
        assert part_chunks(odd, 3, 2) == 2
        assert part_chunks(odd, 3, 9) == 3
        assert part_chunks(odd, 3, 5) is None

    def test_trying_ends(self) -> None:
        """Tables of 60 C chunks on 64 nodes, each too large: not one for every C."""
        made = []

        def chunks(_nodes: int, per_node: int) -> int:
            made.append(per_node)
            return 60 * per_node + 7

        large = Collective.from_relations(
            "large", chunks, lambda c, n, *_: n == 0, lambda c, n, *_: n == 1, irregular=True
        )
        assert part_chunks(large, 64, 50) is None
        assert len(made) < 40
