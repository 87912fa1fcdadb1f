"""The page and the record of a symmetry."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.pages.page import Page, PageParts, paged
from syncoll.symmetry import Symmetry
from syncoll.wording import counted

__all__ = ["symmetry_page", "symmetry_record"]

_MOST_CYCLES_SHOWN = 4
_LONGEST_CYCLE_SHOWN = 8


@paged
def symmetry_page(found: Symmetry) -> PageParts:
    """The order, the orbits and the generators of the free group."""
    topology, group = found.topology, found.group
    name = f"{found.collective} on {topology.name}" if found.collective else topology.name
    yield f"{name}: {counted(topology.num_nodes, 'node')}"
    if group.order == 1:
        yield "no free group of automorphisms was found but the identity"
    else:
        yield f"a free group of {group.order} automorphisms: each but the identity moves every node"
    standing = _few(group.representatives.tolist())
    yield f"  nodes   {_orbits(topology.num_nodes, len(group.representatives))}: {standing}"
    yield f"  links   {_orbits(len(topology.links), found.link_orbits)}"
    yield f"  bounds  {_orbits(len(topology.bounds), found.bound_orbits)}"
    for i, images in enumerate(group.generators):
        yield Page().text(f"generator {i + 1}: {_cycles(images)}", hang=13)
    if found.automorphisms is None or found.generators is None:
        yield "all automorphisms: not looked for, the graph is too large"
        return
    switched = topology.fabric is not None and topology.fabric.num_switches
    where = "the network with its switches" if switched else "the topology"
    yield (
        f"all automorphisms of {where}: {found.automorphisms:,}; "
        f"{counted(len(found.generators), 'generator')}"
    )
    if found.collective:
        number = "not counted, the graph of both is too large"
        if found.keeping is not None:
            number = f"{found.keeping:,}"
        yield f"  that keep {found.collective}: {number}"


def symmetry_record(found: Symmetry) -> dict[str, Any]:
    """The same as JSON; generators are lists of the node that each node goes to."""
    group = found.group
    return {
        "schema": "syncoll/symmetry/1",
        "topology": found.topology.name,
        "collective": found.collective,
        "nodes": found.topology.num_nodes,
        "order": group.order,
        "representatives": group.representatives.tolist(),
        "links": len(found.topology.links),
        "link_orbits": found.link_orbits,
        "bounds": len(found.topology.bounds),
        "bound_orbits": found.bound_orbits,
        "generators": group.generators.tolist(),
        "automorphisms": found.automorphisms,
        "automorphisms_kept": found.keeping,
        "automorphism_generators": None if found.generators is None else len(found.generators),
        "automorphism_generators_kept": None if found.generators is None else found.kept,
    }


def _orbits(number: int, orbits: int) -> str:
    return f"{orbits} of {number} stand for all" if orbits != 1 else f"1 of {number} stands for all"


def _few(numbers: list[int]) -> str:
    shown = " ".join(map(str, numbers[:_LONGEST_CYCLE_SHOWN]))
    return shown + (" …" if len(numbers) > _LONGEST_CYCLE_SHOWN else "")


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
    text = "".join(f"({_few(cycle)})" for cycle in cycles[:_MOST_CYCLES_SHOWN])
    if len(cycles) > _MOST_CYCLES_SHOWN or len(cycles[0]) > _LONGEST_CYCLE_SHOWN:
        more = " …" if len(cycles) > _MOST_CYCLES_SHOWN else ""
        text += f"{more}, {counted(len(cycles), 'cycle')} of {len(cycles[0])}"
    return text
