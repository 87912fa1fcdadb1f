"""Arguments that several commands share, and how they become objects."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import SpecError, UsageError

if TYPE_CHECKING:
    from syncoll.deadline import Deadline
    from syncoll.formula import Limits
    from syncoll.model import Instance
    from syncoll.plugins import PluginManager
    from syncoll.solving import Solver, SolverSettings
    from syncoll.spec import Kind, Reader, SpecLibrary

_found: ContextVar[tuple[PluginManager, SpecLibrary] | None] = ContextVar("found", default=None)
"""The plugins and the library of the command that runs, once its names are resolved."""

__all__ = [
    "STANDARD_OUTPUT",
    "Subparsers",
    "add_format",
    "add_instance",
    "add_problem",
    "add_solver",
    "amount",
    "count",
    "deadline",
    "duration",
    "json_for_dash",
    "library",
    "make_instance",
    "make_settings",
    "make_solver",
    "manager",
    "memory",
    "names_resolved",
    "output_file",
    "output_folder",
    "tell_of_broken",
]

Subparsers = argparse._SubParsersAction  # its public name does not exist

STANDARD_OUTPUT = Path("-")
"""What ``-o -`` names."""

_MOST_SENDS = 50_000_000
"""Chunks x links x steps, above which the formula of an instance would not fit in memory."""


_SHARE_KEPT = 0.03
_LEAST_KEPT_SECONDS = 0.15
_MOST_KEPT_SECONDS = 5.0


def duration(text: str) -> float:
    """Seconds from texts such as ``90``, ``1.5s``, ``2min``, ``1h``."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h)?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90, 1.5s, 2min or 1h")
    return float(match[1]) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[match[2]]


def deadline(arguments: argparse.Namespace, seconds: float | None) -> Deadline:
    """When the work of a command must be over.

    A limit of time counts from the command's start, and holds for all that it does.  So a little of
    it is kept for what comes after the work: the answer is shown and saved, and workers end.

    Args:
        arguments: as `main` leaves them.
        seconds: the limit; None for none.
    """
    from syncoll.deadline import NEVER, Deadline

    if seconds is None:
        return NEVER
    kept = min(_MOST_KEPT_SECONDS, max(_LEAST_KEPT_SECONDS, seconds * _SHARE_KEPT))
    return Deadline(arguments.began + max(0.0, seconds - kept))


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


def output_folder(text: str) -> Path:
    """The name of a folder to write into."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "a folder cannot be written to standard output; give its name"
        )
    return output_file(text)


def json_for_dash(arguments: argparse.Namespace) -> None:
    """``-o -`` of a command that saves JSON: that is what ``--format json`` prints, and all."""
    if arguments.output == STANDARD_OUTPUT:
        arguments.output, arguments.format = None, "json"


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
    parser.set_defaults(kinds={"topology": "topology", "collective": "collective"})


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
        "--encoding",
        metavar="NAME",
        help="how an instance becomes a formula; auto for the usual one (default: auto)",
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
        help="of the whole command, its process and its solvers' together, such as 4GiB; what "
        "would not fit is left out; on a cluster, of each process there (default: half of what is "
        "free)",
    )


def manager() -> PluginManager:
    """The installed plugins."""
    from syncoll.plugins import PluginManager

    found = _found.get()
    return PluginManager.discover() if found is None else found[0]


def library(plugins: PluginManager) -> SpecLibrary:
    """The installed spec libraries, and the importers for references such as ``NAME:FILE``."""
    from syncoll.cli.output import note
    from syncoll.spec import SpecLibrary

    found = _found.get()
    if found is not None and found[0] is plugins:
        return found[1]
    records = sorted(plugins.spec_libraries.values(), key=lambda one: not plugins.is_ours(one))
    folders = [record.folder for record in records]
    files = {name: _reader(plugins, name) for name in plugins.importers}

    def told(text: str) -> None:
        note(f"syncoll: {text}")

    return SpecLibrary.load(folders, files, told)


def _reader(plugins: PluginManager, name: str) -> Reader:
    """Reads a file with an importer; what importers share is loaded when there is a file."""

    def read(file: str, settings: Sequence[str]) -> str:
        from syncoll.importing import readers

        return readers(plugins.importers)[name](file, settings)

    return read


@contextmanager
def names_resolved(arguments: argparse.Namespace) -> Iterator[None]:
    """Makes sure that what the arguments name is there, before a command loads what it needs.

    The plugins and the library that were found for it are those of the command.

    Raises:
        SpecError: when nothing has such a name.
        UsageError: when a topology stands where a collective should, and the other way round.
    """
    wanted: dict[str, Kind] = {
        argument: kind
        for argument, kind in getattr(arguments, "kinds", {}).items()
        if getattr(arguments, argument) is not None
    }
    if not wanted:
        yield
        return
    plugins = manager()
    specs = library(plugins)
    for argument, kind in wanted.items():
        try:
            specs.expect(kind, getattr(arguments, argument))
        except SpecError:
            _refuse_swapped(arguments, specs)
            raise
    token = _found.set((plugins, specs))
    try:
        yield
    finally:
        _found.reset(token)


def _refuse_swapped(arguments: argparse.Namespace, specs: SpecLibrary) -> None:
    """Suggests the command line with the topology and the collective in their places.

    Raises:
        UsageError: when the one is given as the other.
    """
    first, second = (getattr(arguments, name, None) for name in ("topology", "collective"))
    if first is None or second is None:
        return
    try:
        specs.expect("collective", first)
        specs.expect("topology", second)
    except SpecError:
        return
    turned = {first: second, second: first}
    line = shlex.join(turned.get(word, word) for word in arguments.words)
    raise UsageError(
        f"{first} is a collective and {second} is a topology; exchange them:\n  syncoll {line}"
    )


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
    tell_of_broken(plugins, settings.backend)
    return settings.open(plugins)


def tell_of_broken(plugins: PluginManager, backend: str) -> None:
    """Says which backends ``auto`` goes without because they are broken."""
    from syncoll.cli.output import note
    from syncoll.solving.members import AUTO, passed_over

    if backend == AUTO:
        for text in passed_over(plugins):
            note(f"syncoll: going on without {text}")


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
    from syncoll.memory import budget, require_address_space
    from syncoll.plugins import parse_options
    from syncoll.solving import SolverSettings

    require_address_space()
    return SolverSettings(
        encoding=arguments.encoding or encoding or "auto",
        backend=arguments.backend or backend or "auto",
        encoding_options=tuple(parse_options(arguments.encoding_option).items()),
        backend_options=tuple(parse_options(arguments.backend_option).items()),
        limits=_limits(arguments, seconds, jobs),
        memory=budget(),
    )


def _limits(arguments: argparse.Namespace, seconds: float | None, jobs: int = 1) -> Limits:
    from syncoll.formula import Limits
    from syncoll.solving import default_threads

    if arguments.seed >= 1 << 31:
        raise UsageError(f"seed {arguments.seed} is too large; the largest is {(1 << 31) - 1}")
    return Limits(
        seconds, arguments.memory_limit, arguments.threads or default_threads(jobs), arguments.seed
    )
