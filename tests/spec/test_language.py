"""The meaning of the language, construct by construct."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import syncoll_specs
from syncoll.errors import SpecError
from syncoll.model import Topology
from syncoll.spec import SearchSpec, SpecLibrary, check_file

SpecFile = Callable[..., Path]


@pytest.fixture
def machine(library: SpecLibrary, spec_file: SpecFile) -> Callable[[str], Topology]:
    def build(body: str) -> Topology:
        spec_file(f"topology t {{ {body} }}")
        return library.topology("my.syncoll:t")

    return build


def rates(topology: Topology) -> dict[tuple[int, int], Fraction]:
    return {b.links[0]: b.chunks_per_round for b in topology.bounds if len(b.links) == 1}


def test_links_one_way_both_ways_and_with_their_own_bandwidth(
    machine: Callable[[str], Topology],
) -> None:
    topology = machine(
        "nodes 4 link (0, 1), (1, 2) bandwidth 3/2"
        " link (2, 3) both ways bandwidth 2"
        " link (0, i) for i in [2, 3] bandwidth i / 2"
    )
    assert rates(topology) == {
        (0, 1): Fraction(3, 2), (1, 2): Fraction(3, 2), (2, 3): 2, (3, 2): 2,
        (0, 2): 1, (0, 3): Fraction(3, 2),
    }  # fmt: skip


def test_clauses_come_in_any_order(machine: Callable[[str], Topology]) -> None:
    one = machine('nodes 4 link (i, i + 1) both ways for i in range(3) bandwidth 2 label "x"')
    two = machine('nodes 4 link (i, i + 1) label "x" bandwidth 2 for i in range(3) both ways')
    assert one == two


def test_a_statement_collapses_repeated_links(machine: Callable[[str], Topology]) -> None:
    topology = machine("nodes 2 link (i, 1 - i) both ways for i in nodes bandwidth 1")
    assert rates(topology) == {(0, 1): 1, (1, 0): 1}


def test_conditions_ragged_ranges_and_lists_of_lists(machine: Callable[[str], Topology]) -> None:
    expected = machine("nodes 4 link (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3) bandwidth 1")
    for body in (
        "link (b, a) for a in nodes, b in range(a) bandwidth 1",
        "link (b, a) for a in nodes, b in nodes if b < a bandwidth 1",
        "link (b, a) for a in nodes for b in nodes if b < a bandwidth 1",
        "link (row[0], row[1]) for row in [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]"
        " bandwidth 1",
        "link (a, b) for a in nodes for b in nodes if any(b == a + i for i in range(1, 4))"
        " bandwidth 1",
    ):
        assert machine(f"nodes 4 {body}") == expected


def test_shared_bounds_over_any_links(machine: Callable[[str], Topology]) -> None:
    topology = machine(
        "nodes 4 link (a, b) for a in nodes, b in nodes if a != b"
        " shared { links } bandwidth 9"
        " shared { links from 0 } bandwidth 1/2"
        " shared { links to [1, 2] } bandwidth 3"
        " shared { links from [0, 1] to [2, 3] } bandwidth 4"
        " shared { (0, 1), (a, 0) for a in [2, 3] } bandwidth 5"
        ' shared { links from n } for n in nodes if n > 1 bandwidth n label "out of {n}"'
    )
    every = [(a, b) for a in range(4) for b in range(4) if a != b]
    assert [(b.links, b.chunks_per_round, b.label) for b in topology.bounds] == [
        (tuple(every), 9, ""),
        (((0, 1), (0, 2), (0, 3)), Fraction(1, 2), ""),
        (tuple(link for link in every if link[1] in (1, 2)), 3, ""),
        (((0, 2), (0, 3), (1, 2), (1, 3)), 4, ""),
        (((0, 1), (2, 0), (3, 0)), 5, ""),
        (((2, 0), (2, 1), (2, 3)), 2, "out of 2"),
        (((3, 0), (3, 1), (3, 2)), 3, "out of 3"),
    ]


def test_names_of_clauses_can_be_parameters(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "topology t(bandwidth, k = 2, label = 0, time = 1, to = 3) {"
        " nodes k + to link (label, time) bandwidth bandwidth }"
    )
    topology = library.topology("my.syncoll:t(7)")
    assert rates(topology) == {(0, 1): 7}
    assert topology.num_nodes == 5


VALUES = {
    "2 + 3 * 4 - 1": 13,
    "7 div 2 + 7 mod 4": 6,
    "-7 div 2 + 10": 6,
    "-7 mod 4": 1,
    "2 ** 3 ** 1": 8,
    "-2 ** 2 + 5": 1,
    "(1 / 3) * 6": 2,
    "min(4, 2, 3) + max([1, 5]) + abs(-3)": 10,
    "if 1 < 2 and not (2 == 3) then 4 else 5": 4,
    "len([1, 2]) + sum(i for i in range(4)) + product([2, 3])": 14,
    "[i * i for i in range(5) if i mod 2 == 0][2]": 16,
    "if 3 in [1, 2] or 1 < 2 <= 2 then 1 else 2": 1,
    "if all(i > 0 for i in []) != any(i > 0 for i in []) then 3 else 4": 3,
    "if true == (2 in range(3)) then 5 else 6": 5,
    "0.5 * 6": 3,
    "local(2)": 7,
    "shared_by_all(3)": 9,
    "TEN": 10,
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        f"let TEN = 10\nlet shared_by_all(x, y = x * x) = y\n"
        f"topology t {{ let a = 5 let local(x) = x + a nodes {text} }}"
    )
    assert library.topology("my.syncoll:t").num_nodes == VALUES[text]


def test_sets_of_pairs_and_set_operations(library: SpecLibrary, spec_file: SpecFile) -> None:
    c, n = np.arange(6)[:, None], np.arange(3)[None, :]
    cases = {
        "{ (0, 1), (2, 2) }": ((c == 0) & (n == 1)) | ((c == 2) & (n == 2)),
        "{ (c, c mod P) for c in range(G) if c > 1 }": (n == c % 3) & (c > 1),
        "{}": c < 0,
        "Scattered | Root(0)": (n == c % 3) | (n == 0),
        "Scattered & Root(0)": (n == c % 3) & (n == 0),
        "All - Scattered - { (0, 1) }": (n != c % 3) & ~((c == 0) & (n == 1)),
        "if P > 2 then Root(P - 1) else All": (c >= 0) & (n == 2),
        "{ (c, n) : (c, (n + 1) mod P) in Scattered }": (n + 1) % 3 == c % 3,
        "{ (c, n) : (c + 1, n) not in All }": (c == 5) & (n >= 0),
        "{ (c, n) : (if c > n then (c, n) else (n, c)) in Root(0) }": np.minimum(c, n) == 0,
    }
    for text, expected in cases.items():
        spec_file(f"collective x {{ irregular chunks P * C pre {text} post All }}")
        table = library.collective("my.syncoll:x").tabulate(3, 2)
        assert np.array_equal(table.pre, np.broadcast_to(expected, (6, 3))), text


def test_user_definitions_shadow_shipped_ones(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "relation All = Root(1)\n"
        "topology ring(n) { nodes n + 1 }\n"
        "collective x { chunks C pre Root(0) post All }\n"
        "search s { collective allgather topology ring(2) }\n"
    )
    assert library.collective("my.syncoll:x").tabulate(2, 1).post.tolist() == [[False, True]]
    assert library.topology("my.syncoll:ring(3)").num_nodes == 4
    search = library.search("my.syncoll:s")
    assert search.topology.num_nodes == 3
    assert search.collective.tabulate(2, 1).post.all()  # shipped ones see the shipped All


def test_searches(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "search {\n collective broadcast(1)\n topology ring(4)\n k 3\n steps <= 8\n rounds <= 9\n"
        " chunks <= 2 * 2\n time <= 3/2 min\n encoding step\n backend \"cpsat\"\n}\n"
    )  # fmt: skip
    search = library.search("my.syncoll")
    assert dataclasses.astuple(
        dataclasses.replace(search, topology=None, collective=None, origin=None)  # type: ignore[arg-type]
    ) == ("", None, None, 3, 8, 9, 4, 90.0, "step", "cpsat", None)
    assert search.topology.name == "ring(4)"
    assert search.collective.name == "broadcast(root=1)"
    spec_file("search s(n) { collective allgather topology ring(n) }")
    search = library.search("my.syncoll:s(5)")
    assert search == SearchSpec("s(5)", search.topology, search.collective)
    assert search.topology.num_nodes == 5


def test_shipped_searches(library: SpecLibrary) -> None:
    names = [summary.name for summary in library.names("search")]
    assert len(names) >= 3
    for name in names:
        assert library.search(name).k is not None


def test_imports(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file('import "sub/b.syncoll"\ntopology a { nodes two + 1 }', "a.syncoll")
    spec_file('import "c.syncoll"\nlet two = one + one\ntopology b { nodes one }', "sub/b.syncoll")
    spec_file("let one = 1", "sub/c.syncoll")
    assert library.topology("a.syncoll:a").num_nodes == 3
    assert library.topology("a.syncoll:b").num_nodes == 1  # an imported name
    spec_file('import "sub/b.syncoll"\ntopology a { nodes one }', "a.syncoll")
    with pytest.raises(SpecError, match="no variable, constant or relation `one`"):
        library.topology("a.syncoll:a")  # imports of an imported file stay its own


def test_recursive_imports_name_the_chain(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file('import "b.syncoll"\ntopology a { nodes 1 }', "a.syncoll")
    spec_file('# first\n  import "./c.syncoll"', "b.syncoll")
    spec_file('import "a.syncoll"', "c.syncoll")
    with pytest.raises(SpecError) as caught:
        library.topology("a.syncoll")
    error = caught.value
    assert error.origin is not None
    assert (error.origin.file, error.origin.line, error.origin.column) == ("c.syncoll", 1, 1)
    assert "a.syncoll -> b.syncoll -> c.syncoll -> a.syncoll" in error.message
    assert "without a circle" in error.expected
    spec_file('import "self.syncoll"', "self.syncoll")
    (reported,) = check_file("self.syncoll", library).errors
    assert "self.syncoll -> self.syncoll" in reported.message


def test_broken_imports_point_at_the_import(library: SpecLibrary, spec_file: SpecFile) -> None:
    for name, message in (
        ("none.syncoll", "file none.syncoll does not exist"),
        ("", "without a file name"),
    ):
        spec_file(f'import "{name}"')
        with pytest.raises(SpecError, match=message) as caught:
            library.topology("my.syncoll")
        assert caught.value.origin is not None
        assert caught.value.origin.text == f'import "{name}"'
    spec_file("topology x { nodes }", "broken.syncoll")
    spec_file('import "broken.syncoll"')
    with pytest.raises(SpecError) as caught:
        library.topology("my.syncoll")
    assert caught.value.origin is not None
    assert caught.value.origin.file == "broken.syncoll"


def test_a_diamond_of_imports_is_no_circle(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("let one = 1", "base.syncoll")
    spec_file('import "base.syncoll"\nlet two = one + 1', "left.syncoll")
    spec_file('import "base.syncoll"\nlet three = one + 2', "right.syncoll")
    spec_file(
        'import "left.syncoll"\nimport "right.syncoll"\nimport "left.syncoll"\n'
        "topology t { nodes two + three }"
    )
    assert library.topology("my.syncoll").num_nodes == 5


@pytest.mark.parametrize("where", ["here", "import", "imports"])
def test_duplicates_name_both_places(where: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    first, again = "\ntopology t { nodes 1 }\n", "topology t { nodes 2 }"
    spec_file(first, "one.syncoll")
    spec_file(again, "two.syncoll")
    text = {
        "here": first + again,
        "import": 'import "one.syncoll"\n' + again,
        "imports": 'import "one.syncoll"\nimport "two.syncoll"',
    }[where]
    spec_file(text)
    with pytest.raises(SpecError) as caught:
        library.topology("my.syncoll:t")
    earlier = "my.syncoll" if where == "here" else "one.syncoll"
    assert f"`t` is already defined in {earlier}, line 2" in caught.value.message
    assert caught.value.origin is not None
    assert caught.value.origin.text == again


def test_too_many_imports(library: SpecLibrary, spec_file: SpecFile) -> None:
    for i in range(70):
        spec_file(f'import "f{i + 1}.syncoll"', f"f{i}.syncoll")
    spec_file("let last = 1", "f70.syncoll")
    with pytest.raises(SpecError, match="more than 64 files"):
        library.topology("f0.syncoll")


def test_summaries_for_people(library: SpecLibrary, spec_file: SpecFile) -> None:
    (ring,) = (s for s in library.names("topology") if s.name == "ring")
    assert ring.signature == "ring(n, bandwidth = 1)"
    assert ring.doc == "n nodes in a circle."
    assert Path(ring.file).name == "basic.syncoll"
    spec_file("# not this\n\n# Two lines\n#  of text.\ntopology t(x,\n  y... ) { nodes 1 }")
    summary = library.definition("topology", "my.syncoll:t(1)")
    assert (summary.doc, summary.signature) == ("Two lines\nof text.", "t(x, y...)")


def test_every_shipped_definition_is_documented_and_sound(library: SpecLibrary) -> None:
    assert library.problems() == []
    for kind in ("topology", "collective", "relation", "search"):
        for summary in library.names(kind):  # type: ignore[arg-type]
            assert summary.doc, f"{kind} {summary.name} has no comment"
            assert summary.name == summary.name.lower() or kind == "relation"
    for path in Path(syncoll_specs.__file__).parent.rglob("*.syncoll"):
        assert check_file(path, library).errors == ()


def test_the_plugin_registers_its_own_folder() -> None:
    record = syncoll_specs.RECORD
    assert record.folder == Path(syncoll_specs.__file__).parent
    assert (record.folder / "py.typed").exists()
    assert (record.folder / "topologies" / "dgx.syncoll").exists()


def test_importing_loads_neither_parser_nor_plugin_host() -> None:
    code = (
        "import sys, syncoll.spec; print('lark' in sys.modules, 'syncoll.plugins' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_only_the_file_that_defines_a_name_is_parsed(
    library: SpecLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    from syncoll.spec import module

    read: list[str] = []
    parse = module.parse_once
    monkeypatch.setattr(
        module, "parse_once", lambda source, how: read.append(source.label) or parse(source, how)
    )
    fresh = SpecLibrary(library.folders)
    fresh.topology("dgx1")
    assert [Path(label).name for label in read] == ["dgx.syncoll"]


def test_long_definitions_chains_are_errors_not_crashes(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    chain = "\n".join(f"let a{i} = a{i - 1} + 1" for i in range(1, 2000))
    path = spec_file(f"let a0 = 0\n{chain}\ntopology t {{ nodes a1999 }}")
    with pytest.raises(SpecError, match="levels deep"):
        library.topology("my.syncoll:t")
    assert len(check_file(path, library).errors) == 1
    backwards = "\n".join(reversed(chain.splitlines()))
    path = spec_file(f"topology t {{ nodes a1999 }}\n{backwards}\nlet a0 = 1 / 0")
    (error,) = check_file(path, library).errors
    assert error.origin is not None
    assert error.origin.line == 2001
    union = " | ".join(["All"] * 300)
    spec_file(f"collective x {{ chunks C pre {union} post All }}")
    with pytest.raises(SpecError, match="levels deep"):
        library.collective("my.syncoll:x")
    spec_file("topology t { nodes " + "(" * 50000 + "1" + ")" * 50000 + " }")
    assert library.topology("my.syncoll:t").num_nodes == 1


def test_repeated_doubling_cannot_hang(library: SpecLibrary, spec_file: SpecFile) -> None:
    doubling = "\n".join(f"relation R{i} = R{i - 1} | R{i - 1}" for i in range(1, 40))
    spec_file(
        f"relation R0 = {{ (c, n) : c == n }}\n{doubling}\n"
        "collective x { chunks C pre R39 post All }"
    )
    with pytest.raises(SpecError, match="more work"):
        library.collective("my.syncoll:x").tabulate(4, 4)


def test_values_of_a_spec_can_go_to_a_worker_process(library: SpecLibrary) -> None:
    collective = pickle.loads(pickle.dumps(library.collective("broadcast(root=1)")))
    assert collective.tabulate(3, 1).pre.tolist() == [[False, True, False]]
    topology = library.topology("ring(4)")
    assert pickle.loads(pickle.dumps(topology)) == topology
    error = pickle.loads(pickle.dumps(SpecError("x", topology.origin, "y")))
    assert error.origin == topology.origin
