"""What a search's command line says about who answers: solvers, a pool of them, a store."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import count, make_settings, tell_of_broken

if TYPE_CHECKING:
    from syncoll.plugins import PluginManager
    from syncoll.search import Asking, ChosenSeed
    from syncoll.store import Store

__all__ = ["STORE_VARIABLE", "add_asking", "asking", "open_store", "store_name"]

STORE_VARIABLE = "SYNCOLL_STORE"
"""The environment variable that names the store, or ``none``."""


def store_name(text: str) -> str:
    """The name of a store, or ``none``."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty; write none for no store")
    return text


def add_asking(parser: argparse.ArgumentParser) -> None:
    """--store, --jobs and --executor."""
    group = parser.add_argument_group("answers")
    group.add_argument(
        "--store",
        type=store_name,
        metavar="FILE",
        help="where answers are kept as they come, so that a search that was stopped, or asked "
        "again, also under other node numbers, does not start anew; none: nowhere (default: "
        f"${STORE_VARIABLE}, else a file in your cache folder, see `syncoll store`)",
    )
    group.add_argument(
        "--seeds",
        metavar="NAMES",
        help="heuristics that the search starts from: auto, none, or names with commas between "
        "them, see `syncoll plugins`; as --backend NAME one is asked alone (default: auto)",
    )
    group.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="so many (S, R, C) at once, each with a solver of its own (default: 1)",
    )
    group.add_argument(
        "--executor",
        metavar="WHERE",
        help="where the solvers run: local, processes, or a Dask cluster as dask://HOST:PORT "
        "(default: local)",
    )


@contextmanager
def asking(
    arguments: argparse.Namespace,
    plugins: PluginManager,
    *,
    encoding: str | None = None,
    backend: str | None = None,
) -> Iterator[Asking]:
    """Whoever answers a search, and is closed after it.

    Args:
        arguments: of `add_asking` and `add_solver`.
        plugins: what is installed.
        encoding: what a search spec asks for.
        backend: what a search spec asks for.
    """
    from syncoll.cli.output import note
    from syncoll.search import Asking, Seeding
    from syncoll.solving import open_pool

    def told(text: str) -> None:
        note(f"syncoll: {text}")

    chosen: str | None = arguments.backend or backend
    if chosen is not None and chosen in plugins.seeds and chosen not in plugins.backends:
        _refuse_solver_options(arguments, chosen)
        yield Asking(None, seeding=Seeding(_named_seeds(plugins, [chosen], arguments), told))
        return
    if arguments.seeds in (None, "auto"):
        seeds = _usual_seeds(plugins, told)
    else:
        seeds = _named_seeds(plugins, _seed_names(arguments.seeds))
    seeding = Seeding(seeds, told)
    jobs = _jobs(arguments)
    settings = make_settings(arguments, encoding=encoding, backend=backend, jobs=jobs)
    tell_of_broken(plugins, settings.backend)
    with ExitStack() as stack:
        store = open_store(arguments.store)
        if store is not None:
            stack.enter_context(store)
        pool = None
        if arguments.executor is not None or jobs > 1:
            where = "local" if arguments.executor is None else arguments.executor
            pool = stack.enter_context(open_pool(where, settings, jobs=jobs, manager=plugins))
        solver = stack.enter_context(settings.open(plugins, start=pool is None))
        if store is None:
            yield Asking(solver, pool=pool, seeding=seeding)
            return
        from syncoll.store import RememberingBounds, SolutionMemory

        memory = SolutionMemory(store, solver.asked, solver.limits)
        prove = RememberingBounds(store).rounds_bound
        yield Asking(solver, pool=pool, memory=memory, prove=prove, seeding=seeding)


def _jobs(arguments: argparse.Namespace) -> int:
    """How many solvers share this machine: N of ``--jobs N``, or of ``--executor processes:N``."""
    from syncoll.errors import UsageError

    numbered = re.fullmatch(r"(?:local|processes):([0-9]{1,4})", arguments.executor or "")
    if numbered is None:
        return arguments.jobs or 1
    if arguments.jobs not in (None, int(numbered[1])):
        raise UsageError(
            f"--jobs {arguments.jobs} and --executor {arguments.executor} say different numbers; "
            "give one of them"
        )
    return int(numbered[1])


def _seed_names(text: str) -> list[str]:
    """The names in ``none`` or ``NAME,NAME``."""
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _usual_seeds(plugins: PluginManager, told: Callable[[str], None]) -> list[ChosenSeed]:
    """Those from which searches start unless somebody says otherwise."""
    from syncoll.plugins import resolve_options
    from syncoll.search import ChosenSeed

    chosen = []
    for record in plugins.seeds.values():
        if not record.by_default:
            continue
        answer = record.installed()
        if answer.ok:
            options = resolve_options(record.options, {}, f"seed {record.name}")
            chosen.append(ChosenSeed(record, options))
        elif answer.failed:
            told(f"seed {record.name} is left out: {answer.reason}")
    return chosen


def _named_seeds(
    plugins: PluginManager, names: Sequence[str], arguments: argparse.Namespace | None = None
) -> list[ChosenSeed]:
    """The seeds of these names, with options where one was asked for alone."""
    from syncoll.errors import PluginError
    from syncoll.plugins import parse_options, resolve_options
    from syncoll.search import ChosenSeed

    chosen = []
    for name in names:
        record = plugins.seeds[name]
        installed = record.installed()
        if not installed.ok:
            raise PluginError(f"seed {name} cannot run here: {installed.reason}")
        given = {} if arguments is None else parse_options(arguments.backend_option)
        options = resolve_options(record.options, given, f"seed {name}")
        chosen.append(ChosenSeed(record, options, named=True))
    return chosen


def _refuse_solver_options(arguments: argparse.Namespace, seed: str) -> None:
    """What has no meaning for a seed alone must not be passed over in silence."""
    from syncoll.errors import UsageError

    for option, value in (
        ("--encoding", arguments.encoding),
        ("--encoding-option", arguments.encoding_option),
        ("--seeds", arguments.seeds),
        ("--jobs", arguments.jobs),
        ("--executor", arguments.executor),
        ("--store", arguments.store),
        ("--threads", arguments.threads),
        ("--memory-limit", arguments.memory_limit),
    ):
        if value:
            raise UsageError(f"{option} means nothing to the seed {seed}, which asks no solver")


def open_store(named: str | None) -> Store | None:
    """The store that the command line or the environment names, or the usual one; None for none.

    Raises:
        UsageError: when a store that was named cannot be used.
        FileFormatError: when it is none.
    """
    from syncoll.cli.output import note
    from syncoll.errors import SyncollError
    from syncoll.store import Store

    name = named or os.environ.get(STORE_VARIABLE)
    if name == "none":
        return None
    try:
        return Store.open(Path(name) if name else None, on_trouble=note)
    except SyncollError as error:
        if name:
            raise
        # Nobody asked for it: the search does not need it.
        note(f"syncoll: going on without a store: {error}")
        return None
