"""Writes a frontier as a file; reading does not import this module."""

from typing import Any

from msgspec import UNSET

from syncoll.documents.document import digest
from syncoll.documents.evidence import evidence_record, proof_record
from syncoll.documents.families import family_record, part_record
from syncoll.documents.frontier import (
    BetweenRecord,
    BoundsRecord,
    FrontierRecord,
    LeftOutRecord,
    OpenRecord,
    PointRecord,
)
from syncoll.documents.json_text import collected_later
from syncoll.documents.versions import versioned
from syncoll.documents.written_problem import algorithm_record, file_entries, problem_entries
from syncoll.results.frontier import Frontier, Point


@collected_later()
def frontier_document(frontier: Frontier) -> dict[str, Any]:
    """A frontier as a document ``syncoll/frontier/N``."""
    evidence, nodes = frontier.evidence, frontier.topology.num_nodes
    at_points = {point.steps for point in frontier.points}
    record = FrontierRecord.of(
        frontier,
        **file_entries(frontier.topology, frontier.collective),
        bounds=BoundsRecord(frontier.least_steps, frontier.least_bandwidth, frontier.max_chunks),
        search={**frontier.settings, "scope": frontier.scope},
        points=tuple(_point_record(point, frontier) for point in frontier.points),
        open=tuple(
            OpenRecord((one.least_steps, one.most_steps), (one.low, one.high), one.reason)
            for one in frontier.open
        ),
        left_out=tuple(LeftOutRecord(*one) for one in frontier.left_out) or UNSET,
        families=tuple(map(family_record, frontier.families)) or UNSET,
        timed=tuple(map(part_record, frontier.timed)) or UNSET,
        digest=UNSET,
        seconds=round(frontier.seconds, 6),
        between=UNSET
        if evidence is None
        else tuple(
            BetweenRecord(proof.steps, proof_record(proof, evidence))
            for proof in evidence.proofs
            if proof.steps not in at_points
        ),
        evidence=UNSET if evidence is None else evidence_record(evidence, nodes),
    )
    counted = bool(frontier.families) and frontier.counts_members
    has_simple = len(frontier.best) < len(frontier.points)
    document = versioned("frontier", record, 7 if has_simple else 4 if counted else 1)
    return {**document, "digest": digest(document)}


def _point_record(point: Point, frontier: Frontier) -> PointRecord:
    evidence, proof, size = frontier.evidence, frontier.proof(point), point.size
    # Runs need a version whose claims count the members of families.
    runs = not frontier.families or frontier.counts_members
    return PointRecord.of(
        point,
        **problem_entries(point.instance, runs=runs),
        status="verified",
        seconds=round(point.seconds, 6),
        proof=UNSET if evidence is None or proof is None else proof_record(proof, evidence),
        variables=UNSET if size is None else size.variables,
        constraints=UNSET if size is None else size.constraints,
        algorithm=algorithm_record(point.algorithm, runs=runs),
    )
