"""Session: the plugins, the library, the store and the limits of settings.

Methods import modules when they are called: a command that reads a file loads no solver.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import syncoll.plugins as hosts
from syncoll import memory, model, results
from syncoll.clock import is_counted
from syncoll.deadline import NEVER, Deadline, interrupted_at
from syncoll.errors import OutOfTimeError, SyncollError
from syncoll.progress import tracked
from syncoll.session.names import Names, Tell
from syncoll.session.settings import Settings

if TYPE_CHECKING:
    from syncoll import documents, ledger, searching, solving
    from syncoll.ledger.events import Log
    from syncoll.model import Algorithm, Instance
    from syncoll.plugins.plugin_bounds import PluginBounds
    from syncoll.proofs.refute import Refuting
    from syncoll.store import Store

_KEPT_CLASSICS = 64
"""Most classics that are kept with their algorithms; limits memory."""

_PROOF_SECONDS = 120.0
"""For each proof file, solving and checking, unless a limit for each point says otherwise."""

_log = logging.getLogger("syncoll").warning


class Session(Names):
    """One place that holds plugins, library, store, pool, seeds and limits.

    Nothing is opened before it is needed.  For one thread at a time.

    Args:
        settings: None for the defaults.
        tell: receives messages for the user; by default warnings of the logger ``syncoll``.
        plugins: None for the installed ones.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        tell: Tell = _log,
        plugins: hosts.PluginManager | None = None,
    ) -> None:
        super().__init__(tell, plugins)
        self.settings = settings or Settings()
        self._constructed: dict[object, tuple[list[tuple[Instance, Algorithm]], str]] = {}

    def limited(self) -> AbstractContextManager[None]:
        """A context in which all processes together keep the limit of memory, as in a command."""
        return memory.command(self.settings.memory_limit, self.tell)

    def further_bounds(self) -> PluginBounds | None:
        """The bounds of plugins, or None."""
        from syncoll.plugins.plugin_bounds import PluginBounds

        records = self.plugins.bounds.values()
        return PluginBounds(records, self.tell) if records else None

    def solver(
        self,
        encoding: str | None = None,
        backend: str | None = None,
        jobs: int = 1,
        *,
        start: bool = True,
    ) -> solving.Solver:
        """The solver of the settings, to be closed by the caller."""
        from syncoll.solving import Solver

        solver = Solver(self.plugins, self.settings.solver(encoding, backend, jobs), start=start)
        for text in solver.passed_over:
            self.tell(f"going on without {text}")
        return solver

    def store(self) -> Store | None:
        """The store of the settings or the environment, or the usual one; closed by the caller.

        Raises:
            UsageError: if a store that was named cannot be used.
            FileFormatError: if it is not a store.
        """
        from syncoll.store import Store

        name = self.settings.store_name
        if name == "none" or is_counted():  # the store's contents would change the result
            return None
        try:
            return Store.open(Path(name) if name else None, on_trouble=self.tell)
        except SyncollError as error:
            if name:
                raise
            # It was not named, and the search works without it.
            self.tell(f"going on without a store: {error}")
            return None

    def pareto(
        self,
        request: ledger.SearchRequest,
        *,
        encoding: str | None = None,
        backend: str | None = None,
        observer: ledger.Observer | Log | None = None,
        on_points: Callable[[results.Frontier], None] | None = None,
        until: Deadline | None = None,
        also: Sequence[searching.ChosenSeed] = (),
    ) -> results.Frontier:
        """Searches a Pareto frontier; after Ctrl-C and at limits it is incomplete.

        Args:
            on_points: receives the frontier so far after each new point.
            until: the deadline; None for the request's time limit from now on.
            also: seeds in addition to the seeds of the settings.

        Raises:
            SyncollError: on settings or limits that contradict each other, and errors of plugins.
        """
        from syncoll.searching.interruptible import search_to_the_end
        from syncoll.session.answers import open_answers

        if until is None:
            until = Deadline.after(request.time_limit)
        asked = open_answers(self, encoding, backend, also)
        with self.limited(), asked as answers:
            frontier = search_to_the_end(request, answers, observer, on_points, until)
            memory.end_guard()
            for loss in answers.losses.values():
                self.tell(f"not everything was decided: {loss}")
            for name, why in answers.seeding.refusals.items():
                self.tell(f"seed {name} has no algorithm: {why}")
            return frontier

    def search(
        self,
        topology: model.Topology,
        collective: model.Collective,
        until: Deadline,
        seeds: Sequence[searching.ChosenSeed] = (),
    ) -> results.Frontier:
        """Searches a frontier with the usual limits; see `pareto`."""
        from syncoll.ledger import SearchRequest

        return self.pareto(SearchRequest(topology, collective), until=until, also=seeds)

    def asks_seeds_alone(self, backend: str | None = None) -> bool:
        """Whether the backend is a seed, so that no solver decides anything."""
        chosen, plugins = self.settings.backend or backend, self.plugins
        return chosen is not None and chosen in plugins.seeds and chosen not in plugins.backends

    def prove(
        self, frontier: results.Frontier, folder: Path, point_limit: float | None, until: Deadline
    ) -> results.Frontier:
        """The frontier with a proof file for each refutation that a claim rests on; each may take
        `point_limit` seconds, or two minutes.  Raises `UsageError` if the folder cannot be written.
        """
        evidence, about = frontier.evidence, (frontier.topology, frontier.collective)
        if evidence is None:
            return frontier

        def refute(one: results.Refuted) -> str | None:
            instance = results.refuted_instance(evidence, one, *about)
            seconds = point_limit or _PROOF_SECONDS
            done = self.refute(instance, one.encoding, folder, until, seconds)
            if done.file is not None:
                return done.file.name
            numbers = f"S = {one.steps}, R = {one.rounds}, C = {one.chunks}"
            self.tell(f"no proof for {numbers}: {done.reason}")
            return None

        try:
            with self.limited():
                return replace(frontier, evidence=results.with_files(evidence, refute))
        except KeyboardInterrupt:
            self.tell("interrupted: the proofs are left out")
            return frontier

    def refute(
        self,
        instance: model.Instance,
        encoding: str,
        folder: Path,
        until: Deadline,
        seconds: float | None = None,
    ) -> Refuting:
        """Solves once more in the encoding of the solution, and writes a checkable proof; the
        reason if there is no file.  Raises `UsageError` if the folder cannot be written."""
        from syncoll.proofs.refute import Refuting, refute_with_proof

        moving, settings = not instance.combining, self.settings
        try:
            until.check()
            with self.limited(), interrupted_at(until):
                return refute_with_proof(
                    instance,
                    folder,
                    self.plugins,
                    encoding=encoding if moving else None,
                    encoding_options=settings.encoding_options if moving else {},
                    seconds=until.sooner(seconds).seconds,
                    memory_bytes=settings.memory_limit,
                    seed=settings.seed,
                )
        except OutOfTimeError:
            return Refuting(None, "the time limit was reached")

    def classics(
        self,
        topology: model.Topology,
        collective: model.Collective,
        names: Sequence[str] | None = None,
        seconds: float = 5.0,
        until: Deadline = NEVER,
    ) -> tuple[dict[str, list[documents.StoredAlgorithm]], dict[str, str]]:
        """The verified algorithms of classics, by name, and reasons why others have none.

        Args:
            names: of seeds; None for all classics.
            seconds: for each, and at most half of the time that is left.

        Raises:
            PluginError: if there is no seed of a name.
        """
        from syncoll.documents import StoredAlgorithm
        from syncoll.searching import ChosenSeed, constructed

        collective = collective.plain or collective  # the classics of libraries
        seeds = self.plugins.seeds
        chosen = [seed.name for seed in seeds.values() if seed.classic] if names is None else names
        found, reasons = {}, {}
        with self.limited():
            for name in tracked(chosen, lambda name: f"constructing {name}"):
                key = name, topology, collective
                if (done := self._constructed.get(key)) is None:
                    options = hosts.resolve_options(seeds[name].options, {}, f"seed {name}")
                    seed = ChosenSeed(seeds[name], options, named=True)
                    limit = Deadline.after(max(0.0, min(seconds, until.left() / 2)))
                    done = constructed(seed, topology, collective, limit, self.tell)
                    if not limit.passed:
                        while len(self._constructed) >= _KEPT_CLASSICS:
                            del self._constructed[next(iter(self._constructed))]
                        self._constructed[key] = done
                made, why = done
                if made:
                    each = enumerate(made)
                    found[name] = [StoredAlgorithm(*one, f"{name}[{i}]") for i, one in each]
                else:
                    reasons[name] = why
        return found, reasons
