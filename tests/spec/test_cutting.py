"""A definition describes the least C, and a larger C cuts every chunk; or it is irregular."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.model import Collective, RelationTable
from syncoll.model.cutting import Cutting
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary, check_file
from tests.oracles.collectives import random_collective

LIBRARY = SpecLibrary(
    [record.folder for record in PluginManager.discover().spec_libraries.values()]
)

SHIPPED = (
    "allgather",
    "allreduce",
    "alltoall",
    "broadcast(1)",
    "gather",
    "multi_broadcast(0, 2)",
    "multi_gather(0, 2)",
    "multi_scatter(0, 2)",
    "reduce",
    "reducescatter",
    "scatter(1)",
)
SIZED = {
    *("alltoallv", "allgatherv", "gatherv", "scatterv", "reducescatterv", "dispatch", "combine"),
    *("reshard", "reshard_copies", "reshard_parts", "reshard_sums"),
}
"""They do not depend on C, see `test_sizes.py`."""


def made(file: Path, body: str) -> Collective:
    file.write_text(f"collective x {{\n{body}\n}}\n", encoding="utf-8")
    return LIBRARY.collective(f"{file}:x")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.syncoll"


def test_every_shipped_collective_is_tested() -> None:
    named = {name.partition("(")[0] for name in SHIPPED}
    assert named | SIZED == {entry.name for entry in LIBRARY.names("collective")}


@pytest.mark.parametrize("reference", SHIPPED)
@pytest.mark.parametrize("nodes", [3, 4, 8])
def test_shipped_collectives_cut_their_chunks_in_this_order(reference: str, nodes: int) -> None:
    collective = LIBRARY.collective(reference)
    assert not collective.irregular
    admitted = [chunks for chunks in range(1, 4 * nodes + 1) if collective.admits(nodes, chunks)]
    assert admitted == list(range(admitted[0], 4 * nodes + 1, admitted[0]))
    least = collective.tabulate(nodes, admitted[0])
    for times in (1, 2, 3):
        table, cut = collective.tabulate(nodes, times * admitted[0]), least.cut(times)
        assert np.array_equal(table.pre, cut.pre)
        assert np.array_equal(table.post, cut.post)


@pytest.mark.parametrize("reference", SHIPPED)
def test_pickles_still_work(reference: str) -> None:
    collective = LIBRARY.collective(reference)
    collective.tabulate(3, 6)
    again = pickle.loads(pickle.dumps(collective))
    assert again.tabulate(3, 6).same_as(collective.tabulate(3, 6))
    assert again.irregular == collective.irregular


REGULAR = [
    "chunks P * C pre { (c, n) : n == c div C } post All",
    "chunks P * C pre { (c, n) : n == c div (G div P) } post All",
    "chunks P * C pre { (i * C + j, i) for i in nodes, j in range(C) } post All",
    "chunks P * C pre { (c, n) : n * C <= c < (n + 1) * C } post All",
    "chunks P * C pre { (c, n) : n == (G - 1 - c) div C } post All",
    "chunks C * P pre { (P * j + i, i) for i in nodes, j in range(C) } post All",
    "chunks P * C pre Scattered post { (c, n) : n == [3, 2, 1, 0][c mod 4] }",
    "require C mod P == 0 chunks P * C pre { (c, n) : n == c div C } "
    "post { (c, n) : n == (c mod C) div (C div P) }",
    "let fits(q) = C mod q == 0 require fits(2) and fits(3) chunks C pre Root(0) "
    "post { (c, n) : c < C div 2 or n == 0 }",
    "require C <= 4 chunks C pre Root(0) post All",
    "require C == 6 chunks C pre Root(0) post { (c, n) : n == c mod P }",
    "require C mod 2 == 0 and C != 4 chunks C pre Root(0) post { (c, n) : n == c mod 2 }",
    "require P == 4 chunks C pre Root(0) post All",
]


@pytest.mark.parametrize("body", REGULAR)
def test_usual_definitions_are_regular_and_keep_numbers(body: str, file: Path) -> None:
    collective, says = made(file, body), made(file.with_name("y.syncoll"), f"irregular {body}")
    assert not collective.irregular
    assert says.irregular
    admitted = [chunks for chunks in range(1, 25) if says.admits(4, chunks)]
    assert admitted
    assert [chunks for chunks in range(1, 25) if collective.admits(4, chunks)] == admitted
    least = collective.tabulate(4, admitted[0])
    for chunks in admitted:
        table, said = collective.tabulate(4, chunks), says.tabulate(4, chunks)
        assert np.array_equal(table.pre, said.pre)
        assert np.array_equal(table.post, said.post)
        assert table.same_as(least.cut(chunks // admitted[0]))


DEPENDING = {
    "chunks C + 1 pre Root(0) post All": ("C + 1", "with C = 2", "3 chunks instead of 4"),
    "chunks 2 pre Root(0) post All": ("2", "with C = 2", "2 chunks instead of 4"),
    "chunks C pre { (0, 0) } post All": ("{ (0, 0) }", "with C = 2", "start"),
    "chunks C pre Scattered post All": ("Scattered", "with C = 2", "chunks start elsewhere"),
    "chunks C pre Root(0) post { (c, n) : c == 0 }": (
        "{ (c, n) : c == 0 }", "with C = 2", "chunks end elsewhere",
    ),
    "chunks P * C pre Scattered post { (c, n) : n == c div C }": (
        "{ (c, n) : n == c div C }", "with C = 2", "chunks end elsewhere",
    ),
    "chunks C pre Root(0) post { (c, n) : n == 0 or c < 5 }": (
        "{ (c, n) : n == 0 or c < 5 }", "with C = 6 is not x with C = 1", "(4 nodes)",
    ),
    "chunks C pre Root(0) post { (c, n) : n == [1][c] }": (
        "c", "cannot be evaluated for C = 2", "although its requirements hold for it: ",
    ),
    "require C >= 3 chunks C pre Root(0) post All": (
        "require C >= 3", "defined for C = 4", "its least C, 3",
    ),
    "require C mod 3 == 0 or C == 50 chunks C pre Root(0) post All": (
        "require C mod 3 == 0 or C == 50", "defined for C = 50", "its least C, 3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", DEPENDING)
@pytest.mark.parametrize("chunks", [1, 2, 3, 6])
def test_dependence_on_c_is_refused_unless_declared(body: str, chunks: int, file: Path) -> None:
    mark, what, more = DEPENDING[body]
    collective, says = made(file, body), made(file.with_name("y.syncoll"), f"irregular\n{body}")
    assert says.irregular
    if not says.admits(4, chunks):
        assert not collective.admits(4, chunks)
        return
    if "[c]" not in body or chunks == 1:
        says.tabulate(4, chunks)
    with pytest.raises(SpecError) as caught:
        collective.tabulate(4, chunks)
    error = caught.value
    assert error.origin is not None
    place = (error.origin.file, error.origin.line)
    assert place == (str(file), 2)
    assert error.origin.text[error.origin.column - 1 :][: error.origin.width] == mark
    assert what in error.message
    assert more in error.message
    assert error.expected.endswith("or a line `irregular` in its braces")


def test_an_impossible_least_c_is_named(file: Path) -> None:
    """Its requirements forgot to leave it out."""
    collective = made(
        file, "chunks P * C pre Root(0) post { (c, n) : n == (c mod C) div (C div 2) }"
    )
    with pytest.raises(SpecError, match=r"for C = 1 \(4 nodes\), although its requirements hold"):
        collective.tabulate(4, 2)
    with pytest.raises(SpecError, match=r"^[^,]*division by zero"):
        collective.tabulate(4, 1)


def test_a_distant_c_is_refused_when_it_is_used(file: Path) -> None:
    collective = made(file, "chunks C pre Root(0) post { (c, n) : n == 0 or c < 50 }")
    assert collective.tabulate(4, 50).post.all()
    with pytest.raises(SpecError, match="with C = 51 is not x with C = 1"):
        collective.tabulate(4, 51)
    collective = made(file, "require C mod 2 == 0 or C == 301 chunks C pre Root(0) post All")
    assert collective.tabulate(4, 300).post.all()
    with pytest.raises(SpecError, match="C = 301, which is not a multiple of its least C, 2"):
        collective.admits(4, 301)


def test_a_least_c_that_is_far_away(file: Path) -> None:
    body = "chunks C pre Root(0) post All"
    assert made(file, f"require C mod 5000 == 0 {body}").tabulate(4, 10_000).post.all()
    far = made(file, f"require C == 100001 {body}")
    assert not far.admits(4, 100_000)
    with pytest.raises(SpecError, match="for C = 100001 on 4 nodes, but for no C up to 100000"):
        far.admits(4, 100_001)


def test_a_definition_that_is_regular_on_some_nodes_only(file: Path) -> None:
    body = "chunks P * C pre Scattered post { (c, n) : n == c mod 4 mod P }"
    collective = made(file, body)
    assert collective.tabulate(4, 3).post.any()
    with pytest.raises(SpecError, match=r"\(3 nodes\)"):
        collective.tabulate(3, 1)


def test_tables_too_large_to_compare_are_not_made() -> None:
    """The cut chunks of 2^21 chunks fit into the language's limits, twice as many do not."""
    collective = LIBRARY.collective("scatter")
    assert collective.tabulate(2048, 1 << 21).ends.sets.all(axis=0).sum() == 0
    with pytest.raises(SpecError, match="too many to expand"):
        collective.tabulate(2048, 1 << 23)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("irregular irregular chunks C pre All post All", "`irregular` occurs a second time"),
        ("irreglar chunks C pre All post All", "did you mean `irregular`"),
    ],
)
def test_slips(text: str, message: str, file: Path) -> None:
    with pytest.raises(SpecError) as caught:
        made(file, text)
    assert message in caught.value.message


def test_the_word_can_be_a_name(file: Path) -> None:
    body = "let irregular = 3 irregular chunks irregular pre Root(0) post All"
    collective = made(file, body)
    assert collective.irregular
    assert len(collective.tabulate(2, 5).pre) == 3


def test_a_check_of_a_file_reports_it(file: Path) -> None:
    file.write_text(
        "collective odd { chunks C + 1 pre Root(0) post All }\n"
        "collective even { irregular chunks C + 1 pre Root(0) post All }\n"
    )
    (error,) = check_file(file, LIBRARY).errors
    assert "odd with C = 2 is not odd with C = 1" in error.message


RELATIONS: dict[str, tuple[Callable[..., object], ...]] = {
    "chunks": (lambda p, c: c + 1, lambda c, n, *_: n == 0, lambda c, n, *_: n >= 0),
    "pre": (lambda p, c: c, lambda c, n, p, _: n == c % p, lambda c, n, *_: n >= 0),
    "post": (lambda p, c: c, lambda c, n, *_: n == 0, lambda c, n, *_: (n == 0) | (c == 0)),
    "none": (lambda p, c: c, lambda c, n, *_: n == 0, lambda c, n, *_: [1, 0][c + n]),
}


class TestPython:
    """Functions have the same meaning as the same text."""

    @pytest.mark.parametrize("what", RELATIONS)
    def test_dependence_on_c_is_refused_unless_declared(self, what: str) -> None:
        chunks, pre, post = RELATIONS[what]
        collective = Collective.from_relations("x", chunks, pre, post)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=r"C = 2\b") as caught:
            collective.tabulate(1 if what == "none" else 3, 1)
        assert caught.value.expected.endswith("`irregular=True`")
        says = Collective.from_relations("x", chunks, pre, post, irregular=True)  # type: ignore[arg-type]
        assert says.irregular
        assert len(says.tabulate(1 if what == "none" else 3, 1).pre)

    def test_it_is_the_same_as_in_a_file(self) -> None:
        collective = Collective.from_relations(
            "alltoall",
            lambda p, c: p * c,
            lambda c, n, p, _: n == c % p,
            lambda c, n, p, _: n == (c // p) % p,
            admits=lambda p, c: c % p == 0,
        )
        assert not collective.irregular
        for chunks in (4, 8, 12):
            one, two = (x.tabulate(4, chunks) for x in (collective, LIBRARY.collective("alltoall")))
            assert np.array_equal(one.pre, two.pre)
            assert np.array_equal(one.post, two.post)

    def test_arrays_are_cut(self) -> None:
        assert not Collective.from_arrays("a", [[1, 0]], [[1, 1]]).irregular

    def test_a_table_belongs_to_its_caller(self) -> None:
        collective = LIBRARY.collective("broadcast")
        with pytest.raises(ValueError, match="read-only"):
            collective.tabulate(3, 1).post[:] = False
        assert collective.tabulate(3, 1).post.all()


def tabulated(collective: Collective, nodes: int, most: int) -> dict[int, RelationTable | None]:
    """The tables for C up to a limit; None where one cannot be made."""
    tables: dict[int, RelationTable | None] = {}
    for chunks in range(1, most + 1):
        try:
            if collective.admits(nodes, chunks):
                tables[chunks] = collective.tabulate(nodes, chunks)
        except LocatedError:
            tables[chunks] = None
    return tables


def is_cut(tables: dict[int, RelationTable | None]) -> bool:
    """Whether all tables are the least C's with every chunk cut."""
    least, base = min(tables.items(), key=lambda item: item[0])
    return base is not None and all(
        table is not None and chunks % least == 0 and table.same_as(base.cut(chunks // least))
        for chunks, table in tables.items()
    )


def agree(tables: dict[int, RelationTable | None]) -> bool:
    """Whether all tables are the least C's, if the chunks of both are cut to one number."""
    least, base = min(tables.items(), key=lambda item: item[0])
    return base is not None and all(
        table is not None and table.cut(least).same_as(base.cut(chunks))
        for chunks, table in tables.items()
    )


def survey(seed: int, folder: Path, nodes: int) -> bool | None:
    """Whether a random collective that is not declared irregular is refused.

    It must be if and only if it is irregular; for collectives made of others only one direction is
    checked.  None if it is defined for no C.
    """
    results = []
    text = random_collective(seed)
    for content in (text, text.replace("irregular ", "")):
        path = folder / f"random{len(results)}.syncoll"
        path.write_text(content, encoding="utf-8")
        try:
            results.append(LIBRARY.collective(f"{path}:it"))
        except LocatedError:
            return None
    says, collective = results
    assert says.irregular
    assert not collective.irregular
    tables = tabulated(collective, nodes, 8)
    if not tables:
        return None
    refused = None in tables.values()
    if not refused and text.count("collective") == 1:
        assert is_cut(tables), text
    elif not refused:  # parts may leave out the C that divides all others
        assert agree(tables), text
    elif text.count("collective") == 1:
        assert not is_cut(tabulated(says, nodes, 64)), text
    return refused


class TestRandomCollectives:
    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 4]))
    def test_collectives_that_are_not_refused_are_cut(
        self, tmp_path_factory: pytest.TempPathFactory, seed: int, nodes: int
    ) -> None:
        survey(seed, tmp_path_factory.getbasetemp(), nodes)

    def test_many_are_refused_and_many_are_not(self, tmp_path: Path) -> None:
        found = [survey(seed, tmp_path, 3) for seed in range(100)]
        assert found.count(True) > 15
        assert found.count(False) > 4


def test_few_tables_are_made_to_compare_large_ones() -> None:
    """One more than is requested, if a table has more than a few cells."""
    asked = []
    base = LIBRARY.collective("broadcast")

    def table(nodes: int, chunks: int) -> object:
        asked.append(chunks)
        return base.tabulate(nodes, chunks)

    cutting = Cutting("b", table, lambda *_: True, lambda _, *words: SpecError(*words), "")  # type: ignore[arg-type, return-value]
    for chunks in (1, 1, 5):
        cutting.tabulate(40_000, chunks)
    assert asked == [1, 2, 5]
