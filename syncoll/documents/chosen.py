"""A choice of the algorithms of a file: all, a point, or a member of a pipeline."""

from pathlib import Path

from syncoll.documents.stored_file import StoredAlgorithm, StoredFile
from syncoll.errors import UsageError
from syncoll.model.grains import Rounds
from syncoll.results import Family

__all__ = ["chosen"]


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
            member = family.member(m)
            where = f"families[{number}].member({m})"
            return (StoredAlgorithm(member.instance, member.algorithm, where),)
    wanted = ",".join(map(str, point))
    there = " ".join(",".join(map(str, cost)) for cost in costs)
    more = "".join(f"; or a member: {family.words}" for family in families)
    raise UsageError(
        f"{path}: there is no point {wanted}; expected a number from 0 to "
        f"{len(stored.algorithms) - 1}, or S,R,C, one of: {there}{more}"
    )


def _costs(family: Family, m: int) -> tuple[int, Rounds, int]:
    return family.steps.at(m), family.rounds_needed.at(m), family.chunks.at(m)
