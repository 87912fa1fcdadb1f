"""Reads GOAL schedules as ``txt2bin`` does, independently of the writer."""

from syncoll_goal.reading.notes import Notes
from syncoll_goal.reading.schedule import GoalSchedule, read_schedule

__all__ = ["GoalSchedule", "Notes", "read_schedule"]
