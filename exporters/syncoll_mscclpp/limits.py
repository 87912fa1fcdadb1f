"""The limits of the MSCCL++ runtime.

Data only, from its sources, for the writer and the checker, which share no code.
"""

MOST_OPERATIONS = 64
"""Most operations of one thread block."""

MOST_TABLE = 16
"""Most channels of a type, and remote buffers by a type of access, of one thread block."""

MOST_CHANNELS = 8
"""Most channels of one operation."""

MOST_BUFFERS = 10
"""Most sources, and targets, of one operation."""

MOST_FILE = 1 << 16
"""The bytes of a file, for each rank, above which fewer thread blocks are better.  Every rank
parses the whole file; plans of the runtime's own have a few kilobytes."""

MOST_MIN_SIZE = (1 << 31) - 1
"""The largest min_message_size, which is read as a signed number of 32 bits."""

VECTOR = 16
"""Bytes that a reduction works on at a time; it rounds offsets down to them."""
