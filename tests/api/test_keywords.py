"""Wrong arguments: unknown keywords, lists of links, graphs and their names."""

from __future__ import annotations

import inspect
import pickle
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

import syncoll
from syncoll.errors import ModelError, UsageError
from syncoll.model import Topology

VERBS = [
    name
    for name in syncoll.__all__
    if inspect.isfunction(getattr(syncoll, name))
    and getattr(syncoll, name).__module__.startswith("syncoll.verbs.")
]


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_suggests_the_right_keyword(name: str) -> None:
    function: Any = getattr(syncoll, name)
    parameters = inspect.signature(function).parameters.values()
    if any(
        one.kind is one.VAR_KEYWORD and "Unpack" not in str(one.annotation) for one in parameters
    ):
        return  # a collective has arguments of its own
    with pytest.raises(UsageError, match=f"^{name} has no keyword frobnicate"):
        function(frobnicate=1)
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and len(one.name) > 3:
            with pytest.raises(UsageError) as caught:
                function(**{f"{one.name}s_": 1})
            assert f"has no keyword {one.name}s_; did you mean {one.name}?" in str(caught.value)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("verb", "keyword", "meant"),
    [
        (syncoll.pareto, "maxsteps", "max_steps"),
        (syncoll.pareto, "optimize_for", "optimise_for"),
        (syncoll.pareto, "thread", "threads"),
        (syncoll.search, "timelimit", "time_limit"),
        (syncoll.solve, "encodings", "encoding"),
        (syncoll.simulate, "size", "sizes"),
    ],
)
def test_keywords_of_settings_too(verb: Any, keyword: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"has no keyword {keyword}; did you mean {meant}\\?"):
        verb("ring(4)", **{keyword: 3})


def test_values_say_it_of_their_verbs() -> None:
    found = syncoll.pareto("ring(3)", "allgather", progress="none")
    with pytest.raises(UsageError, match="plan has no keyword bta; did you mean beta"):
        found.plan(alpha="1us", bta="25GB/s")
    with pytest.raises(UsageError, match="plot has no keyword alph; did you mean alpha"):
        found.plot(alph="1us")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="export has no keyword inplace; did you mean in_place"):
        found[0].export("csv", "x.csv", inplace=True)


def test_links_without_bandwidths_carry_one_chunk_per_round() -> None:
    pairs = [(0, 1), (1, 2), (2, 0)]
    right = Topology.from_links("t", 3, dict.fromkeys(pairs, 1))
    assert Topology.from_links("t", 3, pairs) == right
    assert Topology.from_links("t", 3, iter([[0, 1], [1, 2], [2, 0]])) == right  # type: ignore[arg-type]
    for wrong, words in (
        ([(0, 1), (0, 1)], "topology t: link (0, 1) is listed twice"),
        ([(0, 1, 2)], "link (0, 1, 2) is not (source, destination)"),
        ([5], "link 5 is not (source, destination)"),
    ):
        with pytest.raises(ModelError) as caught:
            Topology.from_links("t", 3, wrong)  # type: ignore[arg-type]
        assert words in str(caught.value)
        assert "a mapping {(source, destination): chunks per round}" in str(caught.value)


def test_a_name_before_or_behind() -> None:
    graph = nx.cycle_graph(4)
    assert Topology.from_networkx("c4", graph) == Topology.from_networkx(graph, "c4")
    assert Topology.from_networkx("c4", graph).name == "c4"
    matrix = np.array([[0, 2], [1, 0]])
    assert Topology.from_matrix(matrix, "two") == Topology.from_matrix("two", matrix)
    assert Topology.from_matrix(matrix, "two").bounds[0].chunks_per_round == Fraction(2)
    for given in (("c4",), ("c4", "c5"), (3, "c4"), (graph, graph)):
        with pytest.raises(
            ModelError, match=r"expected Topology\.from_networkx\(graph, \"name\"\)"
        ):
            Topology.from_networkx(*given)  # type: ignore[arg-type]
