"""``syncoll import NAME FILE``: a tool's description of a machine as a spec."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.arguments import STANDARD_OUTPUT, Subparsers, output_file
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_DESCRIPTION = """\
Reads what a tool printed about a machine, or a topology file of another project, and writes a spec
of it: readable, to be edited, with what was assumed as comments.  `syncoll plugins --options` lists
the importers with their options.

  nvidia-smi topo -m | syncoll import nvidia-smi - -o my-machine.syncoll
  syncoll import nvidia-smi topo.txt --name dgx --option gpu=h100 > dgx.syncoll
  syncoll pareto my-machine.syncoll allgather

Every command that takes a machine also takes NAME:FILE, with options in parentheses:

  syncoll pareto nvidia-smi:topo.txt allgather
  syncoll pareto "nvidia-smi(gpu=b200,pcie=no):topo.txt" allgather
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "import",
        help="a machine's description from another tool as a spec",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "importer", metavar="NAME", help="such as nvidia-smi; `syncoll plugins` lists them"
    )
    parser.add_argument("file", metavar="FILE", help="what the tool printed; - for standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=output_file,
        help="write the spec to a file (default: -, standard output)",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="of the topology (default: made from the file's name)"
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the importer, such as link=25GB/s; repeatable",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    import sys

    from syncoll.cli.output import note, write
    from syncoll.documents import write_atomically
    from syncoll.errors import UsageError
    from syncoll.importing import import_spec, read_description
    from syncoll.plugins import parse_options, resolve_options

    plugins = arguments.session.plugins
    record = plugins.importers[arguments.importer]
    given = parse_options(arguments.option)
    resolve_options(record.options, given, f"importer {record.name}")
    if arguments.name is not None and not arguments.name:
        raise UsageError("the name of the topology is empty")
    text = read_description(arguments.file)
    label = "standard input" if arguments.file == "-" else arguments.file
    spec = import_spec(
        record, text, label, given, name=arguments.name or "", others=plugins.importers
    )
    if arguments.output in (None, STANDARD_OUTPUT):
        write(sys.stdout, spec)
        return Exit.OK
    path: Path = arguments.output
    if arguments.file != "-" and path.exists() and path.samefile(arguments.file):
        raise UsageError(f"{path} is the file that is imported; name another one for the spec")
    write_atomically(path, spec.encode())
    note(f"saved in {path}")
    return Exit.OK
