"""Reads GOAL schedules as ``txt2bin`` does, with no help of what wrote them."""

from syncoll_goal.reading.notes import Notes
from syncoll_goal.reading.schedule import Schedule, read_schedule

__all__ = ["Notes", "Schedule", "read_schedule"]
