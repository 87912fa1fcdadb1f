"""Arguments that several commands share, and how they become objects."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError

if TYPE_CHECKING:
    from syncoll.formula import Limits
    from syncoll.model import Instance
    from syncoll.plugins import PluginManager
    from syncoll.solving import Solver, SolverSettings
    from syncoll.spec import SpecLibrary

__all__ = [
    "Subparsers",
    "add_format",
    "add_instance",
    "add_problem",
    "add_solver",
    "amount",
    "count",
    "duration",
    "library",
    "make_instance",
    "make_settings",
    "make_solver",
    "manager",
    "memory",
    "output_file",
]

Subparsers = argparse._SubParsersAction  # its public name does not exist

_MOST_SENDS = 50_000_000
"""Chunks x links x steps, above which the formula of an instance would not fit in memory."""


def duration(text: str) -> float:
    """Seconds from texts such as ``90``, ``1.5s``, ``2min``, ``1h``."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h)?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90, 1.5s, 2min or 1h")
    return float(match[1]) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[match[2]]


def memory(text: str) -> int:
    """Bytes from texts such as ``4GiB`` or ``500MB``."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of memory; write 4GiB or 500MB")
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def amount(text: str) -> int:
    """A whole number of at least 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 999999999")
    return int(text)


def count(text: str) -> int:
    """A whole number of at least 1."""
    if amount(text) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)


def output_file(text: str) -> Path:
    """The name of a file to write."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    return Path(text)


def add_problem(parser: argparse.ArgumentParser) -> None:
    """TOPOLOGY and COLLECTIVE."""
    parser.add_argument(
        "topology",
        metavar="TOPOLOGY",
        help='such as dgx1, "ring(8)", FILE:NAME, or IMPORTER:FILE such as nvidia-smi:topo.txt',
    )
    parser.add_argument(
        "collective", metavar="COLLECTIVE", help='such as allgather, "broadcast(root=3)", FILE:NAME'
    )


def add_instance(parser: argparse.ArgumentParser) -> None:
    """-C, -S and -R."""
    parser.add_argument(
        "-C",
        "--chunks",
        type=count,
        required=True,
        metavar="C",
        help="chunks into which one node's data is cut",
    )
    parser.add_argument(
        "-S", "--steps", type=amount, required=True, metavar="S", help="steps, at most"
    )
    parser.add_argument(
        "-R", "--rounds", type=amount, required=True, metavar="R", help="rounds, all steps together"
    )


def add_format(parser: argparse._ActionsContainer) -> None:
    """--format."""
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="json prints one object on standard output and nothing else (default: table)",
    )


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Encoding, backend, their options and limits."""
    group = parser.add_argument_group("solver")
    group.add_argument(
        "--encoding", metavar="NAME", help="how an instance becomes a formula (default: step)"
    )
    group.add_argument(
        "--backend",
        metavar="NAME",
        help="the solver; several at once as cpsat+pysat, of which the first to decide counts; "
        "auto for the best installed ones (default: auto)",
    )
    for what, more in (("encoding", ""), ("backend", ", as NAME or cpsat.NAME")):
        group.add_argument(
            f"--{what}-option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"an option of the {what}{more}; `syncoll plugins --options` lists them; "
            "repeatable",
        )
    group.add_argument(
        "--threads",
        type=count,
        metavar="N",
        help="of the solver, or of all at once together (default: the cores, from 2 to 8)",
    )
    group.add_argument(
        "--seed", type=amount, default=0, metavar="N", help="of the solver's choices (default: 0)"
    )
    group.add_argument(
        "--memory-limit",
        type=memory,
        metavar="SIZE",
        help="of each solver's process, such as 4GiB (default: none)",
    )


def manager() -> PluginManager:
    """The installed plugins."""
    from syncoll.plugins import PluginManager

    return PluginManager.discover()


def library(plugins: PluginManager) -> SpecLibrary:
    """The installed spec libraries, and the importers for references such as ``NAME:FILE``."""
    from syncoll.importing import readers
    from syncoll.spec import SpecLibrary

    folders = [record.folder for record in plugins.spec_libraries.values()]
    return SpecLibrary.load(folders, readers(plugins.importers))


def make_instance(arguments: argparse.Namespace, specs: SpecLibrary) -> Instance:
    """The instance that the arguments of `add_problem` and `add_instance` describe.

    Raises:
        UsageError: when its formula would be too large for any machine.
    """
    topology = specs.topology(arguments.topology)
    instance = specs.collective(arguments.collective).instantiate(
        topology, chunks=arguments.chunks, steps=arguments.steps, rounds=arguments.rounds
    )
    sends = instance.num_chunks * len(topology.links) * instance.steps
    if sends > _MOST_SENDS:
        raise UsageError(
            f"{instance.num_chunks} chunks on {len(topology.links)} links in {instance.steps} steps"
            f" are {sends} possible sends, more than {_MOST_SENDS}; use fewer steps or chunks"
        )
    return instance


def make_solver(
    arguments: argparse.Namespace,
    plugins: PluginManager,
    *,
    encoding: str | None = None,
    backend: str | None = None,
    seconds: float | None = None,
) -> Solver:
    """The solver that the arguments of `add_solver` describe.

    Args:
        arguments: the parsed command line, which goes before the next two.
        plugins: what is installed.
        encoding: what a search spec asks for.
        backend: what a search spec asks for.
        seconds: time limit of each run.
    """
    settings = make_settings(arguments, encoding=encoding, backend=backend, seconds=seconds)
    return settings.open(plugins)


def make_settings(
    arguments: argparse.Namespace,
    *,
    encoding: str | None = None,
    backend: str | None = None,
    seconds: float | None = None,
    jobs: int = 1,
) -> SolverSettings:
    """What the arguments of `add_solver` say about solvers, for a pool of them.

    Args:
        arguments: the parsed command line, which goes before the next two.
        encoding: what a search spec asks for.
        backend: what a search spec asks for.
        seconds: time limit of each run.
        jobs: how many solvers share this machine's cores, where no number of threads is given.
    """
    from syncoll.plugins import parse_options
    from syncoll.solving import SolverSettings

    return SolverSettings(
        encoding=arguments.encoding or encoding or "step",
        backend=arguments.backend or backend or "auto",
        encoding_options=tuple(parse_options(arguments.encoding_option).items()),
        backend_options=tuple(parse_options(arguments.backend_option).items()),
        limits=_limits(arguments, seconds, jobs),
    )


def _limits(arguments: argparse.Namespace, seconds: float | None, jobs: int = 1) -> Limits:
    from syncoll.formula import Limits
    from syncoll.solving import default_threads

    if arguments.seed >= 1 << 31:
        raise UsageError(f"seed {arguments.seed} is too large; the largest is {(1 << 31) - 1}")
    return Limits(
        seconds, arguments.memory_limit, arguments.threads or default_threads(jobs), arguments.seed
    )
