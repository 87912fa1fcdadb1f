"""The limits of the MSCCL++ runtime.

Facts alone, taken from its sources: the writer and the checker share no code, and both look them up
here.
"""

__all__ = [
    "MOST_BUFFERS",
    "MOST_CHANNELS",
    "MOST_MIN_SIZE",
    "MOST_OPERATIONS",
    "MOST_TABLE",
    "VECTOR",
]

MOST_OPERATIONS = 64
"""Of one thread block."""

MOST_TABLE = 16
"""Channels of a type, and remote buffers by a type of access, of one thread block."""

MOST_CHANNELS = 8
"""Channels of one operation."""

MOST_BUFFERS = 10
"""Sources, and targets, of one operation."""

MOST_MIN_SIZE = (1 << 31) - 1
"""The smallest message of a plan is read as a signed number of 32 bits."""

VECTOR = 16
"""Bytes that a reduction works on at a time; it rounds offsets down to them."""
