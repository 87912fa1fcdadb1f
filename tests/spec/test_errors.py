"""Every kind of mistake names file, line and column, shows the line, and states the expected
text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary, check_file
from syncoll.spec.limits import MAX_FILE_BYTES
from syncoll.wording import arguments_as_options

SpecFile = Callable[..., Path]


def request(library: SpecLibrary, reference: str, kind: str) -> None:
    if kind == "topology":
        as_topology(library.topology(reference))
    elif kind == "search":
        library.search(reference)
    else:
        collective = library.collective(reference)
        collective.instantiate(library.topology("ring(4)"), chunks=2, steps=9, rounds=9)


def ask(library: SpecLibrary, reference: str, kind: str = "topology") -> LocatedError:
    """The error of a reference; collectives are instantiated on a ring of 4."""
    with pytest.raises(LocatedError) as caught:
        request(library, reference, kind)
    return caught.value


def marked(error: LocatedError) -> str:
    """The text under the caret."""
    assert error.origin is not None
    line, caret = error.origin.excerpt().splitlines()
    start = caret.index("^")
    return line[start : start + caret.count("^")]


# Each case: the text, the reference, the place, the text under the caret, message and expectation.
TOPOLOGY_CASES = {
    "syntax": ("nodes 4\nlink (0 1) bandwidth 1", 3, 9, "1", "unexpected `1`", "`,`"),
    "misspelt keyword": (
        "nodes 4\nlink (0, 1) bandwith 1", 3, 13, "bandwith",
        "did you mean `bandwidth`?", "`bandwidth`",
    ),
    "loop around links": (
        "nodes 4\nfor i in range(3) { link (i, i + 1) }", 3, 1, "for",
        "it stands after the links", "link",
    ),
    "dotted range": (
        "nodes 4\nlink (i, i + 1) for i in 0..3", 3, 27, "..", "`range(a, b)`", "`bandwidth`",
    ),
    "keyword as a name": ("nodes link", 2, 7, "link", "a word of the language", "expression"),
    "unknown name": ("nodes m", 2, 7, "m", "no variable, constant or relation `m`", "variable"),
    "unknown function": (
        "nodes summ([1, 2])", 2, 7, "summ", "`summ`; did you mean `sum`?", "function",
    ),
    "unit outside": ("nodes C", 2, 7, "C", "`C` has no value here", "only in collectives"),
    "too early": ("let x = P\nnodes 4", 2, 9, "P", "`P` has no value here", "after `nodes`"),
    "node out of range": (
        "nodes 4\nlink (i, i + 1) for i in nodes bandwidth 1", 3, 6, "(i, i + 1)",
        "link (3, 4) names node 4, but bad has 4", "nodes 0 to 3",
    ),
    "negative node": (
        "nodes 4\nlink (0, 0 - 1) bandwidth 1", 3, 6, "(0, 0 - 1)", "names node -1",
        "nodes 0 to 3",
    ),
    "self-loop": (
        "nodes 4\nlink (2, 2) bandwidth 1", 3, 6, "(2, 2)", "joins a node to itself",
        "two different nodes",
    ),
    "zero bandwidth": (
        "nodes 4\nlink (0, 1) bandwidth 0", 3, 23, "0", "bandwidth 0", "above 0",
    ),
    "negative bandwidth": (
        "nodes 4\nlink (0, 1) bandwidth 1 - 3", 3, 23, "1 - 3", "bandwidth -2", "above 0",
    ),
    "zero bandwidth of one link": (
        "nodes 4\nlink (i, i + 1) for i in range(3) bandwidth 2 - i", 3, 45, "2 - i",
        "bandwidth 0 on link (2, 3)", "above 0",
    ),
    "zero shared bandwidth": (
        "nodes 2\nlink (0, 1)\nshared { links } bandwidth 0", 4, 28, "0", "bandwidth 0", "above 0",
    ),
    "no bandwidth": (
        "nodes 2\nlink (0, 1)", 3, 6, "(0, 1)", "link (0, 1) has no bandwidth", "`shared` bound",
    ),
    "shared over no link": (
        "nodes 3\nlink (0, 1) bandwidth 1\nshared { (0, 2) } bandwidth 1", 4, 10, "(0, 2)",
        "covers (0, 2), which is not a link", "`link` statement",
    ),
    "link twice": (
        "nodes 3\nlink (0, 1) bandwidth 1\nlink (1, 0) both ways bandwidth 1", 4, 6, "(1, 0)",
        "already given in line 3", "one statement",
    ),
    "two bandwidths": (
        "nodes 3\nlink (0, 1) for b in [1, 2] bandwidth b", 3, 6, "(0, 1)",
        "two bandwidths, 1 and 2", "one bandwidth",
    ),
    "links before nodes": (
        "link (0, 1) bandwidth 1\nnodes 4", 2, 1, "link (0, 1)", "before the number of nodes",
        "`nodes` above",
    ),
    "no nodes": ("nodes 0", 2, 7, "0", "bad has 0 nodes", "at least 1 node"),
    "fraction of a node": ("nodes 5/2", 2, 7, "5/2", "this is 5/2", "a whole number"),
    "Boolean nodes": ("nodes true", 2, 7, "true", "this is a Boolean", "a number"),
    "relation as a number": ("nodes All + 1", 2, 11, "+", "`+` with a relation", "union"),
    "list as a number": ("nodes [1] + 1", 2, 7, "[1]", "this is a list", "a number"),
    "Boolean in arithmetic": (
        "nodes 1 + (2 > 1)", 2, 11, "(2 > 1)", "this is a Boolean", "a number",
    ),
    "number as a condition": (
        "nodes if 1 then 2 else 3", 2, 10, "1", "this is a number", "a condition",
    ),
    "division by zero": ("nodes 4 div (2 - 2)", 2, 9, "div", "4 div 0", "other than 0"),
    "division by zero in a cell": (
        "nodes 4\nlink (i, 4 mod i) for i in nodes bandwidth 1", 3, 12, "mod",
        "division by zero: 4 mod 0 (with i = 0)", "other than 0",
    ),
    "position": ("let l = [1, 2]\nnodes l[2]", 3, 9, "2", "position 2 of a list of 2", "0 to 1"),
    "requirement": (
        'require 1 > 2 "better numbers"\nnodes 2', 2, 9, "1 > 2", "`1 > 2` does not hold",
        "better numbers",
    ),
    "statement twice": ("nodes 4\nnodes 5", 3, 1, "nodes 5", "first is in line 2", "one `nodes`"),
    "clause twice": (
        "nodes 4\nlink (0, 1) bandwidth 1 bandwidth 2", 3, 25, "bandwidth 2", "occurs twice", "",
    ),
    "too many nodes": ("nodes 10 ** 9", 2, 7, "10 ** 9", "too many to expand", "8192 nodes"),
    "too large a number": ("nodes 2 ** (10 ** 9)", 2, 9, "**", "too large", "numbers below"),
    "too long a number": ("nodes " + "9" * 5000, 2, 7, None, "number is too large", "below"),
    "product too large": (
        "nodes product(10 ** 9 for i in range(5))", 2, 7,
        "product(10 ** 9 for i in range(5))", "too large", "numbers below",
    ),
    "too many turns": (
        "nodes 8\nlink (a, b) for a in range(10 ** 4), b in range(10 ** 4) bandwidth 1", 3, 38,
        "b in range(10 ** 4)", "100000000 combinations", "at most",
    ),
    "too many links": (
        "nodes 1030\nlink (a, b) for a in nodes, b in nodes if a != b bandwidth 1", 3, 1,
        "link (a, b)", "more links than can be expanded", "at most 1048576",
    ),
    "too large shared bounds": (
        "nodes 100\nlink (a, b) for a in nodes, b in nodes if a != b\n"
        "shared { links } for i in range(500) bandwidth 1", 4, 1, "shared { links }",
        "shared bounds of bad are too large", "at most 4194304 links",
    ),
    "too deep": ("nodes " + "-" * 200 + "1", 2, None, None, "more than 100 levels", "`let`"),
    "too much work": (
        "nodes len([i for i in range(60000) if any(j == 5 for j in range(60000))])", 2, None, None,
        "more work to evaluate", "smaller arguments",
    ),
    "odd character": ("nodes 4 @", 2, 9, "@", "unexpected character '@'", "`}`"),
    "open text": ('nodes 4 link (0, 1) label "abc', 2, 27, '"', "no closing quote", '`"`'),
    "brace in a label": (
        'nodes 2\nlink (0, 1) bandwidth 1 label "of {a b}"', 3, 35, "{a b}", "have a name",
        "`{name}`",
    ),
    "reserved meaning": ("nodes 4\nlet P = 3", 3, 5, "P", "always the number of nodes", "another"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOPOLOGY_CASES)
def test_topology_mistakes(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    body, line, column, mark, message, expected = TOPOLOGY_CASES[case]
    spec_file(f"topology bad {{\n{body}\n}}\n")
    error = ask(library, "my.syncoll:bad")
    assert isinstance(error, SpecError)
    assert error.origin is not None
    assert message in error.message
    assert expected in error.expected
    assert (error.origin.file, error.origin.line) == ("my.syncoll", line)
    if column is not None:
        assert error.origin.column == column
    if mark is not None:
        assert marked(error) == mark
    shown = str(error)
    assert shown.startswith(f"my.syncoll:{line}:")
    assert "^" in shown


def test_the_whole_message(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("# mine\ntopology quad {\n    nodes 4\n    link (0, 7) both ways bandwidth 1\n}\n")
    assert str(ask(library, "my.syncoll:quad")) == (
        "my.syncoll:4:10: link (0, 7) names node 7, but quad has 4\n"
        "4 |     link (0, 7) both ways bandwidth 1\n"
        "             ^^^^^^\n"
        "expected nodes 0 to 3"
    )


COLLECTIVE_CASES = {
    "empty post": (
        "chunks C\npre All\npost {}", 4, 1, "post {}", "is empty: no data has", "at least one",
    ),
    "post from nowhere": (
        "chunks C\npre {}\npost All", 4, 1, "post All", "starts nowhere", "can be reached",
    ),
    "unknown relation": (
        "chunks C\npre Scatered\npost All", 3, 5, "Scatered", "did you mean `Scattered`?",
        "relation",
    ),
    "number as a relation": (
        "chunks C\npre 3\npost All", 3, 5, "3", "this is a number", "a relation",
    ),
    "relation without arguments": (
        "chunks C\npre Root\npost All", 3, 5, "Root", "needs arguments", "`Root(root)`",
    ),
    "too many arguments": (
        "chunks C\npre Root(1, 2)\npost All", 3, 13, "2", "takes one argument, not 2",
        "`Root(root)`",
    ),
    "too few arguments": (
        "chunks C\npre Root()\npost All", 3, 5, "Root()", "needs a value for `root`",
        "`Root(root)`",
    ),
    "unknown argument": (
        "chunks C\npre Root(rot = 1)\npost All", 3, 10, "rot = 1", "did you mean `root`?",
        "`Root(root)`",
    ),
    "repeated argument": (
        "chunks C\npre Root(1, root = 1)\npost All", 3, 13, "root = 1", "given twice",
        "`Root(root)`",
    ),
    "body is a number": (
        "chunks C\npre { (c, n) : c }\npost All", 3, 16, "c", "this is a number", "a condition",
    ),
    "division by zero": (
        "chunks C\npre All\npost { (c, n) : c mod n == 0 }", 4, 19, "mod",
        "division by zero: 0 mod 0 (with c = 0, n = 0)", "other than 0",
    ),
    "chunk out of range": (
        "chunks C\npre { (2, 0) }\npost All", 3, 8, "2", "names chunk 2", "chunks 0 to 0",
    ),
    "node out of range": (
        "chunks C\npre { (0, 4) }\npost All", 3, 11, "4", "names node 4", "nodes 0 to 3",
    ),
    "no chunks": ("chunks C - 2\npre All\npost All", 2, 8, "C - 2", "has 0 chunks", "at least 1"),
    "too many chunks": (
        "chunks 10 ** 12\npre All\npost All", 2, 8, "10 ** 12", "too many to expand", "4194304",
    ),
    "overflow": (
        "chunks C\npre All\npost { (c, n) : (c + 1) * 2 ** 61 > 0 }", 4, 25, "*",
        "too large", "numbers below",
    ),
    "no post": ("chunks C\npre All", 1, 12, "bad", "has no `post`", "`post …`"),
}  # fmt: skip


@pytest.mark.parametrize("case", COLLECTIVE_CASES)
def test_collective_mistakes(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    body, line, column, mark, message, expected = COLLECTIVE_CASES[case]
    spec_file(f"collective bad {{\n{body}\n}}\n")
    error = ask(library, "my.syncoll:bad", "collective")
    assert error.origin is not None
    assert message in error.message
    assert expected in error.expected
    place = (error.origin.file, error.origin.line, error.origin.column)
    assert place == ("my.syncoll", line, column)
    assert marked(error) == mark


def test_a_post_that_this_topology_cannot_reach(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("topology oneway {\nnodes 2\nlink (0, 1) bandwidth 1\n}")
    with pytest.raises(ModelError) as caught:
        library.collective("allgather").instantiate(
            library.topology("my.syncoll:oneway"), chunks=1, steps=1, rounds=1
        )
    assert "chunk 1 must reach node 0, but no path leads there from node 1" in caught.value.message
    assert marked(caught.value) == "allgather"


@pytest.mark.parametrize("body", ["x(n) = x(n - 1)", "x = y\nlet y = x"])
def test_no_definition_may_use_itself(body: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    use = "x(3)" if "(" in body else "x"
    path = spec_file(f"let {body}\ntopology t {{ nodes {use} }}")
    assert "defined in terms of itself" in ask(library, "my.syncoll:t").message
    (error,) = check_file(path, library).errors
    assert "defined in terms of itself: " in error.message


SEARCH_CASES = {
    "no topology": ("collective allgather", "names no topology", "`topology …`"),
    "unknown": ("collective allgather topology rong(4)", "did you mean `ring`?", "ring"),
    "arity": ("collective allgather topology ring", "needs a value for `n`", "`ring(n"),
    "bound": ("collective allgather topology dgx1 steps <= 0", "steps 0", "at least 1"),
    "fraction": ("collective allgather topology dgx1 k 1/2", "this is 1/2", "a whole number"),
    "time": ("collective allgather topology dgx1 time <= 0 s", "time limit of 0 s", "above 0"),
    "no unit": ("collective allgather topology dgx1 time <= 5", "unexpected `}`", "`min`"),
    "no sign": ("collective allgather topology dgx1 steps 5", "unexpected `5`", "`<=`"),
    "twice": ("collective allgather topology dgx1 k 1 k 2", "a second time", "one `k`"),
}


@pytest.mark.parametrize("case", SEARCH_CASES)
def test_search_mistakes(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    body, message, expected = SEARCH_CASES[case]
    spec_file(f"search s {{ {body} }}")
    error = ask(library, "my.syncoll:s", "search")
    assert error.origin is not None
    assert error.origin.line == 1
    assert message in error.message
    assert expected in error.expected


REFERENCES = {
    "": (1, "not a reference", "name"),
    "   ": (1, "not a reference", "name"),
    "rong(4)": (1, "no topology `rong`; did you mean `ring`?", "one of a100, amd_z52"),
    "ring(": (5, "ends too early; the `(` of line 1 is never closed", "an expression"),
    "ring(8) x": (9, "unexpected `x`", "the end"),
    "ring(m)": (6, "no variable, constant or relation `m`", "variable"),
    "ring(8, 1, 2)": (12, "takes at most 2 arguments, not 3", "`ring(n, bandwidth = 1)`"),
    "ring(bandwidth = 1)": (1, "needs a value for `n`", "`ring(n, bandwidth = 1)`"),
    "ring(8, bandwith = 1)": (9, "did you mean `bandwidth`?", "`ring(n, bandwidth = 1)`"),
    "ring(n = 8, 1)": (13, "without a name after one with a name", "`ring(n, bandwidth = 1)`"),
    "ring(8, n = 8)": (9, "`n` is given twice", "`ring(n, bandwidth = 1)`"),
    "ring(All)": (1, "is a relation", "a number"),
    "allgather": (1, "there is no topology `allgather`", "one of"),
    "no.syncoll": (1, "file no.syncoll does not exist", "an existing .syncoll file"),
    "no.syncoll:x": (1, "file no.syncoll does not exist", "an existing .syncoll file"),
    "ring(8\0)": (1, "not a reference", "name"),
    "ring(8)\nring(8)": (1, "unexpected `ring`", "the end"),
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_bad_references_point_into_the_typed_text(
    reference: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    column, message, expected = REFERENCES[reference]
    error = ask(library, reference)
    assert error.origin is not None
    assert error.origin.file == "<argument>"
    with arguments_as_options():
        typed = ask(library, reference).origin
    assert typed is not None
    assert typed.file == "<command line>"
    assert error.origin.column == column
    assert message in error.message
    assert expected in error.expected
    assert "^" in str(error)


def test_references_into_files(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("topology a { nodes 1 }\ntopology b(n) { nodes n }\ncollective only {\n"
              "chunks C pre Scattered post All }", "dir/two.syncoll")  # fmt: skip
    assert library.topology("dir/two.syncoll:b(3)").num_nodes == 3
    assert library.topology("dir/two.syncoll:B(n = 2)").name == "b(2)"
    assert library.collective("dir/two.syncoll").name == "only"
    error = ask(library, "dir/two.syncoll")
    assert "defines 2 topologies" in error.message
    assert "dir/two.syncoll:a, dir/two.syncoll:b" in error.expected
    error = ask(library, "dir/two.syncoll:c")
    assert error.origin is not None
    assert error.origin.column == 17
    assert error.expected == "one of a, b"  # after a file only its own names count
    error = ask(library, "dir/two.syncoll", "search")
    assert "defines no search" in error.message


BYTES = {
    "not UTF-8": (b"topology a {\n  nodes \xff1\n}", 2, 9, "byte 0xff is not UTF-8"),
    "NUL": (b"topology a {\n nodes 1 \0 }", 2, 10, "a NUL byte"),
    "empty": (b"", 1, 1, "defines no topology"),
    "only a comment": (b"# nothing", 1, 1, "defines no topology"),
    "cut off": (b"topology a { nodes 1\r\n\r\n", 1, 20, "the `{` of line 1 is never closed"),
    "too large": (b"#" * (MAX_FILE_BYTES + 1), 1, 1, "larger than 2 MiB"),
}


@pytest.mark.parametrize("case", BYTES)
def test_odd_files(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    data, line, column, message = BYTES[case]
    path = spec_file(data)
    error = ask(library, "my.syncoll")
    assert error.origin is not None
    assert (error.origin.line, error.origin.column) == (line, column)
    assert message in error.message
    check_file(path, library)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbftopology a { nodes 3 }",
        b"topology a {\r\n\tnodes 3 # three\r\n}\r\n",
        b"topology a {\r# old\rnodes 3\r}",
        "# Größe\ntopology a { nodes 3 }".encode(),
    ],
)
def test_marks_line_ends_tabs_and_comments(
    data: bytes, library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file(data)
    assert library.topology("my.syncoll").num_nodes == 3


def test_tabs_keep_the_caret_in_place(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("topology a {\r\n\t\tnodes m\r\n}")
    assert marked(ask(library, "my.syncoll")) == "m"


def test_folders_and_unprintable_characters(library: SpecLibrary, spec_file: SpecFile) -> None:
    Path("folder.syncoll").mkdir()
    assert "is a folder" in ask(library, "folder.syncoll").message
    spec_file("topology a { nodes 1 } \x1b[31m")
    assert "\x1b" not in str(ask(library, "my.syncoll"))


def test_check_reports_several_mistakes(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file(
        "topology a { nodes x }\n"
        "let f(x) = if x > 0 then y else 1\n"
        "topology b(n) { nodes n link (0, f(1, 2)) bandwidth 1 }\n"
        "collective c { chunks C pre All post {} }\n"
        "topology d { nodes 2 link (0, 2) bandwidth 1 }\n"
        "search { collective c(1) topology e }\n"
        "topology fine(n) { nodes n }\n"
    )
    report = check_file(path, library)
    assert [error.origin.line for error in report.errors if error.origin] == [1, 2, 3, 4, 5, 6, 6]
    assert [d.signature for d in report.definitions] == [
        "a", "f(x)", "b(n)", "c", "d", "", "fine(n)",
    ]  # fmt: skip
    assert any("fine(n)" in note for note in report.notes)


def test_check_reports_several_syntax_errors(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file(
        "topology a {\n    nodes 4 link (0 1)\n}\n\ntopology b { nodes 3 }\n\n"
        "collective c {\n    chunks C pre All pre All\n}\n\nrelation r = { (c, n) : }\n"
    )
    report = check_file(path, library)
    assert [error.origin.line for error in report.errors if error.origin] == [2, 8, 11]


def test_errors_of_parts_of_a_library_do_not_hide_the_rest(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file("topology good { nodes 2 }", "lib/good.syncoll")
    spec_file("topology bad { nodes", "lib/bad.syncoll")
    spec_file("topology good { nodes 3 }\ntopology other { nodes 3 }", "lib/again.syncoll")
    mine = SpecLibrary([Path("lib")])
    assert mine.topology("other").num_nodes == 3
    assert "already defined in lib/again.syncoll, line 1" in ask(mine, "good").message
    assert "never closed" in ask(mine, "bad").message
    assert len(mine.problems()) == 2
    assert {d.name for d in mine.names("topology")} == {"good", "other"}
