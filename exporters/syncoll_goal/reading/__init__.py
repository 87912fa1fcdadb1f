"""Reads GOAL schedules as ``txt2bin`` does, with no help of what wrote them."""

from syncoll_goal.reading.notes import Notes
from syncoll_goal.reading.schedule import GoalSchedule, read_schedule

__all__ = ["GoalSchedule", "Notes", "read_schedule"]
