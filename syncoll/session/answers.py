"""Who answers a search: seeds, a solver or a pool of them, and a store of what was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from syncoll.errors import PluginError, SyncollError
from syncoll.plugins import PluginManager, resolve_options
from syncoll.searching import AnswerSource, ChosenSeed, Seeding
from syncoll.session.settings import Settings
from syncoll.session.solvers import tell_of_broken
from syncoll.solving import Solver, open_pool
from syncoll.store import RememberingBounds, SolutionMemory, Store

__all__ = ["open_answers", "open_store"]

Tell = Callable[[str], None]


@contextmanager
def open_answers(
    settings: Settings,
    plugins: PluginManager,
    tell: Tell,
    *,
    encoding: str | None = None,
    backend: str | None = None,
) -> Iterator[AnswerSource]:
    """Whoever answers a search, and is closed after it.

    Args:
        tell: is told, in words, what is done without.
    """
    chosen = settings.backend or backend
    if chosen is not None and chosen in plugins.seeds and chosen not in plugins.backends:
        settings.refuse_for_seed(chosen)
        alone = _named_seeds(plugins, [chosen], settings.backend_options)
        yield AnswerSource(None, seeding=Seeding(alone, tell))
        return
    names = settings.seed_names
    seeds = _usual_seeds(plugins, tell) if names is None else _named_seeds(plugins, names, {})
    seeding = Seeding(seeds, tell)
    jobs = settings.num_jobs
    solvers = settings.solver(encoding, backend, jobs)
    tell_of_broken(plugins, solvers.backend, tell)
    with ExitStack() as stack:
        store = open_store(settings, tell)
        if store is not None:
            stack.enter_context(store)
        pool = None
        if settings.executor is not None or jobs > 1:
            where = settings.executor if settings.executor is not None else "local"
            pool = stack.enter_context(open_pool(where, solvers, jobs=jobs, manager=plugins))
        solver = stack.enter_context(Solver(plugins, solvers, start=pool is None))
        if store is None:
            yield AnswerSource(solver, pool=pool, seeding=seeding)
            return
        memory = SolutionMemory(store, solver.asked, solver.limits)
        prove = RememberingBounds(store).rounds_bound
        yield AnswerSource(solver, pool=pool, memory=memory, prove=prove, seeding=seeding)


def open_store(settings: Settings, tell: Tell) -> Store | None:
    """The store that the settings or the environment name, or the usual one; None for none.

    Raises:
        UsageError: when a store that was named cannot be used.
        FileFormatError: when it is not a store.
    """
    name = settings.store_name
    if name == "none":
        return None
    try:
        return Store.open(Path(name) if name else None, on_trouble=tell)
    except SyncollError as error:
        if name:
            raise
        # Nobody asked for it: the search does not need it.
        tell(f"going on without a store: {error}")
        return None


def _usual_seeds(plugins: PluginManager, tell: Tell) -> list[ChosenSeed]:
    """Those from which searches start unless somebody says otherwise."""
    chosen = []
    for record in plugins.seeds.values():
        if not record.by_default:
            continue
        answer = record.installed()
        if answer.ok:
            options = resolve_options(record.options, {}, f"seed {record.name}")
            chosen.append(ChosenSeed(record, options))
        elif answer.failed:
            tell(f"seed {record.name} is left out: {answer.reason}")
    return chosen


def _named_seeds(
    plugins: PluginManager, names: Sequence[str], given: Mapping[str, object]
) -> list[ChosenSeed]:
    """The seeds of these names, with options where one was asked for alone.

    Raises:
        PluginError: when one is not installed, or cannot run here.
        OptionError: on an option that it does not have.
    """
    chosen = []
    for name in names:
        record = plugins.seeds[name]
        installed = record.installed()
        if not installed.ok:
            raise PluginError(f"seed {name} cannot run here: {installed.reason}")
        options = resolve_options(record.options, given, f"seed {name}")
        chosen.append(ChosenSeed(record, options, named=True))
    return chosen
