"""Asks the bounds of plugins; bounds whose proof is wrong are left out and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from syncoll.bounding.combining import distributions
from syncoll.certificates import Certificate, ChunkClasses, DemandView, RoundsBound
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.documents.certificates import bound_of, certificate_record
from syncoll.errors import ModelError, PluginError, SyncollError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.plugins.guard import calling
from syncoll.plugins.records import BoundRecord


class PluginBounds:
    """The bounds of some plugins, one after the other.  One message names each plugin that fails,
    or whose proof is wrong."""

    def __init__(self, records: Iterable[BoundRecord], tell: Callable[[str], None]) -> None:
        self._records, self._tell = {one.name: one for one in records}, tell

    def __call__(
        self,
        topology: Topology,
        collective: Collective,
        shape: ChunkClasses,
        steps: int | None,
        best: RoundsBound,
        enough: Fraction | None,
        until: Deadline,
    ) -> RoundsBound:
        """The best bound on R that is found by then, for at most S steps or any number, from the
        `best` known one on; no bound is above `enough`, R of an algorithm."""
        waiting = list(self._records.values())
        while waiting and not until.passed and (enough is None or best.rounds < enough):
            share = until.share(1 / len(waiting))
            record = waiting.pop(0)
            try:
                with suppress(OutOfTimeError), interrupted_at(share):
                    for bound in proved_by(record, topology, collective, shape, steps, share):
                        best = max(best, bound, key=lambda one: one.rounds)
            except (SyncollError, MemoryError) as error:
                del self._records[record.name]
                who, why = f"bound {record.name}", str(error) or type(error).__name__
                self._tell(f"going on without {who}: {why.removeprefix(who).lstrip(': ')}")
        return best


def proved_by(
    record: BoundRecord,
    topology: Topology,
    collective: Collective,
    shape: ChunkClasses,
    steps: int | None,
    until: Deadline,
) -> Iterator[RoundsBound]:
    """The bounds of one plugin, checked in the form that files have.  Raises `PluginError` if it
    fails, or a proof is wrong, and `OutOfTimeError` if the time is over."""
    fits = record.fits(topology, collective)
    if fits.failed:
        raise PluginError(fits.reason)
    if not fits.ok or record.of_sums > shape.combining:
        return
    finder = record.load()
    questions: list[tuple[DemandView, int | None, Topology, Sequence[Any]]] = [
        (DemandView.MOVING, None, topology, shape.classes)
    ]
    if not record.of_sums:
        parts = distributions(topology, shape, until)
        questions = [(one.reading, one.node, one.where, one.demands) for one in parts]
    for reading, node, where, asked in questions:
        proof = finder.find(where, asked, steps, until)
        if proof is None:
            continue
        if proof.steps is not None and (steps is None or proof.steps < steps):
            raise PluginError(f"a proof about S = {proof.steps}, asked for S = {steps or 'any'}")
        with calling(f"bound {record.name}", "find"):
            try:
                rounds = proof.check(where, asked)
                bound = RoundsBound(rounds, proof.steps, proof, reading, node)
                bound = bound_of(certificate_record(bound, 0))
                Certificate(shape, bound).check(topology)
            except (VerificationError, ModelError) as error:
                raise PluginError(f"its proof is wrong: {error}") from error
        yield bound
