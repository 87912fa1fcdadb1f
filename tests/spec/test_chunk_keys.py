"""Chunks that a relation treats alike are evaluated once, with the same answers."""

from pathlib import Path

import numpy as np
import pytest

from syncoll.errors import SpecError
from syncoll.model import Collective
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary, collective as tables
from syncoll.spec.chunk_keys import alike

LIBRARY = SpecLibrary(
    [record.folder for record in PluginManager.discover().spec_libraries.values()]
)

DEFINITIONS = """
relation Round(k) = { (c, n) : n == (c div k) mod P }
relation Both = Scattered | Round(2)
let far(a, b) = if a > b then a - b else b - a
"""

RELATIONS = {
    "Transpose": 5,
    "Scattered & Transpose": 25,
    "Both - Round(P)": 25,
    "All": 1,
    "{ (c, n) : c mod 2 == 0 }": 2,
    "{ (c, n) : far(c mod 3, n) <= 1 or n == 0 }": 3,
    "{ (c, n) : n in [c mod 2, (c div 2) mod 2] }": 4,
    "{ (c, n) : (c div P, n) in Scattered }": 5,
    "{ (c, n) : (c div P, n) not in { (d, m) : m < d } }": 5,
    "{ (c, n) : (c mod 3 - 1, n) in All }": 2,
    "{ (c, n) : any(n == (c mod 2) * k for k in range(3)) }": 2,
    "{ (c, n) : all(c mod 2 == c for c in [n]) }": 25,
    "{ (3, 1), (4, 0), (4, 1) }": 0,
    "{ (3, 1) } | Scattered": 6,
    "{ (c, n) : n == c mod P and c >= 5 }": 10,
    "{ (c, n) : c > 0 and n == 20 div c }": 25,
    "{ (c, n) : n < c }": 25,
    "{ (c, n) : [c mod 2 == 0, n == 1][n mod 2] }": 2,
}
"""Each with the number of kinds, of 25 chunks on five nodes, that are evaluated; none of a list of
pairs."""


def collective(folder: Path, relation: str) -> Collective:
    path = folder / "keys.syncoll"
    path.write_text(
        f"{DEFINITIONS}\ncollective it {{ irregular chunks P * C pre All post {relation} }}\n"
    )
    return LIBRARY.collective(f"{path}:it")


@pytest.mark.parametrize("relation", RELATIONS)
def test_relations_have_the_same_values(
    relation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def counting(*arguments: object) -> object:
        first, kind = alike(*arguments)  # type: ignore[arg-type]
        assert np.array_equal(first, np.sort(first))
        assert np.array_equal(kind[first], np.arange(len(first)))
        found.append(len(first))
        return first, kind

    monkeypatch.setattr("syncoll.spec.limits.FEW_CELLS", 0)  # as in a large table
    monkeypatch.setattr(tables, "alike", counting)
    post = collective(tmp_path, relation).tabulate(5, 5).post
    assert found == [kinds for kinds in (1, RELATIONS[relation]) if kinds]
    every = np.arange(25)
    monkeypatch.setattr(tables, "alike", lambda *_arguments: (every, every))
    assert np.array_equal(post, collective(tmp_path, relation).tabulate(5, 5).post)


def test_the_first_chunk_for_which_there_is_no_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"with c = 4, n = 0"):
        collective(tmp_path, "{ (c, n) : 1 div (c mod 5 - 4) == n }").tabulate(5, 5)


def test_too_large_a_relation_is_refused_before_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="2097152 kinds of chunks here, on 1024 nodes"):
        collective(tmp_path, "{ (c, n) : n < c }").tabulate(1024, 2048)
    with pytest.raises(SpecError, match="more work to evaluate than is allowed"):
        collective(tmp_path, "{ (c, n) : n < c and n > 2 * c }").tabulate(1024, 190)
