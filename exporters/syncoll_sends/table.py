"""A table of sends that a checker has read, and the facts about it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from syncoll.arrays import BoolArray
from syncoll.documents.record import Count, Node, Nodes, Record, RoundsEntry, read_record, rounds_of
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.model import MOST_GRAINS, Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.model.grains import Rounds, exact
from syncoll.plugins import CheckedExport
from syncoll.trust import require_valid

NUMBERS = ("step", "rounds", "chunk", "source", "destination")
"""The required columns."""

ROUNDS = "rounds"
"""The one of them that may have ratios, as texts."""

MOST_DIGITS = 9

NODES = "contributors"
"""The optional column."""


@dataclass(frozen=True)
class SendRow:
    """A send in the line `line`, as in ``line 7``; without `contributors` it carries plain data."""

    line: str
    step: int
    rounds: Rounds
    chunk: int
    source: int
    destination: int
    contributors: tuple[int, ...]

    def wrong(self, message: str) -> VerificationError:
        """An error in this row, to be raised."""
        return VerificationError(f"{self.line}: {message}")


def require_columns(names: Sequence[str], where: str = "") -> None:
    """Raises VerificationError unless a table has every required column, and each column once."""
    for name in names:
        if name not in (*NUMBERS, NODES):
            expected = ", ".join((*NUMBERS, NODES))
            raise VerificationError(
                f"{where}no column is called {name[:40]!r}; expected {expected}"
            )
        if names.count(name) > 1:
            raise VerificationError(f"{where}two columns are called {name}")
    for name in NUMBERS:
        if name not in names:
            raise VerificationError(f"{where}there is no column {name}")


def rounds_in(text: str, line: str) -> Rounds:
    """The rounds that a table has as text.  Raises VerificationError on other texts."""
    digits = f"[0-9]{{1,{MOST_DIGITS}}}"
    match = re.fullmatch(f"({digits})(?:/({digits}))?", text, re.ASCII)
    if match is None or not int(match[2] or 1):
        raise VerificationError(
            f"{line}: {ROUNDS} is {text[:40]!r}; expected a number of at most {MOST_DIGITS} "
            "digits, or a ratio such as 7/9"
        )
    return exact(Fraction(text))


def _require_sane(rows: Sequence[SendRow]) -> None:
    """Raises VerificationError unless rows are sends of some instance."""
    rounds: dict[int, Rounds] = {}
    seen: dict[tuple[int, ...], str] = {}
    for row in rows:
        if row.source == row.destination:
            raise row.wrong(f"node {row.source} sends to itself")
        if rounds.setdefault(row.step, row.rounds) != row.rounds:
            raise row.wrong(
                f"step {row.step} has {row.rounds} rounds here and {rounds[row.step]} above"
            )
        if len(set(row.contributors)) < len(row.contributors):
            raise row.wrong("a contributor is named twice")
        if bool(row.contributors) != bool(rows[0].contributors):
            raise row.wrong("contributors in some rows and none in others; expected all or none")
        key = (row.step, row.chunk, row.source, row.destination, *sorted(row.contributors))
        if key in seen:
            raise row.wrong(f"the same send as in {seen[key]}")
        seen[key] = row.line


def _require_solves(rows: Sequence[SendRow], instance: Instance) -> None:
    """Raises VerificationError unless rows solve an instance; see `syncoll.trust`.

    Steps without sends get the remaining rounds.
    """
    nodes = instance.topology.num_nodes
    if rows and bool(rows[0].contributors) != instance.combining:
        what = "needs" if instance.combining else "has no"
        raise VerificationError(f"{instance.collective} {what} contributors")
    rounds: dict[int, Rounds] = {}
    for row in rows:
        if row.step >= instance.steps:
            raise row.wrong(f"step {row.step}; there are {instance.steps}, from 0 on")
        rounds[row.step] = row.rounds
        for node in row.contributors:
            if node >= nodes:
                raise row.wrong(f"contributor {node}; there are {nodes} nodes")
    sends = np.array(
        [(row.chunk, row.source, row.destination, row.step) for row in rows], dtype=np.int64
    ).reshape(-1, 4)
    carried = None
    if instance.combining:
        carried = np.zeros((len(rows), nodes), dtype=bool)
        for i, row in enumerate(rows):
            carried[i, list(row.contributors)] = True
    require_valid(instance, Algorithm(_rounds_per_step(rounds, instance), sends, carried))


def _rounds_per_step(rounds: dict[int, Rounds], instance: Instance) -> tuple[Rounds, ...]:
    """The rounds of every step; the first one without sends gets the remaining rounds."""
    given = instance.rounds_per_step or (0,) * instance.steps
    result: list[Rounds] = [rounds.get(step, given[step]) for step in range(instance.steps)]
    idle = [step for step in range(instance.steps) if step not in rounds]
    if instance.rounds_per_step is None and idle:
        result[idle[0]] += max(0, instance.rounds - sum(result))
    return tuple(result)


def checked(rows: Sequence[SendRow], kind: str, instance: Instance | None) -> CheckedExport:
    """The facts about a table whose rows are sends, and solve the instance if given.

    Raises VerificationError if the rows contradict each other, or are no valid algorithm.
    """
    _require_sane(rows)
    if instance is not None:
        _require_solves(rows, instance)
    nodes = {node for row in rows for node in (row.source, row.destination, *row.contributors)}
    facts: dict[str, int | str] = {
        "sends": len(rows),
        "steps": len({row.step for row in rows}),
        "chunks": len({row.chunk for row in rows}),
    }
    facts["solves"] = "replayed"
    if instance is None:
        facts["solves"] = "not checked: the table has no instance"
    return CheckedExport(
        kind,
        "not stated" if instance is None else instance.collective,
        max(nodes, default=-1) + 1 if instance is None else instance.topology.num_nodes,
        None,
        facts,
        instance is not None,
        links=frozenset((row.source, row.destination) for row in rows),
        all_nodes=instance is not None,
        num_chunks=max((row.chunk + 1 for row in rows), default=0),
        steps=max((row.step + 1 for row in rows), default=0),
        rounds=exact(sum({row.step: row.rounds for row in rows}.values())),
    )


_MOST_CELLS = 1 << 28
"""Most cells of pre and post, chunks by nodes."""

Links = tuple[tuple[Node, Node], ...]
Chunk = Annotated[int, Meta(ge=0)]


class TableBound(Record, frozen=True, omit_defaults=True):
    """A bandwidth bound of the topology."""

    links: Links
    chunks_per_round: Fraction
    label: str
    counts: Counting = Counting.SENDS


class TableTopology(Record, frozen=True):
    """The topology."""

    name: str
    nodes: Nodes
    links: Links
    bounds: tuple[TableBound, ...]
    grains: Annotated[int, Meta(ge=2, le=MOST_GRAINS)] | UnsetType = UNSET


class TableInstance(Record, frozen=True):
    """The instance: the topology, and the chunks that start and must end at each node."""

    version: Literal[1, 2]
    collective: str
    combining: bool
    chunks: Count
    global_chunks: Count
    steps: Count
    rounds: RoundsEntry
    rounds_per_step: tuple[RoundsEntry, ...] | None
    starts: tuple[tuple[Chunk, ...], ...]
    ends: tuple[tuple[Chunk, ...], ...]
    topology: TableTopology


def metadata_of(instance: Instance) -> str:
    """An instance as JSON."""
    starts, ends = (
        tuple(tuple(np.flatnonzero(column).tolist()) for column in relation.T)
        for relation in (instance.pre, instance.post)
    )
    bounds = tuple(TableBound.of(bound) for bound in instance.topology.bounds)
    grains = instance.topology.grains
    topology = TableTopology.of(
        instance.topology,
        nodes=instance.topology.num_nodes,
        bounds=bounds,
        grains=UNSET if grains == 1 else grains,
    )
    record = TableInstance.of(
        instance,
        version=1 if grains == 1 else 2,
        global_chunks=instance.num_chunks,
        starts=starts,
        ends=ends,
        topology=topology,
    )
    return json.dumps(msgspec.to_builtins(record, enc_hook=str), separators=(",", ":"))


def instance_of(document: bytes) -> Instance:
    """The instance that metadata describe; VerificationError if they describe none."""
    try:
        stated: TableInstance = read_record(json.loads(document), TableInstance, "its metadata")
        nodes = stated.topology.nodes
        if nodes * max(1, stated.global_chunks) > _MOST_CELLS:
            raise ModelError(f"{stated.global_chunks} chunks on {nodes} nodes")
        bounds = tuple(
            BandwidthBound(one.links, one.chunks_per_round, one.label, one.counts)
            for one in stated.topology.bounds
        )
        grains, given = stated.topology.grains or 1, stated.rounds_per_step
        return Instance(
            Topology(stated.topology.name, nodes, stated.topology.links, bounds, grains=grains),
            *(stated.collective, stated.chunks, stated.steps, rounds_of(stated.rounds, grains)),
            _relation(stated.starts, stated.global_chunks, nodes),
            _relation(stated.ends, stated.global_chunks, nodes),
            stated.combining,
            given and tuple(rounds_of(one, grains) for one in given),
        )
    except FileFormatError as error:
        raise VerificationError(str(error)) from error
    except ModelError as error:
        raise VerificationError(f"its metadata: {error}") from error
    except (RecursionError, ValueError) as error:
        raise VerificationError(
            "its metadata under the key syncoll do not describe an instance "
            f"({type(error).__name__}: {error})"
        ) from error


def _relation(by_node: Sequence[Sequence[int]], chunks: int, nodes: int) -> BoolArray:
    array = np.zeros((chunks, nodes), dtype=bool)
    if len(by_node) > nodes:
        raise ModelError(f"chunks of {len(by_node)} nodes instead of {nodes}")
    for node, members in enumerate(by_node):
        if any(chunk >= chunks for chunk in members):
            raise ModelError(f"a chunk of node {node} is not within 0 to {chunks - 1}")
        array[list(members), node] = True
    return array
