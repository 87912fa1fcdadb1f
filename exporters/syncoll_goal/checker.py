"""Checks GOAL schedules: reads them, plays all ranks together, and follows the data.

Schedules of other tools do not state the contents of their messages.  Everything else of them is
checked, and the facts say that the data were not followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_goal.reading import read_schedule
from syncoll_messages import checked, require_told

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
        graphs, notes = read_schedule(content, where)
        expected = notes.expected(len(graphs))
        if expected is not None:
            require_told(expected, notes.collective, where)
        # LogGOPSim makes sends of messages above a size that its user sets wait.
        return checked("GOAL", graphs, expected, instance, rendezvous=True)
