"""The data of a page as JSON: the network, the algorithms, the proofs and the times."""

from collections import Counter
from typing import Any

import numpy as np

from syncoll.model import Topology
from syncoll.model.grains import Rounds
from syncoll.reporting.layout import lay_out
from syncoll.reporting.packing import ByteRoom, pack
from syncoll.reporting.proofs import proof_entries
from syncoll.reporting.subject import ReportEntry, Subject
from syncoll.reporting.switches import cabled, cables_entry
from syncoll.reporting.times import Times
from syncoll.reporting.traffic import traffic
from syncoll.results import Frontier
from syncoll.values import picked
from syncoll.wording import counted

_ROOM = 1_500_000
"""Bytes of packed arrays in a page, of its two million."""

_MOST_MEMBERS = 400
"""Members of a family in the frontier's picture."""


def content(subject: Subject, times: Times) -> dict[str, Any]:
    """The data to draw; costs and bounds are texts of exact fractions."""
    room, frontier = ByteRoom(_ROOM), subject.frontier
    proofs: dict[str, Any] = {"proofs": [], "certificates": []}
    network = _network(subject.topology)
    if frontier is not None:
        proofs = proof_entries(frontier, room)
    return {
        "title": subject.title,
        "network": network,
        "algorithms": _algorithms(subject, room),
        "frontier": None if frontier is None else _frontier(frontier),
        "times": times.entry(),
        **proofs,
    }


def _network(topology: Topology) -> dict[str, Any]:
    cables = cabled(topology)
    layout = lay_out(topology, switched=cables is not None)
    bends, which = np.unique(np.round(layout.bends, 3), return_inverse=True)
    return {
        "nodes": topology.num_nodes,
        "kind": layout.kind,
        "places": np.round(layout.places, 3).tolist(),
        "boxes": layout.frames or layout.boxes,
        "cables": None if cables is None else cables_entry(cables),
        "switches": np.round(layout.switches, 3).tolist(),
        "links": pack(topology.ends),
        "bends": {"values": bends.tolist(), "which": pack(which)},
        "broken": pack(layout.broken),
        "limits": {
            "labels": _labels(topology),
            "room": [str(bound.chunks_per_round) for bound in topology.bounds],
            "sizes": pack([len(members) for members in topology.bound_links]),
            "links": pack(
                np.concatenate(topology.bound_links) if topology.bounds else np.zeros(0, int)
            ),
        },
    }


def _labels(topology: Topology) -> list[str]:
    """The label of each limit; several with one name are distinguished by their links.  That of a
    single link needs no name: the page names it by its ends."""
    found = []
    count = Counter(bound.label for bound in topology.bounds)
    for bound in topology.bounds:
        ends = [set(side) for side in zip(*bound.links, strict=True)]
        if len(bound.links) == 1:
            where = ""
        elif len(ends[0]) == 1:
            where = f"out of node {min(ends[0])}"
        elif len(ends[1]) == 1:
            where = f"into node {min(ends[1])}"
        else:
            where = counted(len(bound.links), "link")
        label = bound.label
        ambiguous = label and where and count[label] > 1
        found.append(f"{label}, {where}" if ambiguous else label or where)
    return found


def _algorithms(subject: Subject, room: ByteRoom) -> list[dict[str, Any]]:
    """The entries in their order; the smallest take room first."""
    entries = subject.entries
    found: list[dict[str, Any]] = [{} for _ in entries]
    order = sorted(range(len(entries)), key=lambda i: entries[i].stored.algorithm.num_sends)
    for i in order:
        stored = entries[i].stored
        found[i] = _algorithm(entries[i]) | traffic(stored.instance, stored.algorithm, room)
    return found


def _algorithm(entry: ReportEntry) -> dict[str, Any]:
    stored = entry.stored
    return {
        "name": stored.where,
        "steps": stored.steps,
        "rounds": _number(stored.rounds),
        "chunks": stored.chunks,
        "cost": str(stored.bandwidth),
        "bound": None if entry.bound is None else str(entry.bound),
        **picked(entry, "state scope found_by"),
        "sends": stored.algorithm.num_sends,
        "rounds_per_step": list(map(_number, stored.algorithm.rounds_per_step)),
    }


def _number(rounds: Rounds) -> int | float:
    """Rounds as a number of JSON."""
    return rounds if isinstance(rounds, int) else float(rounds)


def _frontier(frontier: Frontier) -> dict[str, Any]:
    families = []
    for family in frontier.families:
        last = family.first + _MOST_MEMBERS
        members = [
            (family.steps.at(m), str(family.bandwidth(m)))
            for m in range(family.first, last)
            if family.steps.at(m) > 0
        ]
        families.append({"words": family.words, "limit": str(family.limit), "members": members})
    return {
        "least_steps": frontier.least_steps,
        "least_cost": str(frontier.least_bandwidth),
        "bounds": [(steps, str(bound)) for steps, bound in frontier.bounds],
        "families": families,
    }
