"""Families in a frontier's file: their parts, and the closed form that follows from them."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.problem import AlgorithmRecord, ProblemRecord, algorithm_of, instance_of
from syncoll.documents.record import (
    ClosedRecord,
    PositiveCount,
    RoundsText,
    SignedRoundsText,
    rounds_of,
)
from syncoll.errors import FileFormatError
from syncoll.model import Topology
from syncoll.results.family import MOST_FIRST, Family, Growth, Part

_MOST_INTERVAL = 4096

RoundsOfStep = PositiveCount | RoundsText
Rounds = Annotated[tuple[RoundsOfStep, ...], Meta(max_length=_MOST_INTERVAL)]


class PartRecord(ProblemRecord, frozen=True, kw_only=True):
    """Some of the chunks of every member of a family, and their sends."""

    algorithm: AlgorithmRecord


class GrowthRecord(ClosedRecord, frozen=True):
    """A number for each m: base + each * m.

    Args:
        base: may be below 0.
        each: its growth for each m.
    """

    base: Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
    each: PositiveCount


class RoundsGrowthRecord(ClosedRecord, frozen=True):
    """A number of rounds for each m, as `GrowthRecord`."""

    base: Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)] | SignedRoundsText
    each: RoundsOfStep


class FamilyRecord(ClosedRecord, frozen=True, kw_only=True):
    """An algorithm for each m: a wave of chunks starts m times, once in each interval of steps.

    Args:
        first: the least m.
        steps: S for each m.
        rounds: R for each m.
        chunks: C for each m.
        limit: the limit of R/C as m grows.
        rounds_per_interval: the rounds of steps whose number has the remainder 0, 1, … when divided
            by the number of these entries, which is the number of steps between two waves.
        ramp_up: the rounds of the first steps, where they differ from rounds_per_interval.
        ramp_down: the rounds of the last steps, likewise.
        found_by: the name of the seed or solver.
        wave: wave k, from 0, begins with step k times the interval.
        head: chunks whose steps count from the first.
        tail: chunks that end with the last step.
    """

    first: Annotated[int, Meta(ge=0, le=MOST_FIRST)]
    steps: GrowthRecord
    rounds: RoundsGrowthRecord
    chunks: GrowthRecord
    limit: Fraction
    rounds_per_interval: Annotated[
        tuple[RoundsOfStep, ...], Meta(min_length=1, max_length=_MOST_INTERVAL)
    ]
    ramp_up: Rounds | UnsetType = UNSET
    ramp_down: Rounds | UnsetType = UNSET
    found_by: str
    wave: PartRecord
    head: PartRecord | UnsetType = UNSET
    tail: PartRecord | UnsetType = UNSET


def family_record(family: Family) -> FamilyRecord:
    """The record of a family."""
    return FamilyRecord.of(
        family,
        steps=GrowthRecord.of(family.steps),
        rounds=RoundsGrowthRecord.of(family.rounds_needed),
        chunks=GrowthRecord.of(family.chunks),
        rounds_per_interval=family.rounds,
        ramp_up=family.ramp_up or UNSET,
        ramp_down=family.ramp_down or UNSET,
        wave=part_record(family.wave),
        head=UNSET if family.head is None else part_record(family.head),
        tail=UNSET if family.tail is None else part_record(family.tail),
    )


def family_of(record: FamilyRecord, topology: Topology, collective: str) -> Family:
    """The family of a record, not yet verified.  Raises `FileFormatError` if the closed form does
    not follow from its parts, and `ModelError` if it makes no sense."""

    def part(one: PartRecord) -> Part:
        instance = instance_of(one, topology, collective)
        return Part(instance, algorithm_of(one.algorithm, topology))

    def rounds(some: Iterable[int | str]) -> tuple[Any, ...]:
        return tuple(rounds_of(one, topology.grains) for one in some)

    family = Family(
        part(record.wave),
        rounds(record.rounds_per_interval),
        record.first,
        rounds(record.ramp_up or ()),
        rounds(record.ramp_down or ()),
        None if record.head is UNSET else part(record.head),
        None if record.tail is UNSET else part(record.tail),
        record.found_by,
    )
    for name in ("steps", "rounds", "chunks", "limit"):
        own = {"rounds": family.rounds_needed}.get(name, getattr(family, name))
        stated = getattr(record, name)
        if isinstance(own, Growth):
            stated = Growth(*rounds((stated.base, stated.each)))
        if own != stated:
            raise FileFormatError(
                f"the {name} of a family is stated as {stated}; its parts make it {own}"
            )
    return family


def part_record(part: Part) -> PartRecord:
    """The record of an algorithm with its problem."""
    from syncoll.documents.written_problem import algorithm_record, problem_entries

    return PartRecord(
        **problem_entries(part.instance, runs=False),
        algorithm=algorithm_record(part.algorithm, runs=False),
    )
