"""The version of a file: the least that has all its entries, so that most readers can read it.

Version 2 brought carriers and runs of nodes, 3 switches that copy or add up, 4 claims that count
the members of families. Version 5 brought runs of chunks and certificates with `moved`, 6 machines
with several grains in a round. Version 7 brought simple points: they have fewer chunks or messages
than points of no more steps and no higher R/C. Version 8 brought algorithms that are fast by time,
9 reproducible sums.  Version 10 brought cases with automorphisms, 11 certificates by boxes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET

from syncoll.documents.record import Json, Record, written


def versioned(kind: str, record: Record, least: int = 1) -> Json:
    """A record as a document of the version that it needs, at least `least`."""
    version = max([least, *(version for version, _ in brought(kind, record))])
    return {**written(record), "schema": f"syncoll/{kind}/{version}"}


def brought(kind: str, record: Any) -> Iterator[tuple[int, str]]:
    """The entries of a record that need a version: the version, and the entry in words."""
    for where, problem in _problems(kind, record).items():
        algorithm = getattr(problem, "algorithm", None)
        if algorithm is not None:
            if algorithm.carriers is not UNSET:
                yield 2, f"{where}algorithm has carriers"
            if any(isinstance(x, list) for one in algorithm.contributions or () for x in one):
                yield 2, f"{where}contributions has runs of nodes"
            if any(type(row[0]) is not int for row in algorithm.sends):
                yield 5, f"{where}algorithm has runs of chunks"
        if getattr(problem, "reproducible", UNSET) is not UNSET:
            yield 9, f"{where}reproducible is there"
        if _has_runs(problem.chunk_classes):
            yield 2, f"{where}chunk_classes has runs of nodes"
        if any(type(c) is not int for one in problem.chunk_classes for c in one.chunks):
            yield 5, f"{where}chunk_classes has runs of chunks"
    if getattr(record, "timed", UNSET) is not UNSET:
        yield 8, "timed is there"
    network = record.interconnect
    if any(one.counts is not UNSET for one in network.bounds):
        yield 3, "interconnect.bounds has counts"
    if network.fabric and (network.fabric.multicast or network.fabric.reduce):
        yield 3, "interconnect.fabric has switches that copy or add up"
    if network.grains is not UNSET:
        yield 6, "interconnect has grains"
    evidence = getattr(record, "evidence", UNSET)
    for i, shape in enumerate(() if evidence is UNSET else evidence.shapes):
        if any(one.each is not UNSET for one in shape.classes):
            yield 2, f"evidence.shapes[{i}] has classes with each"
        if _has_runs(shape.classes):
            yield 2, f"evidence.shapes[{i}] has runs of nodes"
    for i, one in enumerate(() if evidence is UNSET else evidence.certificates):
        if getattr(one, "moved", UNSET) is not UNSET:
            yield 5, f"evidence.certificates[{i}] has moved"
        if any(case.automorphisms for case in getattr(one, "cases", ())):
            yield 10, f"evidence.certificates[{i}] has cases with automorphisms"
        if one.__struct_config__.tag == "boxes":
            yield 11, f"evidence.certificates[{i}] is by boxes"


def _problems(kind: str, record: Any) -> dict[str, Any]:
    if kind != "frontier":
        return {"": record}
    parts = {f"points[{i}].": one for i, one in enumerate(record.points)}
    parts |= {f"timed[{i}].": one for i, one in enumerate(record.timed or ())}
    for i, family in enumerate(record.families or ()):
        named = (("wave", family.wave), ("head", family.head), ("tail", family.tail))
        parts |= {f"families[{i}].{name}.": part for name, part in named if part}
    return parts


def _has_runs(classes: Iterable[Any]) -> bool:
    return any(
        isinstance(entry, list)
        for one in classes
        for named in (one.pre, one.post)
        for entry in named
    )
