"""Writes algorithm JSON as ``msccl.serialization`` does."""

import json
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from syncoll.errors import ExportError, VerificationError
from syncoll.importing.fitting import contributions_of
from syncoll.importing.msccl_json import nearest
from syncoll.model import Algorithm, Counting, Instance, Topology
from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.wording import few

_CALLS = {name: name for name in ("allgather", "alltoall", "allreduce")}
_CALLS["reducescatter"] = "reduce_scatter"


class ScclExporter:
    """Writes ``NAME.json``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """The file.  Chunks that start and end alike have addresses one after the other."""
        instance, algorithm = request.instance, request.algorithm
        topology, grains = instance.topology, instance.topology.grains
        if any(not isinstance(rounds, int) for rounds in algorithm.rounds_per_step):
            topology, algorithm = topology.in_grains, algorithm.scaled(grains)
        _require_carried(instance, algorithm)
        name = instance.collective.partition("(")[0]
        classes, cut, address = _addresses(instance)
        steps = [
            {"msccl_type": "step", "rounds": rounds, "sends": []}
            for rounds in algorithm.rounds_per_step
        ]
        for chunk, source, destination, step in algorithm.sends.tolist():
            steps[step]["sends"].append([address[chunk], source, destination])
        about = {"steps": algorithm.steps, "extra_rounds": algorithm.rounds - algorithm.steps}
        none = {"pipeline": None, "extra_memory": None, "allow_exchange": False}
        maps = [
            {
                str(rank): sorted(address[chunk] for chunk in np.flatnonzero(column).tolist())
                for rank, column in enumerate(relation.T)
                if column.any()
            }
            for relation in (instance.pre, instance.post)
        ]
        words = name.capitalize().replace("scatter", "Scatter") + f"(n={topology.num_nodes})"
        collective = {"msccl_type": "collective", "name": words, "nodes": topology.num_nodes}
        collective |= {"chunks": classes, "triggers": {}}
        collective |= {"runtime_name": _CALLS.get(name, "custom")}
        document = {
            "msccl_type": "algorithm",
            "name": request.name,
            "instance": {"msccl_type": "instance", **about, "chunks": cut, **none},
            "input_map": maps[0],
            "output_map": maps[1],
            "steps": steps,
            "collective": collective,
            "topology": _topology(topology),
        }
        return Exported({f"{request.name}.json": (json.dumps(document) + "\n").encode()})


def _require_carried(instance: Instance, algorithm: Algorithm) -> None:
    """Raises ExportError unless each send carries all that its source has reduced."""
    if not instance.combining:
        return
    try:
        same = (contributions_of(algorithm.sends, instance.pre) == algorithm.contributions).all()
    except VerificationError:
        same = False
    if (instance.pre.sum(axis=1) < 2).all():
        raise ExportError("no chunk has several contributions, which tell reductions from copies")
    if not same:
        raise ExportError("a node keeps partial results of a chunk apart, and an address holds one")


def _addresses(instance: Instance) -> tuple[list[dict[str, Any]], int, list[int]]:
    """The chunks of the collective, the number of parts of each, and the address of each part."""
    both = instance.pre, instance.post
    ends = [[np.flatnonzero(x[some[0]]).tolist() for x in both] for some in instance.chunk_classes]
    cut = gcd(*map(len, instance.chunk_classes))
    order = sorted(range(len(ends)), key=lambda i: ends[i][::-1])
    chunks, address, following = [], [0] * instance.num_chunks, 0
    for i in order:
        starts, post = ends[i]
        for part in [[one] for one in starts] if instance.combining else [starts]:
            chunks += [
                {"msccl_type": "chunk", "pre": part, "post": post, "addr": following // cut + k}
                for k in range(len(instance.chunk_classes[i]) // cut)
            ]
        for chunk in instance.chunk_classes[i].tolist():
            address[chunk] = following
            following += 1
    return chunks, cut, address


def _topology(topology: Topology) -> dict[str, Any]:
    """The topology; raises ExportError if a bound is not one of the format."""
    matrix: list[list[float]] = [[0] * topology.num_nodes for _ in range(topology.num_nodes)]
    links, switches = set(topology.links), []
    for bound in topology.bounds:
        width = _decimal(bound.chunks_per_round)
        sources, destinations = (sorted(set(side)) for side in zip(*bound.links, strict=True))
        between = {(a, b) for a in sources for b in destinations} & links
        if bound.counts is not Counting.SENDS or between != set(bound.links):
            raise ExportError(
                f"the bound {bound.label or few([f'{a}->{b}' for a, b in bound.links], 4)} is not "
                "one on all sends from some nodes to others"
            )
        if len(bound.links) > 1:
            switches.append([sources, destinations, width, bound.label])
        for a, b in bound.links:
            matrix[b][a] = min(matrix[b][a] or width, width)
    for a, b in links:
        matrix[b][a] = matrix[b][a] or topology.num_nodes
    return {"msccl_type": "topology", "name": topology.name, "switches": switches, "links": matrix}


def _decimal(bandwidth: Fraction) -> float:
    if bandwidth.denominator == 1:
        return bandwidth.numerator
    if nearest(Fraction(repr(float(bandwidth)))) != bandwidth:
        raise ExportError(f"a bandwidth of {bandwidth} chunks per round is no decimal number")
    return float(bandwidth)
