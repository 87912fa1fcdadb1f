"""Reads files and verifies every algorithm in them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from syncoll.documents.document import KINDS, Document, parse_document, read_document
from syncoll.documents.frontier import frontier_of
from syncoll.documents.problem import algorithm_of, instance_of, topology_of
from syncoll.documents.stored_file import StoredAlgorithm, StoredFile
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.model import Instance
from syncoll.progress import tracked
from syncoll.trust import require_valid


def read_file(path: Path, kinds: Sequence[str] = KINDS, taker: str = "") -> StoredFile:
    """Reads a file and verifies every algorithm in it.

    Args:
        kinds: the expected kinds; all by default.
        taker: the verb that takes them, for errors.

    Raises:
        FileFormatError: if it is no file of syncoll, or contradicts itself.
        VerificationError: if an algorithm does not solve its problem.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from syncoll.documents import algorithm_document, read_file, write_document
        >>> from syncoll.model import Algorithm, Instance, Topology
        >>> line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> broadcast = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])
        >>> along = Algorithm((1, 1), [[0, 0, 1, 0], [0, 1, 2, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "broadcast.json")
        ...     write_document(file, algorithm_document(broadcast, along))
        ...     [stored] = read_file(file).algorithms
        >>> stored.instance.collective, stored.algorithm.sends.tolist()
        ('broadcast', [[0, 0, 1, 0], [0, 1, 2, 1]])
    """
    return _load(read_document(path, kinds, taker), str(path))


def load_text(text: str, name: str) -> StoredFile:
    """Reads a text as `read_file`; `name` stands in errors."""
    return _load(parse_document(text, name), name)


def _load(document: Document, name: str) -> StoredFile:
    kind, _, record = document
    stored: list[StoredAlgorithm] = []
    instances: list[Instance] = []
    frontier, where = None, "interconnect"
    problems = {kind: record}
    if kind == "frontier":
        problems = {f"points[{i}]": one for i, one in enumerate(record.points)}
        problems |= {f"timed[{i}]": one for i, one in enumerate(record.timed or ())}
    try:
        topology = topology_of(record)
        for where, problem in tracked(problems.items(), lambda one: f"replaying {one[0]}"):
            instances.append(instance_of(problem, topology, record.collective))
            found = getattr(problem, "algorithm", None)
            if found is not None:  # as in a refutation
                algorithm = algorithm_of(found, topology)
                require_valid(instances[-1], algorithm)
                stored.append(StoredAlgorithm(instances[-1], algorithm, where))
        if kind == "frontier":
            where = kind
            frontier = frontier_of(record, topology, stored)
            claims = [point.claim(frontier.max_chunks) for point in frontier.points]
            claims += [""] * len(frontier.timed)
            stored = [replace(a, claim=b) for a, b in zip(stored, claims, strict=True)]
    except VerificationError as error:
        raise VerificationError(f"{name}: {where}: {error}") from error
    except (FileFormatError, ModelError) as error:
        raise FileFormatError(f"{name}: {where}: {error}") from error
    return StoredFile(
        kind,
        topology,
        record.collective,
        tuple(stored),
        tuple(instances),
        document.entries,
        frontier,
    )
