"""Reads traces with a schema of its own, independent of the writer's."""

from syncoll_chakra.reading.trace import Trace, read_trace

__all__ = ["Trace", "read_trace"]
