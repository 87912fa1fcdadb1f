"""The symmetry of a topology."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.pages.page import Page, PageParts, paged
from syncoll.symmetry import Symmetry
from syncoll.verbs.result import Result
from syncoll.wording import counted, few

_MOST_CYCLES_SHOWN = 4
_LONGEST_CYCLE_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class SymmetryResult(Result, Symmetry):
    """The symmetry of a topology, alone or with a collective."""

    @paged
    def page(self) -> PageParts:
        """The order, the orbits and the generators of the free group."""
        topology, group = self.topology, self.group
        name = f"{self.collective} on {topology.name}" if self.collective else topology.name
        yield f"{name}: {counted(topology.num_nodes, 'node')}"
        if group.order == 1:
            yield "no free group of automorphisms was found but the identity"
        else:
            yield (
                f"a free group of {group.order} automorphisms: each but the identity moves every "
                "node"
            )
        standing = few(group.representatives.tolist(), _LONGEST_CYCLE_SHOWN, " ")
        yield f"  nodes   {_orbits(topology.num_nodes, len(group.representatives))}: {standing}"
        yield f"  links   {_orbits(len(topology.links), self.link_orbits)}"
        yield f"  bounds  {_orbits(len(topology.bounds), self.bound_orbits)}"
        for i, images in enumerate(group.generators):
            yield Page().text(f"generator {i + 1}: {_cycles(images)}", hang=13)
        if self.automorphisms is None or self.generators is None:
            yield "all automorphisms: not looked for, the graph is too large"
            return
        switched = topology.fabric is not None and topology.fabric.num_switches
        where = "the network with its switches" if switched else "the topology"
        yield (
            f"all automorphisms of {where}: {self.automorphisms:,}; "
            f"{counted(len(self.generators), 'generator')}"
        )
        if self.collective:
            number = "not counted, the graph of both is too large"
            if self.keeping is not None:
                number = f"{self.keeping:,}"
            yield f"  that keep {self.collective}: {number}"

    def document(self) -> dict[str, Any]:
        """The same as JSON; generators are lists of the node that each node goes to."""
        group = self.group
        return {
            "schema": "syncoll/symmetry/1",
            "topology": self.topology.name,
            "collective": self.collective,
            "nodes": self.topology.num_nodes,
            "order": group.order,
            "representatives": group.representatives.tolist(),
            "links": len(self.topology.links),
            "link_orbits": self.link_orbits,
            "bounds": len(self.topology.bounds),
            "bound_orbits": self.bound_orbits,
            "generators": group.generators.tolist(),
            "automorphisms": self.automorphisms,
            "automorphisms_kept": self.keeping,
            "automorphism_generators": None if self.generators is None else len(self.generators),
            "automorphism_generators_kept": None if self.generators is None else self.kept,
        }

    record = document


def _orbits(number: int, orbits: int) -> str:
    return f"{orbits} of {number} stand for all" if orbits != 1 else f"1 of {number} stands for all"


def _cycles(images: npt.NDArray[np.int64]) -> str:
    """A permutation as cycles, which all have one length in a free group; a few of them."""
    following, seen = images.tolist(), np.zeros(len(images), dtype=bool)
    cycles: list[list[int]] = []
    for start in range(len(following)):
        if not seen[start]:
            cycle, node = [], start
            while not seen[node]:
                seen[node] = True
                cycle.append(node)
                node = following[node]
            cycles.append(cycle)
    shown = (few(cycle, _LONGEST_CYCLE_SHOWN, " ") for cycle in cycles[:_MOST_CYCLES_SHOWN])
    text = "".join(f"({cycle})" for cycle in shown)
    if len(cycles) > _MOST_CYCLES_SHOWN or len(cycles[0]) > _LONGEST_CYCLE_SHOWN:
        more = " …" if len(cycles) > _MOST_CYCLES_SHOWN else ""
        text += f"{more}, {counted(len(cycles), 'cycle')} of {len(cycles[0])}"
    return text
