"""The requirements of encodings: formulas that are satisfiable exactly if there is an algorithm."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from syncoll.formula import Verdict
from syncoll.model import BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import PluginManager, resolve_options
from syncoll.plugins.records import EncodingRecord, EstimatesSize, LabelsVariables, TakesHints
from syncoll.solving import Solver
from syncoll.testing import kit
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from syncoll.testing.instances import connected_topology, random_instance

__all__ = ["ENCODING_CHECKS", "EncodingConformance", "check_encoding"]

_INSTANCES = 40
_INSTANCES_EACH = 8


def _solver(record: EncodingRecord, options: Mapping[str, object]) -> Solver:
    """A solver with the encoding under test, and all other installed plugins."""
    installed, manager = PluginManager.discover(), PluginManager()
    others = [one for name, one in installed.encodings.items() if name != record.name]
    plugin = SimpleNamespace(RECORDS=[record, *others, *installed.backends.values()])
    manager.register(plugin, "under test")
    if record.combining:
        return Solver(manager, combining_encoding=record.name)
    return Solver(manager, encoding=record.name, encoding_options=options)


def _cases(record: EncodingRecord, number: int) -> Iterator[tuple[Instance, bool]]:
    """Small random instances, and whether there is an algorithm."""
    found, seed = 0, 0
    while found < number:
        seed += 1
        if record.combining:
            instance = _combining(random.Random(seed))
        else:
            instance = random_instance(seed, most_nodes=4, most_chunks=3)
        if record.counts_copies and seed % 3 == 0:
            instance = _copied(random.Random(seed), instance)
        try:
            yield instance, has_algorithm(instance)
        except TooLargeError:
            continue
        found += 1


def _copied(rng: random.Random, instance: Instance) -> Instance:
    """The same with a cable from each node to a switch that copies, in addition to other bounds of
    all kinds."""
    topology = instance.topology
    bounds = [replace(bound, counts=rng.choice([*Counting])) for bound in topology.bounds]
    for own in topology.out_links:
        if own:
            links = tuple(topology.links[i] for i in own)
            bounds.append(BandwidthBound(links, Fraction(1), counts=Counting.SOURCES))
    return replace(instance, topology=replace(topology, bounds=tuple(bounds), fabric=None))


def _combining(rng: random.Random) -> Instance:
    topology = connected_topology(rng, most_nodes=3)
    nodes = topology.num_nodes
    chunks = rng.randint(1, 2 if nodes == 2 else 1)
    pre = np.array([[rng.random() < 0.8 for _ in range(nodes)] for _ in range(chunks)])
    pre[:, 0] = True
    post = np.array([[rng.random() < 0.6 for _ in range(nodes)] for _ in range(chunks)])
    post[:, -1] = True
    steps, rounds = rng.randint(1, 3 if nodes == 2 else 2), rng.randint(1, 3)
    return Instance(topology, "random", 1, steps, rounds, pre, post, combining=True)


def check_truth(record: EncodingRecord) -> None:
    """On small instances with corner cases, with every value of every option, it finds an algorithm
    exactly if an exhaustive search does; the decoded algorithm is valid."""
    settings: list[dict[str, object]] = [{}]
    if not record.combining:  # a solver takes only options for the other kind
        settings += [{o.name: value} for o in record.options for value in kit.values(o)]
    for chosen in settings:
        with _solver(record, chosen) as solver:
            for instance, truth in _cases(record, _INSTANCES_EACH if chosen else _INSTANCES):
                outcome = solver.solve(instance).outcome
                right = Verdict.SAT if truth else Verdict.UNSAT
                with_ = f" with {chosen}" if chosen else ""
                kit.demand(
                    outcome.verdict is right,
                    f"{instance}{with_}: {outcome.verdict} {outcome.message}, but the right "
                    f"answer is {right}",
                )


def check_repeatable(record: EncodingRecord) -> None:
    """The same instance gives the same formula, and does not change.

    Proofs are about a formula, which a checker of a proof makes anew.
    """
    encoding, options = record.load(), resolve_options(record.options, {}, record.name)
    for instance, _ in _cases(record, _INSTANCES_EACH):
        before = instance.pre.copy(), instance.post.copy()
        one, two = (encoding.encode(instance, options).formula for _ in range(2))
        for field in fields(one):
            same = np.array_equal(getattr(one, field.name), getattr(two, field.name))
            kit.demand(same, f"two formulas of one instance differ in {field.name}")
        kept = np.array_equal(before, (instance.pre, instance.post))
        kit.demand(kept, "it changed the instance")


def check_size(record: EncodingRecord) -> None:
    """An estimate of a formula's size is right, up to a factor of 3."""
    encoding, options = record.load(), resolve_options(record.options, {}, record.name)
    if not isinstance(encoding, EstimatesSize):
        return
    for nodes, steps in ((4, 2), (5, 3), (6, 3)):
        both = {(a, (a + way) % nodes): 1 for a in range(nodes) for way in (1, -1)}
        ring = Topology.from_links(f"ring({nodes})", nodes, both)
        post = np.ones((2 if record.combining else nodes, nodes), dtype=bool)
        pre, name = (
            (post, "allreduce") if record.combining else (np.eye(nodes, dtype=bool), "allgather")
        )
        instance = Instance(ring, name, 1, steps, 4, pre, post, combining=record.combining)
        said = encoding.literals(instance, options)
        real = encoding.encode(instance, options).formula.size().literals
        kit.demand(
            real / 3 <= said <= real * 3, f"it estimates {said:,} literals, but there are {real:,}"
        )


def check_hints(record: EncodingRecord) -> None:
    """A hint names each variable of the formula at most once."""
    encoding, options = record.load(), resolve_options(record.options, {}, record.name)
    with _solver(record, {}) as solver:
        for instance, truth in _cases(record, _INSTANCES_EACH):
            encoded = encoding.encode(instance, options)
            if not truth or not isinstance(encoded, TakesHints):
                continue
            algorithm = solver.solve(instance).algorithm
            assert algorithm is not None
            variables = np.abs(encoded.hint(algorithm))
            kit.demand(len(np.unique(variables)) == len(variables), "a hint names a variable twice")
            inside = bool(((variables >= 1) & (variables <= encoded.formula.num_booleans)).all())
            kit.demand(inside, "a hint names a variable that the formula lacks")


def check_labels(record: EncodingRecord) -> None:
    """Labels have one row for each variable, and all rows differ."""
    encoding, options = record.load(), resolve_options(record.options, {}, record.name)
    for instance, _ in _cases(record, _INSTANCES_EACH):
        encoded = encoding.encode(instance, options)
        labels = encoded.labels() if isinstance(encoded, LabelsVariables) else None
        if labels is None:
            return
        for rows, count in (
            (labels.booleans, encoded.formula.num_booleans),
            (labels.integers, encoded.formula.num_integers),
        ):
            kit.demand(len(rows) == count, f"{len(rows)} labels for {count} variables")
            distinct = len(np.unique(rows, axis=0))
            kit.demand(distinct == count, f"{count} variables have {distinct} labels")


ENCODING_CHECKS = kit.checks_of(__name__, kit.check_options, kit.check_light)
"""Every check by its name."""


def check_encoding(record: EncodingRecord) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    return kit.failures(ENCODING_CHECKS, record)


class EncodingConformance(kit.Conformance, checks=ENCODING_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[EncodingRecord]
