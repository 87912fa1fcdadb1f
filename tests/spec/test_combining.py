"""Collectives made of others: ``inverse``, ``then``, ``or``, and shipped ones in terms of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.model import Collective
from syncoll.spec import SpecLibrary, check_file
from syncoll.spec.limits import MAX_PARTS

SpecFile = Callable[..., Path]
SIZES = [(1, 1), (1, 3), (2, 2), (3, 3), (3, 6), (4, 4), (5, 10), (8, 8), (8, 48)]


def all_of(count: int, nodes: int) -> np.ndarray:
    return np.ones((count, nodes), dtype=bool)


def marked(error: LocatedError) -> str:
    """The text under the caret."""
    assert error.origin is not None
    line, caret = error.origin.excerpt().splitlines()
    return line[caret.index("^") : caret.rindex("^") + 1]


# Shipped collectives -----------------------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "chunks"), [*SIZES, (3, 1), (4, 7), (8, 5)])
@pytest.mark.parametrize("root", [0, 2])
def test_reduce(root: int, nodes: int, chunks: int, library: SpecLibrary) -> None:
    """G = C chunks; all nodes contribute to each of them, and the root gets all results."""
    collective = library.collective(f"reduce(root = {root})")
    if root >= nodes:
        with pytest.raises(
            SpecError, match=f"root {root} does not exist: the nodes are 0 to {nodes - 1}"
        ):
            collective.admits(nodes, chunks)
        return
    assert collective.admits(nodes, chunks)
    table = collective.tabulate(nodes, chunks)
    assert np.array_equal(table.pre, all_of(chunks, nodes))
    expected = [[n == root for n in range(nodes)] for _ in range(chunks)]
    assert table.post.tolist() == expected


@pytest.mark.parametrize(("nodes", "chunks"), SIZES)
def test_reducescatter(nodes: int, chunks: int, library: SpecLibrary) -> None:
    """G = C, a multiple of P; all contribute to every chunk; the result of c is at c mod P."""
    collective = library.collective("reducescatter")
    assert collective.admits(nodes, chunks)
    table = collective.tabulate(nodes, chunks)
    assert np.array_equal(table.pre, all_of(chunks, nodes))
    expected = [[n == c % nodes for n in range(nodes)] for c in range(chunks)]
    assert table.post.tolist() == expected


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8])
def test_reducescatter_requires_a_multiple_of_the_nodes(nodes: int, library: SpecLibrary) -> None:
    collective = library.collective("reducescatter")
    admitted = [chunks for chunks in range(1, 30) if collective.admits(nodes, chunks)]
    assert admitted == [chunks for chunks in range(1, 30) if chunks % nodes == 0]


@pytest.mark.parametrize(("nodes", "chunks"), [*SIZES, (3, 1), (4, 7), (8, 5), (8, 12)])
def test_allreduce(nodes: int, chunks: int, library: SpecLibrary) -> None:
    """G = C for every C; all contribute to every chunk, and all get every result."""
    collective = library.collective("allreduce")
    assert collective.admits(nodes, chunks)
    table = collective.tabulate(nodes, chunks)
    assert np.array_equal(table.pre, all_of(chunks, nodes))
    assert np.array_equal(table.post, all_of(chunks, nodes))


def test_parts_of_the_shipped_collectives(library: SpecLibrary) -> None:
    reduce, reducescatter, allreduce = (
        library.collective(name) for name in ("reduce", "reducescatter", "allreduce")
    )
    for collective in (reduce, reducescatter, allreduce):
        assert collective.combining
    assert reduce.dual is not None
    assert reduce.dual.name == "broadcast"
    assert reducescatter.dual is not None
    assert reducescatter.dual.name == "allgather"
    assert allreduce.dual is None
    assert [[part.name for part in way] for way in allreduce.ways] == [
        ["reducescatter", "allgather"],
        ["reduce", "broadcast"],
    ]
    scatter = library.collective("scatter")
    assert (scatter.combining, scatter.dual, scatter.ways) == (False, None, ())


def test_a_part_that_occurs_twice_is_one_object(library: SpecLibrary) -> None:
    """So that a search for allreduce asks once for allgather."""
    for scattered, gathered in library.collective("allreduce").ways:
        assert scattered.dual is gathered


NAMES = {
    "reduce": "reduce",
    "reduce(0)": "reduce",
    "reduce( 2 )": "reduce(root=2)",
    "REDUCE(root = 1 + 1)": "reduce(root=2)",
    "AllReduce": "allreduce",
    "ReduceScatter": "reducescatter",
}


@pytest.mark.parametrize("reference", NAMES)
def test_names_are_canonical_calls(reference: str, library: SpecLibrary) -> None:
    name = NAMES[reference]
    collective = library.collective(reference)
    assert collective.name == name
    assert library.collective(name).name == name
    instance = collective.instantiate(library.topology("ring(4)"), chunks=4, steps=4, rounds=4)
    assert instance.collective == name
    assert instance.combining


def test_they_are_listed_with_their_comments(library: SpecLibrary) -> None:
    listed = {summary.name: summary for summary in library.names("collective")}
    assert listed["reduce"].signature == "reduce(root = 0)"
    for name in ("reduce", "reducescatter", "allreduce"):
        assert "SCCL paper, section 3.5" in listed[name].doc
        assert library.definition("collective", name) == listed[name]
    search = library.search("dgx1_allreduce")
    assert (search.collective.name, search.topology.name) == ("allreduce", "dgx1")


@pytest.mark.parametrize("name", ["reduce(root=1)", "reducescatter", "allreduce"])
def test_they_can_go_to_a_worker_process(name: str, library: SpecLibrary) -> None:
    collective = library.collective(name)
    collective.tabulate(4, 8)  # with its caches
    copy: Collective = pickle.loads(pickle.dumps(collective))
    assert (copy.name, copy.combining, copy.origin) == (name, True, collective.origin)
    for chunks in (3, 4, 8):
        assert copy.admits(4, chunks) == collective.admits(4, chunks)
        if copy.admits(4, chunks):
            one, two = copy.tabulate(4, chunks), collective.tabulate(4, chunks)
            assert np.array_equal(one.pre, two.pre)
            assert np.array_equal(one.post, two.post)


def test_origins_are_the_users_text(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("collective own(n) = inverse broadcast(n)")
    for name, file, mark in (
        ("reduce(2)", "<argument>", "reduce(2)"),
        ("allreduce", "<argument>", "allreduce"),
        ("my.syncoll:own(1)", "my.syncoll", "inverse broadcast(n)"),
    ):
        origin = library.collective(name).origin
        assert origin is not None
        assert origin.file == file
        assert origin.text[origin.column - 1 :][: origin.width] == mark
    with pytest.raises(ModelError) as caught:
        library.collective("reducescatter").instantiate(
            library.topology("ring(4)"), chunks=6, steps=3, rounds=3
        )
    assert "reducescatter is not defined for C = 6 on 4 nodes" in caught.value.message
    assert marked(caught.value) == "reducescatter"


def test_a_topology_on_which_contributions_are_cut_off(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file("topology oneway {\nnodes 2\nlink (0, 1) bandwidth 1\n}")
    oneway = library.topology("my.syncoll:oneway")
    library.collective("reduce(1)").instantiate(oneway, chunks=1, steps=1, rounds=1)
    with pytest.raises(ModelError) as caught:
        library.collective("reduce").instantiate(oneway, chunks=1, steps=1, rounds=1)
    assert marked(caught.value) == "reduce"


# A user's own -----------------------------------------------------------------------------------


@pytest.fixture
def make(library: SpecLibrary, spec_file: SpecFile) -> Callable[..., Collective]:
    """Builds collective `x` of a file."""

    def build(text: str, call: str = "x") -> Collective:
        spec_file(text)
        return library.collective(f"my.syncoll:{call}")

    return build


def same_table(one: Collective, two: Collective, nodes: int, chunks: int) -> None:
    a, b = one.tabulate(nodes, chunks), two.tabulate(nodes, chunks)
    assert np.array_equal(a.pre, b.pre)
    assert np.array_equal(a.post, b.post)
    assert one.combining == two.combining


def test_an_inverse_of_ones_own(make: Callable[..., Collective]) -> None:
    """Of a broadcast from two roots in turn: contributions of all go to these two."""
    collective = make(
        "collective MyBroadcast(a, b = 1) {\n"
        "  chunks 2 * C pre { (c, n) : n == (if c mod 2 == 0 then a else b) } post All\n"
        "}\n"
        "# the sum, half of it\n# at each root\n"
        "collective x(n) = inverse MyBroadcast(n, b = n + 1)",
        "x(1)",
    )
    assert collective.name == "x(1)"
    assert collective.combining
    assert [collective.admits(4, chunks) for chunks in (1, 2, 3, 4)] == [False, True, False, True]
    table = collective.tabulate(4, 4)
    assert table.pre.all()
    assert [np.flatnonzero(row).tolist() for row in table.post] == [[1], [2], [1], [2]]


def test_scatter_then_allgather_is_a_broadcast(
    make: Callable[..., Collective], library: SpecLibrary
) -> None:
    collective = make("collective x(root = 0) = scatter(root) then allgather", "x(2)")
    assert not collective.combining
    for nodes, chunks in ((3, 3), (4, 8)):
        same_table(collective, library.collective("broadcast(2)"), nodes, chunks)
    assert [chunks for chunks in range(1, 9) if collective.admits(4, chunks)] == [4, 8]


SAME = {
    "inverse allgather then allgather": "allreduce",
    "inverse broadcast(1) then broadcast(root = 1)": "allreduce",
    "(inverse allgather) then allgather": "allreduce",
    "reducescatter then gather(0) then broadcast(0)": "allreduce",
    "reducescatter then (gather then broadcast)": "allreduce",
    "(reducescatter then gather) then broadcast": "allreduce",
    "reducescatter then gather(root = 2)": "reduce(2)",
    "reduce then scatter": "reducescatter",
    "allreduce": "allreduce",
    "allreduce or reduce(1) then broadcast(1)": "allreduce",
    "(reduce then broadcast or reducescatter then allgather)": "allreduce",
    "inverse inverse allgather": "allgather",
    "inverse (inverse broadcast(1))": "broadcast(1)",
    "broadcast(1)": "broadcast(1)",
    "scatter then gather then broadcast": "broadcast",
}


@pytest.mark.parametrize("text", SAME)
def test_ways_to_known_collectives(
    text: str, make: Callable[..., Collective], library: SpecLibrary
) -> None:
    collective = make(f"collective x = {text}")
    assert collective.name == "x"
    known = library.collective(SAME[text])
    for nodes, chunks in ((3, 3), (4, 8), (4, 4)):
        same_table(collective, known, nodes, chunks)


def test_the_inverse_of_scatter_is_gather(
    make: Callable[..., Collective], library: SpecLibrary
) -> None:
    """Apart from its kind: nothing is added where each chunk has one contribution."""
    collective, gather = make("collective x = inverse scatter(1)"), library.collective("gather(1)")
    assert collective.combining
    for chunks in (1, 2, 5):
        table, other = collective.tabulate(4, chunks), gather.tabulate(4, chunks)
        assert np.array_equal(table.pre, other.pre)
        assert np.array_equal(table.post, other.post)


def test_or_binds_least_and_inverse_most(make: Callable[..., Collective]) -> None:
    collective = make(
        "collective x = inverse allgather then gather then broadcast\n"
        "  or inverse broadcast(1) then broadcast(1) or (reduce(2) then broadcast(2))"
    )
    assert [[part.name for part in way] for way in collective.ways] == [
        ["inverse allgather", "gather", "broadcast"],
        ["inverse broadcast(root=1)", "broadcast(root=1)"],
        ["reduce(root=2)", "broadcast(root=2)"],
    ]
    origins = [part.origin for way in collective.ways for part in way[:1]]
    assert [o and o.text[o.column - 1 :][: o.width] for o in origins] == [
        "inverse allgather", "inverse broadcast(1)", "reduce(2)"
    ]  # fmt: skip


def test_a_name_for_several_ways_opens_into_them(make: Callable[..., Collective]) -> None:
    collective = make("collective x = allreduce or reduce(1) then broadcast(1)")
    assert [way[0].name for way in collective.ways] == ["reducescatter", "reduce", "reduce(root=1)"]


def test_arguments_are_passed_on(make: Callable[..., Collective]) -> None:
    text = (
        "let next(n) = n + 1\n"
        "collective there(a, b = next(a)) = inverse broadcast(a) then broadcast(root = b - 1)\n"
        "collective x(roots..., last = 0) = there(roots[1]) or there(b = last + 1, a = last)\n"
    )
    collective = make(text, "x(5, 2)")
    assert collective.name == "x(5,2)"
    assert [[part.name for part in way] for way in collective.ways] == [
        ["inverse broadcast(root=2)", "broadcast(root=2)"],
        ["inverse broadcast", "broadcast"],
    ]


def test_own_names_come_before_shipped_ones(make: Callable[..., Collective]) -> None:
    collective = make(
        "collective broadcast(root) { chunks 2 * C pre Root(root) post All }\n"
        "collective x = inverse broadcast(1)"
    )
    assert collective.dual is not None
    assert collective.dual.tabulate(2, 1).pre.shape == (2, 2)


def test_other_files_see_them(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("collective mine = inverse allgather", "one.syncoll")
    spec_file('import "one.syncoll"\ncollective x = mine then allgather')
    assert library.collective("my.syncoll").ways[0][0].name == "mine"


def test_a_search_for_one(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("collective x(r) = inverse broadcast(r)\nsearch { collective x(1) topology ring(4) }")
    search = library.search("my.syncoll")
    assert search.collective.name == "x(1)"
    assert search.collective.combining


def test_a_comment_and_parameters(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file("# Like\n# reduce.\ncollective x(a, b = [1, 2]) =\n  inverse broadcast(b[a])")
    summary = library.definition("collective", "my.syncoll:x")
    assert (summary.doc, summary.signature) == ("Like\nreduce.", "x(a, b = [1, 2])")
    assert library.collective("my.syncoll:x(1)").name == "x(1)"
    report = check_file(path, library)
    assert report.errors == ()
    assert [d.signature for d in report.definitions] == ["x(a, b = [1, 2])"]
    assert report.notes == ("collective x(a, b = [1, 2]) needs arguments: names checked only",)


def test_words_remain_words(library: SpecLibrary, spec_file: SpecFile) -> None:
    """`then` and `or` in an argument belong to the argument."""
    spec_file("collective x(a) = inverse broadcast(if a > 2 or a < 1 then 1 else 0) then broadcast")
    assert library.collective("my.syncoll:x(1)").ways[0][0].name == "inverse broadcast"
    assert library.collective("my.syncoll:x(3)").ways[0][0].name == "inverse broadcast(root=1)"


# Errors ------------------------------------------------------------------------------------------

TWO_ROOTS = "collective two { chunks C pre { (c, n) : n < 2 } post All }\n"
HERE = "collective here { chunks C pre All post All }\n"
OVER = "collective over = reduce then broadcast\n"

# Each case: the text in front of `collective x`, the text after it, the place, the text under the
# caret, message and expectation.
PART = "a name, a number, `(` or `inverse`"

CASES = {
    "unknown": ("", "= inverse algather", 24, "algather", "did you mean `allgather`?", "one of"),
    "unknown part": ("", "= reduce then rduce", 28, "rduce", "did you mean `reduce`?", "one of"),
    "unknown in a branch": ("", "= reduce or (allgather then q)", 42, "q", "`q`", "one of"),
    "a topology": ("", "= inverse ring(4)", 24, "ring", "there is no collective `ring`", "one of"),
    "too many arguments": (
        "", "= inverse broadcast(1, 2)", 37, "2", "takes one argument, not 2",
        "`broadcast(root = 0)`",
    ),
    "too many arguments for none": (
        "", "= inverse allgather(1)", 34, "1", "takes no arguments, not 1", "`allgather`",
    ),
    "too few arguments": (
        "collective y(a) = inverse broadcast(a)\n", "= y then broadcast", 16, "y",
        "needs a value for `a`", "`y(a)`",
    ),
    "unknown argument": (
        "", "= inverse broadcast(rot = 1)", 34, "rot = 1", "did you mean `root`?", "`broadcast(",
    ),
    "unknown name": ("", "= inverse broadcast(m)", 34, "m", "`m`", "variable"),
    "the nodes of a machine": (
        "", "= inverse broadcast(P - 1)", 34, "P", "`P` has no value", "",
    ),
    "a relation": (
        "", "= inverse broadcast(All)", 24, "broadcast(All)", "is a relation", "a number",
    ),
    "nothing": ("", "=", 14, "=", "the text ends too early", PART),
    "no operand": ("", "= inverse", 22, "e", "ends too early", "a name, `(` or `inverse`"),
    "no operator": (
        "", "= inverse allgather allgather", 34, "allgather", "unexpected `allgather`",
        "`or`, `reproducible`, `then`",
    ),
    "no second part": ("", "= reduce then then", 28, "then", "a word of the language", "name"),
    "no second way": ("", "= reduce or", 24, "r", "ends too early", PART),
    "braces": ("", "= { chunks C }", 16, "{", "unexpected", PART),
    "both forms": ("", "{ chunks C } then reduce", None, None, "", ""),
    "open bracket": (
        "", "= (reduce then broadcast", 37, "t", "the `(` of line 1 is never closed", "`)`",
    ),
    "itself": ("", "= inverse x", 24, "x", "in terms of itself: x -> x", "without a circle"),
    "itself in a part": ("", "= reduce then x", 28, "x", "itself: x -> x", "without a circle"),
    "itself through others": (
        "collective y = inverse z\ncollective z = x then allgather\n", "= reduce or y then y", 16,
        "x", "`x` is defined in terms of itself: x -> y -> z -> x", "without a circle",
    ),
    "inverse of a sequence": (
        "", "= inverse (reduce then broadcast)", 16, "inverse (reduce then broadcast)",
        "is composed of others and has no inverse", "the inverse of a collective with",
    ),
    "inverse of a composed collective": (
        OVER, "= inverse over then broadcast", 16, "inverse over", "over is composed of others",
        "the inverse of a collective with",
    ),
    "combining after another": (
        "", "= broadcast then reduce(1)", 31, "reduce(1)",
        "collective x: reduce(root=1) combines, so it cannot come after broadcast",
        "later parts that only move data",
    ),
    "combining third": (
        "", "= scatter then allgather then inverse broadcast", 44, "inverse broadcast",
        "inverse broadcast combines, so it cannot come after allgather", "only move data",
    ),
    "combining in a way": (
        "", "= reduce then broadcast or reduce then reduce", 53, "reduce",
        "reduce combines, so it cannot come after reduce", "only move data",
    ),
    "one way combines": (
        HERE, "= reduce then broadcast or here then here", 41, "here",
        "one way to it combines and another does not", "ways to the same result",
    ),
    "several roots": (
        TWO_ROOTS, "= inverse two", 16, "inverse two",
        "chunk 0 of two has 2 roots, so it cannot be inverted", "exactly one node",
    ),
    "several roots in a part": (
        TWO_ROOTS, "= inverse two then broadcast", 16, "inverse two", "has 2 roots", "exactly",
    ),
    "parts that do not meet at the end": (
        "", "= inverse inverse alltoall then allgather then allgather", 61, "allgather",
        "allgather does not start where the part before it ends (4 nodes, C = 4)",
        "a part whose pre is the post",
    ),
    "parts that do not meet": (
        "", "= reduce then broadcast(1)", 28, "broadcast(1)",
        "broadcast(root=1) does not start where the part before it ends (4 nodes, C = 2)",
        "a part whose pre is the post of the part before it",
    ),
    "parts that do not meet, in a way": (
        "", "= reduce then broadcast or reduce(1) then broadcast", 56, "broadcast",
        "broadcast does not start where", "a part whose pre",
    ),
    "ways that differ": (
        "", "= reduce then broadcast or reduce then scatter", 41, "reduce",
        "reduce then scatter has another result than reduce then broadcast",
        "ways to the same result",
    ),
    "no C": (
        "", "= reduce(1) then scatter(1)", 16, "reduce(1) then scatter(1)",
        "collective x is not defined for C = 2 on 4 nodes", "a C for which the parts fit",
    ),
    "a requirement": (
        "collective r { chunks C pre Root(0) post All\nrequire P > 9 }\n", "= inverse r", 9,
        "P > 9", "is not defined on 4 nodes", "P > 9",
    ),
    "too many parts": (
        "", "= allgather" + " then allgather" * MAX_PARTS, 16, None,
        f"more than {MAX_PARTS} parts", "fewer",
    ),
    "too many inverses": (
        "", "= " + "inverse " * 80 + "reduce", None, None, f"more than {MAX_PARTS} parts", "fewer",
    ),
    "doubling": (
        HERE + "".join(
            f"collective h{i} = h{i - 1} then h{i - 1}\n" for i in range(1, 40)
        ).replace("h0", "here"),
        "= inverse h39", None, None, f"more than {MAX_PARTS} parts", "fewer",
    ),
    "doubling with arguments": (
        "collective h0(n) = broadcast\n" + "".join(
            f"collective h{i}(n) = h{i - 1}(2 * n) then h{i - 1}(2 * n + 1)\n"
            for i in range(1, 30)
        ),
        "= h29(1)", None, None, f"more than {MAX_PARTS} parts", "fewer",
    ),
    "a long chain": (
        "collective h0 = inverse broadcast\n"
        + "".join(f"collective h{i} = inverse h{i - 1}\n" for i in range(1, 300)),
        "= h299", None, None, f"more than {MAX_PARTS} parts", "fewer",
    ),
}  # fmt: skip


def ask(library: SpecLibrary, chunks: int) -> None:
    collective = library.collective("my.syncoll:x")
    collective.instantiate(library.topology("ring(4)"), chunks=chunks, steps=9, rounds=9)
    collective.tabulate(4, 4)


@pytest.mark.parametrize("case", CASES)
def test_mistakes(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    before, body, column, mark, message, expected = CASES[case]
    path = spec_file(f"{before}collective x {body}")
    with pytest.raises(LocatedError) as caught:
        ask(library, 4 if "C = 4" in message or "differ" in case else 2)
    error = caught.value
    assert message in error.message
    assert expected in error.expected
    assert error.origin is not None
    assert error.origin.file == "my.syncoll"
    if column is not None:
        assert error.origin.column == column
    if mark is not None:
        assert marked(error) == mark
    if case in ("no C", "a requirement"):  # right for other numbers of nodes and chunks
        return
    reported = check_file(path, library).errors
    assert reported
    part = "in terms of itself: " if "itself" in case else message.partition(" (4 nodes")[0]
    assert any(part in e.message for e in reported)
    assert all(e.origin is not None for e in reported)


def test_the_whole_message(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("# mine\ncollective x = reduce then broadcast or broadcast then reduce\n")
    with pytest.raises(ModelError) as caught:
        library.collective("my.syncoll:x")
    assert str(caught.value) == (
        "my.syncoll:2:56: collective x: reduce combines, so it cannot come after broadcast\n"
        "2 | collective x = reduce then broadcast or broadcast then reduce\n"
        "                                                           ^^^^^^\n"
        "expected later parts that only move data"
    )


def test_a_circle_across_shipped_files(tmp_path: Path) -> None:
    (tmp_path / "a.syncoll").write_text("collective a = inverse b")
    (tmp_path / "b.syncoll").write_text("collective b = inverse A")
    with pytest.raises(SpecError, match="in terms of itself: a -> b -> a") as caught:
        SpecLibrary([tmp_path]).collective("a")
    assert marked(caught.value) == "A"


def test_a_check_finds_every_circle_and_every_slip(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    path = spec_file(
        "collective a = inverse b\ncollective b = c then a or reduce\n"
        "collective c(n) = inverse broadcst(n)\ncollective d(n) = d(n - 1)\n"
        "collective e(n) = inverse broadcast(C + n)\n"
    )
    messages = [error.message for error in check_file(path, library).errors]
    assert len(messages) == 5
    for part in ("itself: a -> b -> a", "itself: d -> d", "`broadcst`", "`C` has no value where",
                 "needs a value for `n`"):  # fmt: skip
        assert any(part in message for message in messages), part


def test_a_check_tries_them(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file(
        "collective a = inverse broadcast(2)\n"  # not defined on one or two nodes
        "collective b = a then broadcast(2)\n"
        "collective c = reducescatter then allgather or b\n"
        "collective never = inverse none\n"
        "collective far { chunks C pre Root(1) post All }\n"
        "collective back = inverse far\n"  # which starts nowhere on one node
        'collective none { irregular require C > 50 "many"\nchunks C pre Root(0) post All }\n'
    )
    report = check_file(path, library)
    assert report.errors == ()
    assert len(report.notes) == 2
    assert all("could be tried on no P and C" in note for note in report.notes)
    path = spec_file("collective n { chunks C pre Root(0) post {} }\ncollective x = reduce then n")
    (only,) = check_file(path, library).errors  # x is wrong because n is
    assert marked(only) == "{}"


def test_parts_of_absurd_sizes_end(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "collective few { irregular chunks 3 pre All post All }\n"
        "collective odd { irregular chunks C + 5 pre All post All }\n"
        "collective late { require C == 10 ** 6\nchunks C pre All post All }\n"
        "collective x = inverse broadcast then broadcast then few\n"
        "collective y = inverse broadcast then broadcast then odd\n"
        "collective z = inverse broadcast then broadcast then late\n"
    )
    x, y, z = (library.collective(f"my.syncoll:{name}") for name in "xyz")
    assert [chunks for chunks in (1, 2, 3, 4, 20_000) if x.admits(4, chunks)] == [3]
    assert [chunks for chunks in (5, 6, 7, 20_000) if y.admits(4, chunks)] == [6, 7]
    assert not z.admits(2, 20_000)
