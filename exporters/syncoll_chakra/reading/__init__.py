"""Reads traces with a schema of its own, with no help of what wrote them."""

from syncoll_chakra.reading.trace import Trace, read_trace

__all__ = ["Trace", "read_trace"]
