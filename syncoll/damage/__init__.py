"""Broken and slower parts of a machine, and the machine without them.

The spec language writes damages after ``without`` and ``with``; a repair takes them as options.
"""
