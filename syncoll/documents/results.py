"""Frontiers, outcomes and algorithms to documents and back, claims checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import syncoll
from syncoll.documents.atomic import write_atomically
from syncoll.documents.document import (
    VERSION,
    digest,
    parse_document,
    read_document,
)
from syncoll.documents.evidence import (
    evidence_from_json,
    evidence_to_json,
    proof_to_json,
)
from syncoll.documents.layout import (
    algorithm_from_json,
    algorithm_to_json,
    fraction_from_json,
    instance_from_json,
    instance_to_json,
    interconnect_to_json,
    topology_from_json,
)
from syncoll.documents.text import to_text
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.formula import StopReason
from syncoll.model import Algorithm, Instance, Topology
from syncoll.results import (
    Frontier,
    OpenClaim,
    Point,
    Solution,
)
from syncoll.trust import require_valid

__all__ = [
    "StoredAlgorithm",
    "StoredFile",
    "algorithm_document",
    "frontier_document",
    "load_text",
    "outcome_document",
    "read_file",
    "write_document",
]

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class StoredAlgorithm:
    """A verified algorithm out of a file.

    Args:
        instance: what it solves.
        algorithm: passed the verifier.
        where: its place in the file, such as ``points[1]``.
    """

    instance: Instance
    algorithm: Algorithm
    where: str


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A file whose algorithms all passed the verifier.

    Args:
        kind: ``frontier``, ``outcome`` or ``algorithm``.
        topology: the interconnect in the file.
        collective: its name.
        algorithms: in the order of the file; none for an outcome that is not sat.
        instances: the problems, those without an algorithm included.
        document: everything as read.
        frontier: for a frontier.
    """

    kind: str
    topology: Topology
    collective: str
    algorithms: tuple[StoredAlgorithm, ...]
    instances: tuple[Instance, ...]
    document: Mapping[str, Any]
    frontier: Frontier | None = None

    def claims(self) -> Frontier:
        """The frontier, whose claims `syncoll.trust.claims.check_claims` checks.

        Raises:
            VerificationError: when the file is something else, or was changed by accident.
        """
        if self.frontier is None:
            raise VerificationError(
                f"this is no frontier but an {self.kind}; it makes no claim to check"
            )
        if self.document.get("digest", digest(self.document)) != digest(self.document):
            raise VerificationError("the file was changed after it was written: its digest differs")
        return self.frontier


def _head(kind: str, topology: Topology, collective: str) -> Json:
    return {
        "schema": f"syncoll/{kind}/{VERSION}",
        "version": syncoll.__version__,
        "topology": topology.name,
        "collective": collective,
        "nodes": topology.num_nodes,
    }


def frontier_document(frontier: Frontier) -> Json:
    """A frontier as the document ``syncoll/frontier/1``."""
    evidence = frontier.evidence
    document = {
        **_head("frontier", frontier.topology, frontier.collective),
        "bounds": {
            "steps": frontier.least_steps,
            "bandwidth": str(frontier.least_bandwidth),
            "max_chunks": frontier.max_chunks,
        },
        "search": {**frontier.settings, "scope": frontier.scope},
        "points": [_point(point, frontier) for point in frontier.points],
        "open": [
            {
                "steps": [claim.least_steps, claim.most_steps],
                "bandwidth": [str(claim.low), None if claim.high is None else str(claim.high)],
                "reason": claim.reason,
            }
            for claim in frontier.open
        ],
        **({"left_out": _left_out(frontier)} if frontier.left_out else {}),
        "complete": frontier.complete,
        "interrupted": frontier.interrupted,
        "seconds": round(frontier.seconds, 6),
        "interconnect": interconnect_to_json(frontier.topology),
    }
    if evidence is not None:
        with_point = {point.steps for point in frontier.points}
        document["between"] = [
            {"steps": proof.steps, "proof": proof_to_json(proof, evidence)}
            for proof in evidence.proofs
            if proof.steps not in with_point
        ]
        document["evidence"] = evidence_to_json(evidence)
    return {**document, "digest": digest(document)}


def _left_out(frontier: Frontier) -> list[Json]:
    return [{"chunks": chunks, "reason": reason} for chunks, reason in frontier.left_out]


def _point(point: Point, frontier: Frontier) -> Json:
    size = {}
    if point.size is not None:
        size = {"variables": point.size.variables, "constraints": point.size.constraints}
    proof, proved = frontier.proof(point), {}
    if frontier.evidence is not None and proof is not None:
        proved = {"proof": proof_to_json(proof, frontier.evidence)}
    instance = instance_to_json(point.instance)
    classes = instance.pop("chunk_classes")
    return {
        **instance,
        "status": "verified",
        "encoding": point.encoding,
        "backend": point.backend,
        "seconds": round(point.seconds, 6),
        "bound": None if point.bound is None else str(point.bound),
        **proved,
        **size,
        "algorithm": algorithm_to_json(point.algorithm),
        "chunk_classes": classes,
    }


def outcome_document(solution: Solution) -> Json:
    """A solution as the document ``syncoll/outcome/1``."""
    instance, outcome = solution.instance, solution.outcome
    algorithm = solution.algorithm
    numbers = instance_to_json(instance)
    classes = numbers.pop("chunk_classes")
    return {
        **_head("outcome", instance.topology, instance.collective),
        **numbers,
        "verdict": str(outcome.verdict),
        "status": "verified" if algorithm is not None else None,
        "reason": str(outcome.reason),
        "message": outcome.message,
        "encoding": solution.encoding,
        "backend": solution.backend,
        "seconds": round(solution.total_seconds, 6),
        "phases": {name: round(value, 6) for name, value in solution.seconds.items()},
        **_size(solution),
        "algorithm": None if algorithm is None else algorithm_to_json(algorithm),
        "chunk_classes": classes,
        "interconnect": interconnect_to_json(instance.topology),
    }


def _size(solution: Solution) -> Json:
    """Of the formula; nothing when the answer was interrupted before there was one."""
    size = solution.size
    if solution.outcome.reason is StopReason.INTERRUPTED and not size.variables + size.constraints:
        return {}
    return {"variables": size.variables, "constraints": size.constraints}


def algorithm_document(instance: Instance, algorithm: Algorithm) -> Json:
    """An algorithm with its problem as the document ``syncoll/algorithm/1``.

    Raises:
        VerificationError: when the algorithm does not solve the instance.
    """
    require_valid(instance, algorithm)
    return {
        **_head("algorithm", instance.topology, instance.collective),
        **instance_to_json(instance),
        "algorithm": algorithm_to_json(algorithm),
        "interconnect": interconnect_to_json(instance.topology),
    }


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a document atomically.

    Raises:
        UsageError: when the file cannot be written there.
    """
    write_atomically(path, to_text(dict(document)) + "\n")


def read_file(path: Path) -> StoredFile:
    """Reads a file and verifies every algorithm in it.

    Raises:
        FileFormatError: when it is no file of ours, or contradicts itself.
        VerificationError: when an algorithm does not do what the file says it does.

    Examples:
        >>> from syncoll.api import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> import tempfile
        >>> from syncoll.documents import algorithm_document, read_file, write_document
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "broadcast.json")
        ...     write_document(file, algorithm_document(broadcast, along))
        ...     [stored] = read_file(file).algorithms
        >>> stored.instance.collective, stored.algorithm.sends.tolist()
        ('broadcast', [[0, 0, 1, 0], [0, 1, 2, 1]])
    """
    kind, document = read_document(path)
    return _load(kind, document, str(path))


def load_text(text: str, name: str) -> StoredFile:
    """The same for a text; `name` stands in errors."""
    kind, document = parse_document(text, name)
    return _load(kind, document, name)


def _load(kind: str, document: Json, name: str) -> StoredFile:
    where = "interconnect"
    try:
        topology = topology_from_json(document)
        stored: list[StoredAlgorithm] = []
        unsolved: list[Instance] = []
        frontier = None
        if kind == "frontier":
            for i, point in enumerate(document["points"]):
                where = f"points[{i}]"
                stored.append(_stored(point, topology, document["collective"], where))
            where = "frontier"
            frontier = _frontier(document, topology, stored)
        else:
            where = kind
            if document.get("algorithm") is None:  # as in a refutation
                unsolved.append(instance_from_json(document, topology, document["collective"]))
            else:
                stored.append(_stored(document, topology, document["collective"], where))
    except VerificationError as error:
        raise VerificationError(f"{name}: {where}: {error}") from error
    except (FileFormatError, ModelError) as error:
        raise FileFormatError(f"{name}: {where}: {error}") from error
    instances = (*(one.instance for one in stored), *unsolved)
    return StoredFile(
        kind, topology, document["collective"], tuple(stored), instances, document, frontier
    )


def _stored(
    document: Mapping[str, Any], topology: Topology, collective: str, where: str
) -> StoredAlgorithm:
    instance = instance_from_json(document, topology, collective)
    algorithm = algorithm_from_json(document["algorithm"], topology.num_nodes)
    require_valid(instance, algorithm)
    return StoredAlgorithm(instance, algorithm, where)


def _frontier(
    document: Mapping[str, Any], topology: Topology, stored: list[StoredAlgorithm]
) -> Frontier:
    points: list[Point] = []
    least_steps = document["bounds"]["steps"]
    least_bandwidth = fraction_from_json(document["bounds"]["bandwidth"])
    for one, entry in zip(stored, document["points"], strict=True):
        bound = entry.get("bound")
        point = Point(
            one.instance,
            one.algorithm,
            entry["encoding"],
            entry["backend"],
            entry["seconds"],
            bound=None if bound is None else fraction_from_json(bound),
        )
        if point.steps < least_steps or point.bandwidth < least_bandwidth:
            raise VerificationError(
                f"{one.where} costs ({point.steps}, {point.bandwidth}), below the file's bounds "
                f"({least_steps}, {least_bandwidth})"
            )
        if point.bound is not None and point.bandwidth < point.bound:
            raise VerificationError(
                f"{one.where} has bandwidth cost {point.bandwidth}, below its bound {point.bound}"
            )
        for other in points:
            if other.dominates(point) or point.dominates(other):
                raise VerificationError(f"{one.where} and an earlier point dominate one another")
        points.append(point)
    frontier = Frontier(
        topology,
        document["collective"],
        tuple(points),
        tuple(
            OpenClaim(
                claim["steps"][0],
                claim["steps"][1],
                fraction_from_json(claim["bandwidth"][0]),
                None
                if claim["bandwidth"][1] is None
                else fraction_from_json(claim["bandwidth"][1]),
                claim["reason"],
            )
            for claim in document["open"]
        ),
        document["search"]["scope"],
        {key: value for key, value in document["search"].items() if key != "scope"},
        least_steps,
        least_bandwidth,
        document["complete"],
        document["interrupted"],
        document["seconds"],
        evidence_from_json(document, topology.num_nodes) if "evidence" in document else None,
        left_out=tuple((one["chunks"], one["reason"]) for one in document.get("left_out", ())),
    )
    stated = document["bounds"].get("max_chunks", frontier.max_chunks)
    if stated != frontier.max_chunks:
        raise VerificationError(
            f"the bounds are said to hold for {_up_to(stated)}; what is known of the chunks is "
            f"for {_up_to(frontier.max_chunks)}"
        )
    return frontier


def _up_to(most: int | None) -> str:
    return "every C" if most is None else f"C up to {most}"
