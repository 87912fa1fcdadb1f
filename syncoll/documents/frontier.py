"""A frontier's file: its points with proofs of their costs, and the open regions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.evidence import EvidenceRecord, ProofRecord, evidence_of
from syncoll.documents.families import FamilyRecord, PartRecord, family_of
from syncoll.documents.problem import VERSIONS, AlgorithmRecord, FileRecord, ProblemRecord
from syncoll.documents.record import ClosedRecord, Count, Record, Seconds
from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll.results import Costs, Evidence, Family, Frontier, OpenClaim, Part, Point
from syncoll.trust.families import require_family


class BoundsRecord(Record, frozen=True):
    """No algorithm has fewer steps, none a lower bandwidth cost.

    Args:
        max_chunks: these bounds, and the open regions, are about C up to this; null: every C.
    """

    steps: Count
    bandwidth: Fraction
    max_chunks: Count | UnsetType | None = UNSET


class LeftOutRecord(Record, frozen=True):
    """A C for which the collective is defined but makes no sense, so that no search ran."""

    chunks: Count
    reason: str


class OpenRecord(Record, frozen=True):
    """A region of costs neither filled nor ruled out.

    Args:
        steps: the least and the greatest number; null for no limit.
        bandwidth: at least the first, below the second; null if no algorithm was found.
    """

    steps: tuple[Count, Count | None]
    bandwidth: tuple[Fraction, Fraction | None]
    reason: str


class PointRecord(ProblemRecord, frozen=True, kw_only=True):
    """A verified algorithm with proofs about its costs.

    Args:
        messages: sends of consecutive chunks over one link in one step are one message; missing in
            older files, where no point dominates another in steps and bandwidth cost alone.
        bound: proved: no algorithm of at most these steps and this number of chunks has a lower
            bandwidth cost.
        variables: number of variables of the formula; missing without a formula.
        constraints: number of constraints of the formula, likewise.
    """

    status: Literal["verified"]
    encoding: str
    backend: str
    seconds: Seconds
    messages: Count | UnsetType = UNSET
    bound: Fraction | UnsetType | None = UNSET
    proof: ProofRecord | UnsetType = UNSET
    variables: Count | UnsetType = UNSET
    constraints: Count | UnsetType = UNSET
    algorithm: AlgorithmRecord


class BetweenRecord(ClosedRecord, frozen=True):
    """The proof for steps at which no point was added."""

    steps: Count
    proof: ProofRecord


class FrontierRecord(FileRecord, frozen=True, kw_only=True):
    """Points between latency cost (steps) and bandwidth cost (rounds/chunks).

    Args:
        search: the settings, and the scope in words: for information, no claim rests on it.
        left_out: C without algorithms.
        complete: whether the search ended by itself.
        interrupted: whether a person stopped it.
        between: present together with evidence.
        families: algorithms for every m, in closed form.
        timed: algorithms that are faster than the points for some size by simulated time.
        digest: SHA-256 of the document without this entry, as JSON with sorted keys and no spaces.
    """

    schema: Annotated[str, Meta(pattern=f"^syncoll/frontier/{VERSIONS}$")]
    bounds: BoundsRecord
    search: Annotated[
        dict[str, Any],
        Meta(
            extra_json_schema={"required": ["scope"], "properties": {"scope": {"type": "string"}}}
        ),
    ]
    points: tuple[PointRecord, ...]
    open: tuple[OpenRecord, ...]
    left_out: tuple[LeftOutRecord, ...] | UnsetType = UNSET
    complete: bool
    interrupted: bool
    seconds: Seconds
    families: tuple[FamilyRecord, ...] | UnsetType = UNSET
    timed: tuple[PartRecord, ...] | UnsetType = UNSET
    between: tuple[BetweenRecord, ...] | UnsetType = UNSET
    evidence: EvidenceRecord | UnsetType = UNSET
    digest: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not isinstance(self.search.get("scope"), str):
            raise ValueError("the entry 'search' has no text 'scope'; expected one")
        if self.evidence is not UNSET and self.between is UNSET:
            raise ValueError("the entry 'between' is missing; expected it together with 'evidence'")


FrontierFile = Annotated[
    FrontierRecord, Meta(extra_json_schema={"dependentRequired": {"evidence": ["between"]}})
]
"""The record, with a further condition in its schema."""


def frontier_of(record: FrontierRecord, topology: Topology, solved: Sequence[Costs]) -> Frontier:
    """The frontier of a file, with its verified algorithms, `timed` ones last; its evidence is
    read, but not checked.  Raises `FileFormatError` if the evidence makes no sense, and
    `VerificationError` if points and bounds contradict each other."""
    bounds = record.bounds
    points: list[Point] = []
    for own, one in zip(solved, record.points, strict=False):
        bound, by = None if one.bound is UNSET else one.bound, (one.encoding, one.backend)
        point = Point(own.instance, own.algorithm, *by, one.seconds, bound=bound)
        _require_consistent(f"points[{len(points)}]", point, points, record)
        points.append(point)
    frontier = Frontier(
        topology,
        record.collective,
        tuple(points),
        tuple(OpenClaim(*one.steps, *one.bandwidth, one.reason) for one in record.open),
        record.search["scope"],
        {key: value for key, value in record.search.items() if key != "scope"},
        bounds.steps,
        bounds.bandwidth,
        record.complete,
        record.interrupted,
        record.seconds,
        _evidence(record),
        left_out=tuple((one.chunks, one.reason) for one in record.left_out or ()),
        families=_families(record, topology),
        timed=tuple(Part(one.instance, one.algorithm) for one in solved[len(points) :]),
        counts_members=int(record.schema.rpartition("/")[2]) >= 4,
    )
    stated = frontier.max_chunks if bounds.max_chunks is UNSET else bounds.max_chunks
    if stated != frontier.max_chunks:
        raise VerificationError(
            f"the bounds are stated for {_up_to(stated)}, and the chunks for "
            f"{_up_to(frontier.max_chunks)}"
        )
    return frontier


def _evidence(record: FrontierRecord) -> Evidence | None:
    if record.evidence is UNSET:
        return None
    proofs: dict[int, ProofRecord] = {}
    for i, point in enumerate(record.points):
        if point.proof is not UNSET and proofs.setdefault(point.steps, point.proof) != point.proof:
            raise VerificationError(f"points[{i}]: another point of its steps has another proof")
    listed = [*proofs.items(), *((one.steps, one.proof) for one in record.between or ())]
    grains = record.interconnect.grains or 1
    return evidence_of(record.evidence, listed, record.nodes, grains)


def _families(record: FrontierRecord, topology: Topology) -> tuple[Family, ...]:
    families = []
    for i, one in enumerate(record.families or ()):
        family = family_of(one, topology, record.collective)
        try:
            require_family(family)
        except VerificationError as error:
            raise VerificationError(f"families[{i}]: {error}") from error
        families.append(family)
    return tuple(families)


def _require_consistent(
    where: str, point: Point, earlier: Sequence[Point], record: FrontierRecord
) -> None:
    bounds = record.bounds
    if point.steps < bounds.steps or point.bandwidth < bounds.bandwidth:
        raise VerificationError(
            f"{where} costs ({point.steps}, {point.bandwidth}), below the file's bounds "
            f"({bounds.steps}, {bounds.bandwidth})"
        )
    if point.bound is not None and point.bandwidth < point.bound:
        raise VerificationError(
            f"{where} has bandwidth cost {point.bandwidth}, below its bound {point.bound}"
        )
    stated = record.points[len(earlier)].messages
    if stated not in (UNSET, point.messages):
        raise VerificationError(f"{where} has {point.messages} messages, and states {stated}")
    for i, other in enumerate(earlier):
        counted = UNSET not in (stated, record.points[i].messages)
        pairs = (other, point), (point, other)
        if any(a.dominates(b) if counted else a.costs_no_more(b) for a, b in pairs):
            raise VerificationError(f"{where} and points[{i}]: one dominates the other")


def _up_to(most: int | None) -> str:
    return "every C" if most is None else f"C up to {most}"
