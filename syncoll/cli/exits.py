"""Exit codes of the command line, documented in the README and in ``syncoll --help``."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of commands."""

    OK = 0
    """Found, or proved."""
    IMPOSSIBLE = 1
    """Proved impossible (``solve`` with the verdict unsat, a search whose limits no algorithm can
    keep), or found to be wrong (``verify``)."""
    BAD_INPUT = 2
    """Bad input or usage."""
    UNDECIDED = 3
    """Stopped by a limit with nothing decided."""
    UNCHECKED = 4
    """Nothing was found to be wrong, but not everything that a file claims could be checked."""
    BUG = 70
    """A bug of syncoll's own.  Python's usual 1 would claim a proof."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""
