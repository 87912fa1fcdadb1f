"""The shell's part of imports."""

import argparse
import re
import sys
from pathlib import Path

from syncoll.cli import STANDARD_OUTPUT, Exit, ask, note, write
from syncoll.documents import write_atomically
from syncoll.errors import UsageError
from syncoll.plugins import parse_options


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    path = arguments.output
    file = arguments.file or re.sub(r"^[^(:]*(\([^()]*\)\s*)?:\s*", "", arguments.importer)
    spec = ask(arguments, options=parse_options(arguments.option))
    if arguments.plot is not None:
        _draw(spec, arguments.plot)
    if path in (None, STANDARD_OUTPUT):
        write(sys.stdout, spec)
        return Exit.OK
    if str(file) != "-" and path.exists() and path.samefile(file):
        raise UsageError(f"{path} is the file that is imported; name another one for the spec")
    write_atomically(path, spec.encode())
    note(f"saved in {path}")
    return Exit.OK


def _draw(spec: str, file: Path) -> None:
    from syncoll.reporting.displays import drawing_of
    from syncoll.routing import as_topology
    from syncoll.spec import SpecLibrary

    machine = SpecLibrary((), {"import": lambda *_: spec}).topology("import:spec")
    drawing_of(as_topology(machine), switched=True).save(file)
    note(f"drawn in {file}")
