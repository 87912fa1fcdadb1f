"""Reads algorithm JSON, and replays it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from syncoll.arrays import Bools
from syncoll.documents.record import Count, Node, PositiveCount, Record, read_record
from syncoll.errors import FileFormatError, VerificationError
from syncoll.importing.fitting import fitted
from syncoll.importing.json_text import parse_json
from syncoll.importing.msccl_json import topology_in
from syncoll.model import Algorithm, Instance, Topology
from syncoll.plugins import CheckedExport, Options
from syncoll.plugins.foreign import ForeignAlgorithm, Meant as Named
from syncoll.trust import require_valid

_MOST_CELLS = 1 << 26
_NAME = re.compile(r"(\w+)\(n=[0-9]+(?:,root=([0-9]+))?\)")


class ScclStep(Record, frozen=True):
    """A step: rows of address, source and destination."""

    rounds: Count
    sends: list[tuple[Count, Node, Node]]


class ScclChunk(Record, frozen=True):
    """A chunk of the collective; the contributions to one reduction have one address."""

    pre: list[Node]
    post: list[Node]
    addr: Count


class ScclCollective(Record, frozen=True):
    """The collective before its chunks are cut; some files leave its chunks out."""

    name: str
    nodes: Annotated[int, Meta(ge=1)]
    chunks: list[ScclChunk]


class ScclInstance(Record, frozen=True):
    """The arguments of the synthesis."""

    chunks: PositiveCount
    pipeline: int | None = None


class ScclFile(Record, frozen=True):
    """The file.

    Args:
        input_map: by rank, as text, the addresses that it has at the start.
        output_map: the addresses that it needs in the end.
        topology: see importer msccl-topology.
    """

    instance: ScclInstance
    input_map: dict[str, list[Count]]
    output_map: dict[str, list[Count]]
    steps: list[ScclStep]
    collective: ScclCollective
    topology: dict[str, Any]


class ScclChecker:
    """Checks one file."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`."""
        found = self.read(files, Named())
        assert found.topology is not None
        own, algorithm = fitted(found, found.topology, None)
        require_valid(own, algorithm)
        if instance is not None:
            starts, ends = (
                sorted(map(bytes, np.packbits(np.concatenate([x.pre, x.post], 1), axis=1)))
                for x in (own, instance)
            )
            if starts != ends or own.combining is not instance.combining:
                name = instance.collective
                raise VerificationError(f"its chunks start or end elsewhere than in {name}")
            asked = instance if own.rounds == instance.rounds else instance.in_grains
            costs = (own.topology.links, own.steps, own.rounds)
            if costs != (asked.topology.links, asked.steps, asked.rounds):
                raise VerificationError("its links, steps or rounds differ from the algorithm's")
            require_valid(replace(own, topology=asked.topology), algorithm)
        facts: dict[str, int | str] = {"steps": own.steps, "rounds": str(own.rounds)}
        facts |= {"chunks": found.chunks, "sends": algorithm.num_sends}
        return CheckedExport(
            "SCCL algorithm",
            found.collective,
            own.topology.num_nodes,
            None,
            facts,
            links=frozenset((a, b) for _, a, b, _ in algorithm.sends.tolist()),
            steps=own.steps,
            rounds=own.rounds,
            instance=own,
        )

    def read(self, files: Mapping[str, bytes], meant: Named) -> ForeignAlgorithm:
        """The algorithm of the file, which states all of it."""
        (content,) = files.values()
        try:
            data = parse_json(content.decode("utf-8-sig"))
            if not isinstance(data, dict) or data.get("msccl_type") != "algorithm":
                raise VerificationError("its msccl_type is not 'algorithm'")
            file: ScclFile = read_record(data, ScclFile, "the algorithm")
            topology = topology_in(file.topology, [], str(file.topology.get("name") or "imported"))
        except UnicodeDecodeError as error:
            raise VerificationError(f"byte {error.start} is not UTF-8") from None
        except FileFormatError as error:
            where = "line " * bool(getattr(error, "line", 0))
            raise VerificationError(f"{where}{error}") from None
        if file.instance.pipeline:
            raise VerificationError("its steps overlap (pipeline), which has no equivalent")
        return _algorithm(file, topology)


def _algorithm(file: ScclFile, topology: Topology) -> ForeignAlgorithm:
    nodes, chunks = topology.num_nodes, file.instance.chunks
    if file.collective.nodes != nodes:
        raise VerificationError(
            f"its collective is for {file.collective.nodes} nodes, its topology has {nodes}"
        )
    rows = [(*send, number) for number, step in enumerate(file.steps) for send in step.sends]
    every = [one for by_rank in (file.input_map, file.output_map) for one in by_rank.values()]
    most = 1 + max((address for one in every for address in one), default=-1)
    if most * nodes > _MOST_CELLS:
        raise VerificationError(f"address {most - 1} on {nodes} nodes is too large")
    pre, post = (
        _relation(by_rank, most, nodes, name)
        for name, by_rank in (("input_map", file.input_map), ("output_map", file.output_map))
    )
    for position, (address, source, destination, step) in enumerate(rows):
        if address >= most or max(source, destination) >= nodes:
            first = sum(len(one.sends) for one in file.steps[:step])
            raise VerificationError(
                f"steps[{step}].sends[{position - first}] is {[address, source, destination]}; "
                f"addresses are below {most}, and nodes below {nodes}"
            )
    name, combining = _collective(file, pre, post)
    sends = np.array(rows, dtype=np.int64).reshape(-1, 4)
    algorithm = Algorithm(tuple(step.rounds for step in file.steps), sends)
    return ForeignAlgorithm(name, algorithm, pre, post, combining, chunks, topology)


def _relation(by_rank: Mapping[str, list[int]], most: int, nodes: int, name: str) -> Bools:
    found = np.zeros((most, nodes), dtype=bool)
    for rank, addresses in by_rank.items():
        if not re.fullmatch("[0-9]{1,5}", rank) or int(rank) >= nodes:
            raise VerificationError(f"{name}: {rank[:20]!r} is no rank; there are {nodes}, from 0")
        found[addresses, int(rank)] = True
    return found


def _collective(file: ScclFile, pre: Bools, post: Bools) -> tuple[str, bool]:
    """The name of the collective, and whether it reduces.  Raises VerificationError if the maps
    and its chunks differ."""
    stated, chunks = file.collective, file.instance.chunks
    match = _NAME.match(stated.name)
    name = "" if match is None else match[1].lower()
    combining = name in ("reduce", "allreduce", "reducescatter", "scan")
    if stated.chunks:
        combining = len({one.addr for one in stated.chunks}) < len(stated.chunks)
        starts, ends = np.zeros_like(pre), np.zeros_like(post)
        for one in stated.chunks:
            rows = slice(one.addr * chunks, (one.addr + 1) * chunks)
            if rows.stop > len(pre) or max([*one.pre, *one.post], default=0) >= pre.shape[1]:
                raise VerificationError(f"its maps lack the chunk of address {one.addr}, or nodes")
            known = ends[rows][0].nonzero()[0].tolist()
            if combining and known and known != sorted(one.post):
                raise VerificationError(
                    f"the contributions to address {one.addr} end at several places, as in a scan"
                )
            starts[rows, one.pre] = True
            ends[rows, one.post] = True
        if (starts != pre).any() or (ends != post).any():
            raise VerificationError("its maps differ from the chunks of its collective")
    elif name == "scan":
        raise VerificationError("a scan reduces to another result at each node")
    return (name if match is None or match[2] is None else f"{name}(root={match[2]})"), combining
