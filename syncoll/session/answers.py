"""The answers of a search: seeds, a solver or a pool of solvers, and a store of answers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from syncoll.bounding import rounds_bound
from syncoll.errors import PluginError
from syncoll.plugins import resolve_options
from syncoll.searching import AnswerSource, ChosenSeed, Seeding
from syncoll.session.session import Session
from syncoll.solving import SolverPool
from syncoll.store import CachedBounds, CachedSolutions


@contextmanager
def open_answers(
    session: Session,
    encoding: str | None = None,
    backend: str | None = None,
    also: Sequence[ChosenSeed] = (),
) -> Iterator[AnswerSource]:
    """The source of a search's answers, closed after it.

    Args:
        encoding: of a search spec, as `backend`; the settings take precedence.
        also: seeds in addition to the seeds of the settings.
    """
    settings, plugins = session.settings, session.plugins
    further = session.further_bounds()
    if session.asks_seeds_alone(backend):
        seed = settings.backend or backend or ""
        settings.refuse_for_seed(seed)
        alone = _seeds(session, [seed], settings.backend_options)
        yield AnswerSource(None, seeding=Seeding([*also, *alone], session.tell), further=further)
        return
    seeding = Seeding([*also, *_seeds(session, settings.seed_names, {})], session.tell)
    jobs = settings.jobs or 1
    with ExitStack() as stack:
        store = session.store()
        if store is not None:
            stack.enter_context(store)
        solver = stack.enter_context(session.solver(encoding, backend, jobs, start=False))
        pool = None
        if jobs > 1:
            solvers = settings.solver(encoding, backend, jobs)
            pool = stack.enter_context(SolverPool(solvers, jobs, plugins))
        bounds = None if store is None else CachedBounds(store)
        memory = None if store is None else CachedSolutions(store, solver.asked, solver.limits)
        source = AnswerSource(
            solver,
            pool=pool,
            memory=memory,
            prove=bounds.rounds_bound if bounds else rounds_bound,
            seeding=seeding,
            further=further,
        )
        if bounds is not None:
            bounds.on_miss = partial(source.begin, lacking=True)
        yield source


def _seeds(
    session: Session, names: Sequence[str] | None, given: Mapping[str, object]
) -> list[ChosenSeed]:
    """The seeds of these names, or without names the ones that run by default.

    Raises:
        PluginError: if a named one is not installed, or cannot run here.
        OptionError: on an option in `given` that a seed does not have.
    """
    chosen, seeds = [], session.plugins.seeds
    usual = (record for record in seeds.values() if record.by_default)
    for record in usual if names is None else map(seeds.__getitem__, names):
        answer = record.installed()
        if answer.ok:
            options = resolve_options(record.options, given, f"seed {record.name}")
            chosen.append(ChosenSeed(record, options, named=names is not None))
        elif names is not None:
            raise PluginError(f"seed {record.name} cannot run here: {answer.reason}")
        elif answer.failed:
            session.tell(f"seed {record.name} is left out: {answer.reason}")
    return chosen
