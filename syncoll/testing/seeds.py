"""The requirements of seeds: valid algorithms for every collective that they claim to fit."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, product
from typing import ClassVar

from syncoll.clock import counting
from syncoll.errors import OptionError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.plugins import PluginManager, Proposal, SeedLimits, SeedRecord, resolve_options
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.testing import kit
from syncoll.trust import require_valid

_TOPOLOGIES = ("ring(4)", "line(3)", "hub(4)", "fully_connected(5)", "hypercube(3)", "torus(3,3)")
_COLLECTIVES = (
    *("broadcast", "broadcast(root = 1)", "allgather", "gather", "scatter", "alltoall"),
    *("reduce", "reducescatter", "allreduce"),
)
_ON_FOUR = ("ring(4)", "hub(4)")
_UNEVEN = (
    "alltoallv([[0, 2, 0, 1], [1, 0, 3, 0], [0, 1, 0, 2], [1, 0, 1, 0]])",
    "allgatherv([1, 2, 0, 1])",
    "allgather within [[0, 1], [2, 3]]",
    "allreduce within [[0, 2], [1, 3]] + 2 * allreduce",
    "allgather + allgather",
    "2 * allreduce",
)
"""On four nodes: uneven data, groups without common data, and more chunks than C."""

_MOST = 5
"""Number of proposals that are checked for each question."""

_SOON_SECONDS = 3.0

_WITH_COPIES = ("nvl72(4, true)", "dgx_h100(2, nvls = true)")
"""Machines whose switches copy and add up, for seeds that support it."""

_WITH_BOXES, _REPRODUCIBLE = ("dgx_h100(boxes = 2)",), ("allreduce reproducible",)
"""A machine, and on four nodes a collective, for seeds that have no proposal for the others."""


@cache
def questions(
    counts_copies: bool = False, special: bool = False
) -> Sequence[tuple[Topology, Collective]]:
    """Collectives on small machines."""
    libraries = PluginManager.discover().spec_libraries.values()
    specs = SpecLibrary([record.folder for record in libraries])
    names = (*_TOPOLOGIES, *(_WITH_COPIES if counts_copies else ()))

    def asked(
        machines: Sequence[str], collectives: Sequence[str]
    ) -> list[tuple[Topology, Collective]]:
        topologies = [as_topology(specs.topology(name)) for name in machines]
        return list(product(topologies, [specs.collective(name) for name in collectives]))

    if special:
        return [*asked(_ON_FOUR, _REPRODUCIBLE), *asked(_WITH_BOXES, _COLLECTIVES)]
    # The uneven ones come first, so that each check of every nth question has one of them.
    return [*asked(_ON_FOUR, _UNEVEN), *asked(names, _COLLECTIVES)]


def proposals(
    record: SeedRecord,
    topology: Topology,
    collective: Collective,
    limits: SeedLimits | None = None,
    given: Mapping[str, object] | None = None,
    most: int = _MOST,
) -> list[Proposal]:
    """A seed's verified proposals, if it fits.  Work is counted, not seconds."""
    fits = record.fits(topology, collective)
    kit.demand(not fits.failed, f"fits: {fits.reason}")
    kit.demand(
        fits.ok or bool(fits.reason), f"{collective.name} on {topology.name}: no without a reason"
    )
    if not fits.ok:
        return []
    options = resolve_options(record.options, given or {}, f"seed {record.name}")
    within = limits or SeedLimits(seconds=0.1)
    with counting():
        turns = record.load().propose(topology, collective, within, options)
        made = [one for one in islice(turns, most) if one is not None]  # it may pause
    for one in made:
        steps, rounds = one.algorithm.steps, one.algorithm.rounds
        try:
            instance = collective.instantiate(
                topology, chunks=one.chunks, steps=steps, rounds=rounds
            )
            require_valid(instance, one.algorithm)
        except VerificationError as error:
            where = f"{collective.name} on {topology.name}, C = {one.chunks}"
            raise kit.ConformanceError(f"{where}, S = {steps}, R = {rounds}: {error}") from error
    return made


def check_proposals(record: SeedRecord) -> None:
    """Its proposals solve their collectives, and it has a proposal for some collective."""
    asked = questions(record.counts_copies), questions(special=True)
    found = any(sum(len(proposals(record, *one)) for one in each) for each in asked)
    kit.demand(found, "it proposed nothing for any collective on any machine")


def check_repeatable(record: SeedRecord) -> None:
    """The first proposal for a question is the same each time."""
    for question in questions(record.counts_copies)[::5]:
        firsts = [proposals(record, *question, most=1) for _ in range(2)]
        same = [[(p.chunks, p.algorithm) for p in made] for made in firsts]
        where = f"{question[1].name} on {question[0].name}"
        kit.demand(same[0] == same[1], f"{where}: two runs begin with different algorithms")


def check_time(record: SeedRecord) -> None:
    """With no time left it ends soon, and its proposals are still valid."""
    for question in questions(record.counts_copies)[::7]:
        began = time.perf_counter()
        proposals(record, *question, SeedLimits(seconds=0.0))
        spent = time.perf_counter() - began
        where = f"{question[1].name} on {question[0].name}"
        kit.demand(spent < _SOON_SECONDS, f"{where}: without any time it worked for {spent:.1f} s")


def check_settings(record: SeedRecord) -> None:
    """With every value of every option its proposals are valid; errors are in words."""
    for option in record.options:
        for value in kit.values(option):
            for question in questions(record.counts_copies)[::11]:
                try:
                    proposals(record, *question, None, {option.name: value})
                except OptionError as error:
                    kit.demand(option.name in str(error), f"{error}: it does not name the option")


SEED_CHECKS = kit.checks_of(__name__, kit.check_options, kit.check_light)
"""Every check by its name."""


def check_seed(record: SeedRecord) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    return kit.failures(SEED_CHECKS, record)


class SeedConformance(kit.Conformance, checks=SEED_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[SeedRecord]
