"""The shell's part of imports."""

import argparse
import sys

from syncoll.cli import STANDARD_OUTPUT, Exit, ask, note, write
from syncoll.documents import write_atomically
from syncoll.errors import UsageError
from syncoll.planning import picture_format
from syncoll.plugins import parse_options
from syncoll.reporting.displays import drawing_of
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file, path, plot = arguments.file, arguments.output, arguments.plot
    style = None if plot is None else picture_format(plot)
    spec = ask(arguments, options=parse_options(arguments.option))
    if plot is not None and style is not None:
        machine = SpecLibrary.load((), {"import": lambda *_: spec}).topology("import:spec")
        write_atomically(plot, drawing_of(as_topology(machine), switched=True).content(style))
        note(f"drawn in {plot}")
    if path in (None, STANDARD_OUTPUT):
        write(sys.stdout, spec)
        return Exit.OK
    if str(file) != "-" and path.exists() and path.samefile(file):
        raise UsageError(f"{path} is the file that is imported; name another one for the spec")
    write_atomically(path, spec.encode())
    note(f"saved in {path}")
    return Exit.OK
