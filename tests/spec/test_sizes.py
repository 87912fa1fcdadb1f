"""Sizes, matrices from files, groups and sums in the language."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from syncoll.errors import LocatedError
from syncoll.spec import SpecLibrary, check_file

from .conftest import SpecFile

SIZED = """
collective x(m) {
    chunks P * P
    size m[c div P][c mod P]
    pre  { (c, n) : n == c div P }
    post { (c, n) : n == c mod P }
}
"""


def read(library: SpecLibrary, text: str) -> list[list[int]]:
    """The matrix of a file with this text, as it comes out of the chunks of an alltoallv."""
    Path("m.csv").write_text(text, encoding="utf-8")
    nodes = len(
        [
            row
            for row in text.lstrip("\ufeff").splitlines()
            if row.strip() and not row.startswith("#")
        ]
    )
    table = library.collective('alltoallv("m.csv")').tabulate(nodes, 1)
    found = [[0] * nodes for _ in range(nodes)]
    for s, d in zip(table.pre.argmax(axis=1), table.post.argmax(axis=1), strict=True):
        found[s][d] += 1
    return found


def test_a_matrix_is_as_in_the_file(library: SpecLibrary, spec_file: SpecFile) -> None:
    assert read(library, "0,1\n2,0\n") == [[0, 1], [2, 0]]
    assert read(library, "\ufeff# head\r\n 0 ,1\r\n\r\n2,\t007\r\n") == [[0, 1], [2, 7]]


def test_mutations_of_a_matrix_are_read_as_they_are_or_refused(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    """A changed file is another matrix, as a naive reader has it, or an error."""
    rng, good, outcomes = (
        random.Random(5),
        "# m\n0,12,3\n4,0,5\n16,7,0\n",
        {"read": 0, "refused": 0},
    )
    for _ in range(400):
        text = list(good)
        for _ in range(rng.randint(1, 2)):
            place = rng.randrange(len(text))
            kind = rng.choice(("drop", "double", "put"))
            if kind == "drop":
                text[place] = ""
            else:
                letter = text[place] if kind == "double" else rng.choice('0123456789,-.x; \n"e#')
                text[place] = letter * (2 if kind == "double" else 1)
        changed = "".join(text)
        lines = [x for x in changed.split("\n") if x.strip() and not x.strip().startswith("#")]
        cells = [[cell.strip() for cell in line.split(",")] for line in lines]
        plain = all(c.isascii() and c.isdigit() for row in cells for c in row)
        square = bool(cells) and all(len(row) == len(cells) for row in cells)
        meant = [[int(c) for c in row] for row in cells] if plain and square else None
        if meant is not None and (not any(map(any, meant)) or max(map(max, meant)) > 10**4):
            meant = None  # no data, or too much
            continue
        if meant is None:
            with pytest.raises(LocatedError) as caught:
                read(library, changed)
            assert caught.value.origin is not None
            outcomes["refused"] += 1
        else:
            assert read(library, changed) == meant
            outcomes["read"] += 1
    assert min(outcomes.values()) > 50


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "expected"),
    [
        ("1,2\n3,x\n", 2, 3, "`x` is not a number", "a whole number from 0"),
        ("# a\n1, -2\n3,4\n", 2, 4, "`-2` is negative", "from 0"),
        ("1,2.5\n3,4\n", 1, 3, "`2.5` is not a whole number", "from 0"),
        ("1,,2\n", 1, 3, "a cell without a number", "from 0"),
        ("1,2\n3,4,\n", 2, 5, "a cell without a number", "from 0"),
        ("1,2\n3\n", 2, 1, "a row of 1 number", "2, as in the first row"),
        ("", 1, 1, "holds no numbers", "rows of whole numbers"),
        ("\n# 1,2\n", 1, 1, "holds no numbers", "rows of whole numbers"),
        (f"{10**30},1\n1,1\n", 1, 1, "too large", "a number below"),
        ('"1",2\n3,4\n', 1, 1, "is not a number", "from 0"),
        ("1;2\n3;4\n", 1, 1, "`1;2` is not a number", "from 0"),
    ],
)
def test_invalid_matrices_are_errors(
    text: str, line: int, column: int, message: str, expected: str,
    library: SpecLibrary, spec_file: SpecFile,
) -> None:  # fmt: skip
    spec_file(text, "data/m.csv")
    spec_file('collective y = alltoallv(matrix "data/m.csv")')
    with pytest.raises(LocatedError, match=message) as caught:
        library.collective("my.syncoll:y").tabulate(2, 1)
    origin = caught.value.origin
    assert origin is not None
    assert (origin.file, origin.line, origin.column) == ("data/m.csv", line, column)
    assert expected in caught.value.expected


def test_a_missing_file_is_an_error(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file('let M = matrix "m.csv"\ncollective y = alltoallv(M)', "specs/my.syncoll")
    spec_file("0,1\n1,0", "m.csv")
    with pytest.raises(LocatedError, match=r"file specs/m\.csv does not exist") as caught:
        library.collective("specs/my.syncoll:y").tabulate(2, 1)
    assert caught.value.origin is not None
    assert caught.value.origin.line == 1
    spec_file("0,1\n1,0", "specs/m.csv")  # relative to the spec file
    assert len(library.collective("specs/my.syncoll:y").tabulate(2, 1)) == 2
    spec_file("0,1\n2,0", "specs/m.csv")  # and as it is now
    assert len(library.collective("specs/my.syncoll:y").tabulate(2, 1)) == 3
    spec_file(b"\xff\x00\xfe", "m.csv")
    with pytest.raises(LocatedError, match="not text"):
        library.collective('alltoallv("m.csv")').tabulate(2, 1)
    with pytest.raises(LocatedError, match="is not a regular file"):
        library.collective('alltoallv("specs")').tabulate(2, 1)


@pytest.mark.parametrize(
    ("body", "message", "expected"),
    [
        ("chunks P * C size 1 pre All post All", "`C` has no value", "sizes in units"),
        ("chunks P size C pre All post All", "`C` has no value", "sizes in units"),
        ("chunks P size c - 1 pre All post All", "chunk 0 of x is -1 units", "from 0"),
        ("chunks P size c + 1 / 2 pre All post All", "chunk 0 of x is 1/2 units", "whole number"),
        ("chunks P size 0 pre All post All", "all sizes are 0", "at least one chunk"),
        ("chunks P size 2 ** 40 pre All post All", "too many chunks", "larger units"),
        ("chunks P size All pre All post All", "this is a relation", "a number"),
        ("chunks P size 1 size 1 pre All post All", "`size` occurs a second time", "one"),
        ("irregular chunks P size 1 pre All post All", "is not irregular", "one of the two"),
        ("chunks P size d pre All post All", "`d`", "a known"),
    ],
)
def test_invalid_sizes_are_errors(
    body: str, message: str, expected: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    path = spec_file(f"collective x {{ {body} }}")
    with pytest.raises(LocatedError) as caught:
        library.collective("my.syncoll:x").tabulate(3, 1)
    assert message in caught.value.message
    assert expected in caught.value.expected
    assert any(
        message.partition(" of x")[0] in error.message for error in check_file(path, library).errors
    )


def test_sizes_row_by_row_and_in_columns(library: SpecLibrary, spec_file: SpecFile) -> None:
    """A matrix of rows that differ in length cannot be looked up in columns, and means the same."""
    spec_file(SIZED)
    rows = "[[0,1,2],[3,0,1],[1,1,0]]"
    plain = library.collective(f"my.syncoll:x({rows})")
    ragged = library.collective("my.syncoll:x([[0,1,2,9],[3,0,1],[1,1,0]])")
    assert plain.tabulate(3, 2).same_as(ragged.tabulate(3, 2))
    assert len(plain.tabulate(3, 2)) == 18
    with pytest.raises(LocatedError, match="position 2 of a list"):
        library.collective("my.syncoll:x([[0,1],[3,0],[1,1]])").tabulate(3, 1)


def test_units(library: SpecLibrary) -> None:
    rows = "[[0, 4, 5], [8, 0, 0], [0, 12, 0]]"
    with pytest.raises(LocatedError, match="is 5/4 units"):
        library.collective(f"alltoallv({rows}, unit=4)").tabulate(3, 1)
    up = library.collective(f"alltoallv({rows}, unit=4, round_up=true)").tabulate(3, 1)
    assert len(up) == 1 + 2 + 2 + 3
    for wrong in ("0", "3/2"):
        with pytest.raises(LocatedError):
            library.collective(f"alltoallv({rows}, unit={wrong})").tabulate(3, 1)


@pytest.mark.parametrize(
    ("text", "message", "mark"),
    [
        ("allgather within [[0,1],[2,7]]", "group 1 names node 7", "[[0,1],[2,7]]"),
        ("allgather within [[i, P] for i in nodes]", "names node 4", "[[i, P] for i in nodes]"),
        ("allgather within [[0,0]]", "names node 0 twice", "[[0,0]]"),
        ("allgather within C", "`C` has no value", "C"),
        ("allgather within 3", "the groups are 3", "3"),
        ("broadcast(5) within [[0,1]]", "root 5 does not exist: the nodes are 0 to 1", "5"),
        ("0 * allgather", "a weight of 0", "0"),
        ("n * allgather", "there is no variable, constant or relation `n`", "n"),
        ("allgather + nosuch", "there is no collective `nosuch`", "nosuch"),
        ("allgather +", "the text ends too early", "+"),
    ],
)
def test_invalid_combinations_are_errors(
    text: str, message: str, mark: str, library: SpecLibrary
) -> None:
    with pytest.raises(LocatedError) as caught:
        library.collective(text).tabulate(4, 4)
    error = caught.value
    assert message in error.message
    assert error.origin is not None
    start = error.origin.column - 1
    assert error.origin.text[start : start + error.origin.width] == mark


@pytest.mark.parametrize(
    ("one", "other", "nodes"),
    [
        ("inverse allgather within [[0,1],[2,3]]", "reducescatter within [[0,1],[2,3]]", 4),
        ("2 * (allgather + alltoall)", "2 * allgather + 2 * alltoall", 2),
        ("(allgather within [[1,0]]) within [[2,3]]", "allgather within [[3,2]]", 4),
        ("reduce within [[0,1]] + reduce within [[2,3]]", "reduce within [[0,1],[2,3]]", 4),
        ("scatter then allgather", "broadcast", 4),
        ("alltoallv([[0,1],[1,0]]) within [[0,1],[2,3]]", "alltoallv([[0,1,0,0],[1,0,0,0],"
         "[0,0,0,1],[0,0,1,0]])", 4),
        ("reducescatterv([1,1,1])", "inverse allgatherv([1,1,1])", 3),
    ],
)  # fmt: skip
def test_two_notations_are_the_same(one: str, other: str, nodes: int, library: SpecLibrary) -> None:
    tables = [library.collective(text).tabulate(nodes, 4) for text in (one, other)]
    assert tables[0].same_as(tables[1])


@pytest.mark.parametrize(
    "text",
    [
        "inverse (alltoall + broadcast)",
        "inverse (2 * scatter(root=2))",
        "inverse (gather within [[0,1],[2]])",
        "3 * inverse (gather + gather(root=1)) + allgather",
        "inverse inverse (2 * reduce)",
    ],
)
def test_a_name_can_be_read_again(text: str, library: SpecLibrary) -> None:
    found = library.collective(text)
    assert found.name == text
    again = library.collective(found.name)
    for chunks in (3, 6):
        assert found.tabulate(3, chunks).same_as(again.tabulate(3, chunks))


def test_in_a_search(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "let PAIRS = [[0, 1], [2, 3]]\n"
        "search s { collective allgather within PAIRS + 2 * broadcast topology ring(4) steps <= 2 }"
    )
    found = library.search("my.syncoll:s").collective
    assert found.name == "allgather within [[0,1],[2,3]] + 2 * broadcast"
    assert found.tabulate(4, 1).same_as(library.collective(found.name).tabulate(4, 1))
    assert not check_file("my.syncoll", library).errors


@pytest.mark.parametrize(
    "text",
    ["allgather + m.syncoll:x", "m.syncoll:x + allgather", "2 * (m.syncoll : x) + allgather"],
)
def test_a_file_stands_anywhere_in_a_sum(
    library: SpecLibrary, spec_file: SpecFile, text: str
) -> None:
    spec_file("collective x = allgather within [[1, 0]]", "m.syncoll")
    assert "x" in library.collective(text).name
    assert library.collective(text).tabulate(2, 1).post.sum() == (12 if "2" in text else 8)
    library.expect("collective", text)


def test_names_of_two_files_are_refused(library: SpecLibrary, spec_file: SpecFile) -> None:
    for name in ("m", "n"):
        spec_file("collective x = allgather within [[1, 0]]", f"{name}.syncoll")
    with pytest.raises(LocatedError, match=r"two files, m\.syncoll and n\.syncoll"):
        library.collective("allgather + m.syncoll:x + n.syncoll:x")
    with pytest.raises(LocatedError, match="no collective `y`") as caught:
        library.collective("allgather + m.syncoll:y")
    assert caught.value.origin is not None
    assert caught.value.origin.column == len("allgather + m.syncoll:y")


@pytest.mark.parametrize("text", ["1\n2\n0", "1,2,0\n"])
@pytest.mark.parametrize("name", ["allgatherv", "gatherv", "scatterv", "reducescatterv"])
def test_a_row_or_a_column_is_a_list(
    library: SpecLibrary, spec_file: SpecFile, name: str, text: str
) -> None:
    spec_file(text, "m.csv")
    found = library.collective(f'{name}("m.csv")').tabulate(3, 2)
    listed = library.collective(f"{name}([1, 2, 0])").tabulate(3, 2)
    assert (found.pre == listed.pre).all()
    assert (found.post == listed.post).all()


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ('allgatherv("m.csv")', "2 rows of 2 numbers", "one row or one column"),
        ("alltoallv(m.csv)", "without quotation marks", '"m.csv"'),
        ('alltoallv("m.csv", unit = 2)', "chunk 1, from node 0 to node 1,.* 3/2", "round_up=true"),
        ("allgather within [[0, 1.5]]", "group 0 names 3/2", "list of groups"),
    ],
)
def test_words(
    library: SpecLibrary, spec_file: SpecFile, text: str, message: str, expected: str
) -> None:
    spec_file("0,3\n2,0", "m.csv")
    with pytest.raises(LocatedError, match=message) as caught:
        library.collective(text).tabulate(2, 1)
    assert expected in (caught.value.expected or "")


@pytest.mark.parametrize(("text", "expected"), [("a,b\n0,1", "#"), ("0;1\n1;0", "commas")])
def test_other_ways_to_write_a_matrix(
    library: SpecLibrary, spec_file: SpecFile, text: str, expected: str
) -> None:
    spec_file(text, "m.csv")
    with pytest.raises(LocatedError, match="is not a number") as caught:
        library.collective('alltoallv("m.csv")')
    assert expected in (caught.value.expected or "")


def test_rounding_up_gives_no_less(library: SpecLibrary) -> None:
    found = library.collective("gatherv([1.5, 5, 4], unit = 4, round_up = true)").tabulate(3, 1)
    assert found.pre.sum(axis=0).tolist() == [1, 2, 1]
    found = library.collective("gatherv([1.5, 1/3, 1], round_up = true)").tabulate(3, 1)
    assert found.pre.sum(axis=0).tolist() == [2, 1, 1]
    with pytest.raises(LocatedError, match=r"is -1/4 units"):
        library.collective("gatherv([-1, 5, 4], unit = 4, round_up = true)").tabulate(3, 1)


def test_an_oblong_matrix_is_refused_with_its_shape(library: SpecLibrary) -> None:
    with pytest.raises(LocatedError, match="sizes has 2 rows of 3 numbers"):
        library.collective("alltoallv([[0,1,2],[3,4,5]])").tabulate(3, 1)
    with pytest.raises(LocatedError, match=r"on 3 nodes; sizes is a list of 3 numbers\n") as caught:
        library.collective("alltoallv([0,1,2])").tabulate(3, 1)
    assert caught.value.expected == "a row and a column of sizes for each node"


def test_an_error_in_a_condition_is_shown_there(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("collective x { chunks P require sum(nodes) == nodes pre Scattered post All }")
    with pytest.raises(LocatedError) as caught:
        library.collective("my.syncoll:x").tabulate(3, 1)
    assert "is not defined" not in caught.value.message


def test_sizes_of_0_on_one_node_may_be_others_on_more(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    body = "pre Scattered post All"
    path = spec_file(f"collective x {{ chunks P size c {body} }}")
    assert check_file(path, library).errors == ()
    for size, message in (
        ("c / 2", "the size of chunk 1 of x is 1/2 units"),
        ("0 * c", "all sizes are 0"),
    ):
        path = spec_file(f"collective x {{ chunks P size {size} {body} }}")
        assert [error.message for error in check_file(path, library).errors] == [message]
