"""Checks GOAL schedules: reads them, plays all ranks together, and follows the data.

Schedules of other tools do not state the contents of their messages.  Everything else of them is
checked, and the facts say that the data were not followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_goal.reading import read_schedule
from syncoll_messages import (
    Played,
    RankGraph,
    play,
    require_achieved,
    require_same,
    require_told,
    summary,
)

__all__ = ["GoalChecker"]


class GoalChecker:
    """Reads schedules as txt2bin does, and plays them."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; of a schedule without a stated purpose, only the end
        of all ranks and the receipt of all messages are checked.
        """
        ((where, content),) = files.items()
        schedule = read_schedule(content, where)
        graphs = schedule.graphs
        expected = schedule.notes.expected(len(graphs))
        if expected is not None:
            require_told(expected, schedule.notes.collective, where)
        if instance is not None:
            require_same(graphs, expected, instance)
        played, rendezvous = _played(graphs)
        if expected is not None:
            require_achieved(graphs, played, expected)
        return summary("GOAL", graphs, expected, {"rendezvous": rendezvous})


def _played(graphs: list[RankGraph]) -> tuple[Played, str]:
    """The execution, and whether it needs sends that do not wait for their receives.

    LogGOPSim makes sends of messages above a size that its user sets wait.  A schedule that ends
    with all sends waiting ends for any size.
    """
    try:
        return play(graphs, rendezvous=True), "ends whether sends wait for their receives or not"
    except VerificationError as error:
        played = play(graphs)
        return played, f"ends only where sends do not wait for their receives: {error}"
