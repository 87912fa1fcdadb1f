"""Topologies of msccl-tools as JSON, alone or within an algorithm.

::

    {"msccl_type": "topology", "name": "Pair",
     "switches": [[[0], [1], 1, "out of 0"]],      sources, destinations, bandwidth, name
     "links": [[0, 2],                             links[destination][source], 0 for none
               [2, 0]]}

A switch makes no links.  It caps all sends from its sources to its destinations together, as one
element of the bandwidth relation B (SCCL paper, section 3.2.1).  The result is therefore a topology
and not a fabric with switches.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from syncoll.importing.description import TextError
from syncoll.importing.json_text import exact_number, shown
from syncoll.model import BandwidthBound, Link, Topology

_EXPECTED = '{"msccl_type": "topology", "name": …, "switches": […], "links": [[…], …]}'
_ENTRY = "[[sources], [destinations], bandwidth, name]"
_MOST_LINKS = 1 << 20
_MOST_SHARED = 1 << 22


def topology_in(data: Any, notes: list[str], name: str = "imported") -> Topology:
    """The topology of a JSON value; adds to `notes`.  Raises `ImportFormatError` on an invalid
    one."""
    if not isinstance(data, dict) or data.get("msccl_type") != "topology":
        found = data.get("msccl_type") if isinstance(data, dict) else None
        raise TextError(
            f"its msccl_type is {shown(found)}" if found else "it has no msccl_type", _EXPECTED
        )
    bandwidths = _links(data.get("links"))
    shared = _switches(data.get("switches", []), bandwidths, len(data["links"]), notes)
    links = tuple(sorted(bandwidths))
    own = [BandwidthBound((link,), bandwidths[link]) for link in links]
    return Topology(name, len(data["links"]), links, (*own, *shared))


def nearest(number: Fraction) -> Fraction:
    """The fraction that a float was written for: 0.3333333333333333 is 1/3."""
    simple = number.limit_denominator(1000)
    return simple if float(simple) == float(number) else number


def _bandwidth(value: object) -> Fraction | None:
    """A number of chunks per round; None for other values."""
    number = None if isinstance(value, str) else exact_number(value)
    return None if number is None else nearest(number)


def _links(matrix: Any) -> dict[Link, Fraction]:
    """The bandwidth of each link (source, destination)."""
    if not isinstance(matrix, list) or not matrix:
        raise TextError(
            "it has no links" if not matrix else f"its links are {shown(matrix)}",
            "a square matrix of bandwidths, links[destination][source]",
        )
    nodes = len(matrix)
    bandwidths: dict[Link, Fraction] = {}
    for destination, row in enumerate(matrix):
        if not isinstance(row, list) or len(row) != nodes:
            found = f"{len(row)} entries" if isinstance(row, list) else shown(row)
            raise TextError(
                f"row {destination} of its links (counted from 0) has {found}",
                f"{nodes} bandwidths, one for each of its {nodes} rows",
            )
        for source, value in enumerate(row):
            bandwidth = _bandwidth(value)
            where = f"links[{destination}][{source}], from node {source} to node {destination},"
            if bandwidth is None or bandwidth < 0:
                raise TextError(f"{where} is {shown(value)}", "chunks per round, 0 for no link")
            if bandwidth and source == destination:
                raise TextError(f"{where} is {shown(value)}", "0: no node is linked to itself")
            if bandwidth:
                bandwidths[source, destination] = bandwidth
        if len(bandwidths) > _MOST_LINKS:
            raise TextError(f"more than {_MOST_LINKS} links, which no topology may have")
    return bandwidths


def _switches(
    entries: Any, links: Mapping[Link, Fraction], nodes: int, notes: list[str]
) -> list[BandwidthBound]:
    """The cap of each switch; caps over no link are left out, and noted."""
    if not isinstance(entries, list):
        raise TextError(f"its switches are {shown(entries)}", f"a list of {_ENTRY}")
    bounds: list[BandwidthBound] = []
    total = 0
    for i, entry in enumerate(entries):
        where = f"switch {i} (counted from 0)"
        if not isinstance(entry, list) or len(entry) not in (3, 4):
            raise TextError(f"{where} is {shown(entry)}", _ENTRY)
        sources, destinations = (
            _nodes(side, nodes, f"{where}: its {what}")
            for side, what in zip(entry, ("sources", "destinations"), strict=False)
        )
        bandwidth = _bandwidth(entry[2])
        if bandwidth is None or bandwidth <= 0:
            raise TextError(
                f"{where}: its bandwidth is {shown(entry[2])}", "chunks per round, above 0"
            )
        name = entry[3] if len(entry) == 4 else ""
        if not isinstance(name, str):
            raise TextError(f"{where}: its name is {shown(name)}", "text")
        total += len(sources) * len(destinations)
        if total > _MOST_SHARED:
            raise TextError(f"its switches have more than {_MOST_SHARED} pairs of nodes")
        covered = sorted(
            (source, destination)
            for source in sources
            for destination in destinations
            if (source, destination) in links
        )
        if covered:
            bounds.append(BandwidthBound(tuple(covered), bandwidth, name))
        else:
            notes.append(f"Left out: {where} {shown(name)}, since no link leads through it.")
    return bounds


def _nodes(side: Any, nodes: int, where: str) -> list[int]:
    """Distinct node numbers, in order."""
    if (
        not isinstance(side, list)
        or not side
        or not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < nodes for n in side)
    ):
        raise TextError(f"{where} are {shown(side)}", f"a list of nodes from 0 to {nodes - 1}")
    return sorted(set(side))
