"""Files whose algorithms passed the verifier, without the code that reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncoll.errors import UsageError, VerificationError
from syncoll.model import Algorithm, Instance, Topology
from syncoll.model.grains import Rounds
from syncoll.results import Costs, Family, Frontier


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


def stored_member(family: Family, number: int, m: int) -> StoredAlgorithm:
    """Member m of a family, which has this number in the frontier, as an algorithm of a file."""
    member = family.member(m)
    where = f"families[{number}].member({m})"
    return StoredAlgorithm(member.instance, member.algorithm, where)


def chosen(
    stored: StoredFile, point: tuple[Rounds, ...] | None, path: Path, verb: str
) -> tuple[StoredAlgorithm, ...]:
    """The algorithms of a file, or one of them; `verb`: of messages.

    Raises `UsageError` if the file has no algorithms, or not the given one.
    """
    families = () if stored.frontier is None else stored.frontier.families
    if not stored.algorithms and not families:
        raise UsageError(f"{path}: no algorithm in it; nothing to {verb}")
    if point is None:
        return stored.algorithms
    if len(point) == 1 and point[0] < len(stored.algorithms):
        return (stored.algorithms[point[0]],)
    costs = {
        (one.instance.steps, one.instance.rounds, one.instance.chunks): one
        for one in stored.algorithms
    }
    if found := [one for cost, one in costs.items() if cost == point]:
        return tuple(found)
    for number, family in enumerate(families):
        m = None if len(point) == 1 else family.within(point[0])
        if m is not None and _costs(family, m) == point:
            return (stored_member(family, number, m),)
    wanted = ",".join(map(str, point))
    there = " ".join(",".join(map(str, cost)) for cost in costs)
    more = "".join(f"; or a member: {family.words}" for family in families)
    raise UsageError(
        f"{path}: there is no point {wanted}; expected a number from 0 to "
        f"{len(stored.algorithms) - 1}, or S,R,C, one of: {there}{more}"
    )


def _costs(family: Family, m: int) -> tuple[int, Rounds, int]:
    return family.steps.at(m), family.rounds_needed.at(m), family.chunks.at(m)
