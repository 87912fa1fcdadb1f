"""Files whose algorithms passed the verifier, without the code that reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance, Topology
from syncoll.results.frontier import Costs, Frontier

__all__ = ["StoredAlgorithm", "StoredFile"]


@dataclass(frozen=True, eq=False)
class StoredAlgorithm(Costs):
    """A verified algorithm from a file; `where` is its place, such as ``points[1]``, and `claim`
    the proved bound of the file, see `syncoll.results.Point.claim`.  For a file of another tool
    without steps, `derived` is a sentence on their origin."""

    instance: Instance
    algorithm: Algorithm
    where: str
    claim: str = ""
    derived: str = ""


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A file whose algorithms all passed the verifier.

    Args:
        kind: ``frontier``, ``outcome``, ``algorithm`` or ``refutation``.
        topology: the interconnect in the file.
        collective: its name.
        algorithms: in the order of the file; none for an outcome that is not sat.
        instances: the problems, those without an algorithm included.
        document: everything as read.
        frontier: the frontier, if the file is one.
    """

    kind: str
    topology: Topology
    collective: str
    algorithms: tuple[StoredAlgorithm, ...]
    instances: tuple[Instance, ...]
    document: Mapping[str, Any]
    frontier: Frontier | None = None

    def claims(self) -> Frontier:
        """The frontier, whose claims `syncoll.trust.claims.check_claims` checks.  Raises
        `VerificationError` if the file is no frontier, or was changed by accident."""
        if self.frontier is None:
            raise VerificationError(
                f"this is not a frontier but an {self.kind}; it makes no claim to check"
            )
        from syncoll.documents.document import digest

        if self.document.get("digest", digest(self.document)) != digest(self.document):
            raise VerificationError("the file was changed after it was written: its digest differs")
        return self.frontier
