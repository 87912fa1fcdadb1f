"""`rounds per 1/D` in a topology, and the D that follows from bandwidths with units."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.documents import frontier_document, load_text, to_text
from syncoll.errors import SpecError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import Topology
from syncoll.model.grains import grains_for
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary, topology_to_spec

SpecFile = Callable[[str], Path]

SLOPES = """
topology slopes(d = 5) {
    nodes 3
    rounds per 1/d
    link (0, 1), (1, 2) both ways bandwidth 5/2
    link (0, 2)
    shared { (0, 2), (0, 1) } bandwidth 3
}
topology cabled(extra...) {
    nodes 3
    switches 1
    link (i, switch(0)) both ways for i in nodes bandwidth 40 GB/s
    link (0, 1) bandwidth 15 GB/s
}
topology measured {
    nodes 2
    link (0, 1) bandwidth 48.3 GB/s
    link (1, 0) bandwidth 12.1 GB/s
}
topology whole {
    rounds per 1
    nodes 2
    link (0, 1) bandwidth 48 GB/s
    link (1, 0) bandwidth 18 GB/s
}
"""


@pytest.fixture
def topology(library: SpecLibrary, spec_file: SpecFile) -> Callable[[str], Topology]:
    path = spec_file(SLOPES)
    return lambda reference: as_topology(library.topology(f"{path}:{reference}"))


def test_a_topology_names_its_grain(topology: Callable[[str], Topology]) -> None:
    assert topology("slopes").grains == 5
    assert topology("slopes(12)").grains == 12
    assert topology("slopes(1)").grains == 1


def test_units_imply_the_grains_of_exact_steps(topology: Callable[[str], Topology]) -> None:
    assert {str(b.chunks_per_round) for b in topology("cabled").bounds} == {"8/3"}
    assert topology("cabled").grains == 8
    assert topology("measured").grains == 60
    assert topology("whole").grains == 1
    assert grains_for([Fraction(64, 9)]) == 64
    assert grains_for([Fraction(64), Fraction(3)]) == 60


@pytest.mark.parametrize("written", ["2/3", "0", "2", "-1/9", "1/2000000"])
def test_other_fractions_are_refused(
    library: SpecLibrary, spec_file: SpecFile, written: str
) -> None:
    path = spec_file(SLOPES.replace("per 1/d", f"per {written}"))
    with pytest.raises(SpecError) as error:
        library.topology(f"{path}:slopes")
    assert f"{path}:4:16: rounds per " in str(error.value)
    assert "a fraction of a round from 1/1,000,000 to 1, such as 1/9" in str(error.value)


def test_a_second_grain_is_refused(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file(SLOPES.replace("per 1/d", "per 1/2 rounds per 1/3"))
    with pytest.raises(SpecError, match="`rounds` occurs a second time"):
        library.topology(f"{path}:slopes")


def test_per_and_rounds_are_still_names(library: SpecLibrary, spec_file: SpecFile) -> None:
    text = "topology t(per, rounds) { nodes rounds  link (0, 1) bandwidth per }"
    assert library.topology(f"{spec_file(text)}:t(3, 2)").num_nodes == 2


@pytest.mark.parametrize("name", ["slopes", "cabled"])
def test_machines_made_from_others_keep_the_grains(
    topology: Callable[[str], Topology], library: SpecLibrary, spec_file: SpecFile, name: str
) -> None:
    whole = topology(name)
    for other in (f"{name} with 0->1 by 3", f"{name} without node 2"):
        assert topology(other).grains == whole.grains, other
    again = library.topology(f"{spec_file(topology_to_spec(whole, 'again'))}:again")
    assert again.same_as(whole)


def test_files_keep_grains_of_cables(
    topology: Callable[[str], Topology], library: SpecLibrary
) -> None:
    whole = topology("cabled")
    found = lower_bounds(whole, library.collective("allgather"))
    read = load_text(to_text(frontier_document(found.frontier())), "bounds").topology
    assert read.same_as(whole)
    assert read.fabric is not None
    assert as_topology(read.fabric).same_as(whole)
