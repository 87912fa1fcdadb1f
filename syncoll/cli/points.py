"""Which algorithms of a file a command takes: all, a point, or a member of a pipeline."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from syncoll.cli.options import add
from syncoll.documents import StoredAlgorithm, StoredFile
from syncoll.errors import UsageError
from syncoll.results import Family

__all__ = ["add_point", "chosen"]


def add_point(parser: argparse.ArgumentParser) -> None:
    """The option for one of them."""
    about = "one algorithm: its number from 0, or S,R,C, of a member of a pipeline too"
    add(parser, {"--point POINT": (_point, f"{about} (default: all but members)")})


def _point(text: str) -> tuple[int, ...]:
    """A number, or S, R and C."""
    match = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*,\s*([0-9]{1,9})\s*,\s*([0-9]{1,9}))?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a point; write its number from 0, or S,R,C such as 3,7,6"
        )
    return tuple(int(part) for part in match.groups() if part is not None)


def chosen(
    stored: StoredFile, point: tuple[int, ...] | None, path: Path, verb: str
) -> tuple[StoredAlgorithm, ...]:
    """The algorithms that were asked for; `verb`: what is done with them.

    Raises:
        UsageError: when there are none, or not the one that was asked for.
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


def _costs(family: Family, m: int) -> tuple[int, int, int]:
    return family.steps.at(m), family.rounds_needed.at(m), family.chunks.at(m)
