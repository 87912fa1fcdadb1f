"""Reads what a tool printed about a machine, or a topology file of another project, and writes a
spec of it: readable, to be edited, with what was assumed as comments.  `syncoll plugins --options`
lists the importers with their options.

  nvidia-smi topo -m | syncoll import nvidia-smi - -o my-machine.syncoll
  syncoll import nvidia-smi topo.txt --name dgx --option gpu=h100 > dgx.syncoll
  syncoll pareto my-machine.syncoll allgather

Every command that takes a machine also takes NAME:FILE, with options in parentheses:

  syncoll pareto nvidia-smi:topo.txt allgather
  syncoll pareto "nvidia-smi(gpu=b200,pcie=no):topo.txt" allgather
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import syncoll
from syncoll.cli.arguments import STANDARD_OUTPUT
from syncoll.cli.exits import Exit
from syncoll.cli.options import Declared, add
from syncoll.cli.output import note, write
from syncoll.documents import write_atomically
from syncoll.errors import UsageError
from syncoll.plugins import parse_options

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared: Declared = {
        "importer NAME": "such as nvidia-smi; `syncoll plugins` lists them",
        "file FILE": (str, "what the tool printed; - for standard input"),
        "-o, --output FILE": "write the spec to a file (default: -, standard output)",
        "--name NAME": "of the topology (default: made from the file's name)",
        "--option NAME=VALUE ...": "an option of the importer, such as link=25GB/s; repeatable",
    }
    add(parser, declared)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file = arguments.file
    options = parse_options(arguments.option)
    spec = syncoll.import_topology(arguments.importer, file, name=arguments.name, options=options)
    if arguments.output in (None, STANDARD_OUTPUT):
        write(sys.stdout, spec)
        return Exit.OK
    path: Path = arguments.output
    if file != "-" and path.exists() and path.samefile(file):
        raise UsageError(f"{path} is the file that is imported; name another one for the spec")
    write_atomically(path, spec.encode())
    note(f"saved in {path}")
    return Exit.OK
