"""Checks files: ``python -m syncoll_check [--claims] FILE...``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import FileError, WrongError, check


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m syncoll_check",
        description="Checks all claims of frontiers, bounds, forests and floors saved by syncoll. "
        "Exit codes: 0 all accepted; 1 a claim is refused; 2 a file cannot be read.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--claims", action="store_true", help="print each claim that is accepted")
    chosen = parser.parse_args(arguments)
    return max(_check(file, chosen.claims) for file in chosen.files)


def _check(file: Path, claims: bool) -> int:
    try:
        found = check(file.read_bytes())
    except (OSError, FileError, WrongError) as error:
        refused = isinstance(error, WrongError)
        what = error.strerror if isinstance(error, OSError) else error
        sys.stderr.write(f"{file}: {'refused: ' if refused else ''}{what}\n")
        return 1 if refused else 2
    left = "".join(f"; not checked: {what}" for _, what in found.unchecked())
    lines = [f"{file}: accepted: {len(found.accepted)} claims{left}"]
    lines += [f"  accepted: {claim}" for claim in found.accepted if claims]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
