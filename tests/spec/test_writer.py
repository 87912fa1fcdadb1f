"""A topology written as a spec reads back equal, however it was built."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from syncoll.errors import SpecError
from syncoll.model import BandwidthBound, Topology
from syncoll.spec import SpecLibrary, topology_to_spec

RATES = st.fractions(min_value=Fraction(1, 9), max_value=50, max_denominator=9)
LABELS = st.one_of(st.just(""), st.text(alphabet='ab {}"\\\n\tä#', max_size=6))


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    nodes = draw(st.integers(1, 6))
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    links = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    groups = [(link,) for link in links if draw(st.integers(0, 3))]
    if links:
        groups += draw(st.lists(st.lists(st.sampled_from(links), min_size=1, unique=True)))
    covered = {link for group in groups for link in group}
    rest = [link for link in links if link not in covered]
    groups += [rest] if rest else []
    bounds = [
        BandwidthBound(tuple(sorted(group)), draw(RATES), draw(LABELS))
        for group in draw(st.permutations(groups))
    ]
    return Topology("some", nodes, tuple(sorted(links)), tuple(bounds))


def read(text: str, folder: Path, library: SpecLibrary) -> Topology:
    path = folder / "written.syncoll"
    path.write_text(text, encoding="utf-8")
    return library.topology(str(path))


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(topology=topologies())
def test_round_trip(topology: Topology, tmp_path: Path, library: SpecLibrary) -> None:
    again = read(topology_to_spec(topology, "some"), tmp_path, library)
    assert again == topology
    assert [bound.label for bound in again.bounds] == [bound.label for bound in topology.bounds]


@pytest.mark.parametrize(
    "reference", ["dgx1", "dgx2", "torus(3,4)", "bus(3)", "hub(4)", "ring(1)", "line(5)"]
)
def test_shipped_machines(reference: str, tmp_path: Path, library: SpecLibrary) -> None:
    topology = library.topology(reference)
    again = read(topology_to_spec(topology, "copy"), tmp_path, library)
    assert (again.num_nodes, again.links, again.bounds) == (
        topology.num_nodes,
        topology.links,
        topology.bounds,
    )


def test_the_text_is_readable(library: SpecLibrary) -> None:
    text = topology_to_spec(library.topology("dgx1"), "my_dgx1")
    assert text == (
        "topology my_dgx1 {\n"
        "    nodes 8\n"
        "    link (0, 1), (0, 3), (1, 4), (2, 3), (2, 7), (4, 5), (5, 6), (6, 7) both ways"
        " bandwidth 2\n"
        "    link (0, 2), (0, 5), (1, 2), (1, 3), (3, 6), (4, 6), (4, 7), (5, 7) both ways"
        " bandwidth 1\n"
        "}\n"
    )
    wide = topology_to_spec(library.topology("dgx2"), "wide")
    assert max(map(len, wide.splitlines())) <= 100


def test_a_matrix_becomes_a_file(tmp_path: Path, library: SpecLibrary) -> None:
    matrix = np.array([[0, 3], [1, 0]])
    topology = Topology.from_matrix("pair", matrix)
    assert read(topology_to_spec(topology, "pair"), tmp_path, library) == topology


@pytest.mark.parametrize("name", ["torus(4,4)", "", "link", "two words", "9lives"])
def test_names_must_be_names(name: str, library: SpecLibrary) -> None:
    with pytest.raises(SpecError, match="cannot be the name"):
        topology_to_spec(library.topology("ring(3)"), name)
