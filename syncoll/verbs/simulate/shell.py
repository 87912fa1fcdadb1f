"""The shell's part of simulations: traces."""

import argparse

import syncoll
from syncoll.cli import command, print_text
from syncoll.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file = arguments.trace
    for one in filter(None, (file, arguments.floors)):
        from syncoll.documents import require_writable

        require_writable(one)
    if file is None and arguments.trace_of:
        raise UsageError("--trace-of needs --trace, the file to write")

    def then(found: "syncoll.SimulationResult") -> None:
        if arguments.floors is not None:
            found.save_floors(arguments.floors)
        if file is not None:
            names = found.trace(file, arguments.trace_size, arguments.trace_of)
            if arguments.format != "json":
                print_text(f"{' and '.join(names)} traced in {file}")

    return command.run(arguments, then)
