"""Reads and checks files of forests."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from msgspec import UNSET

from syncoll.documents.document import parse_entries, read_text
from syncoll.documents.forest import ForestNetworkRecord, ForestRecord, PhaseRecord, TreeRecord
from syncoll.documents.record import read_record
from syncoll.documents.sniff import refuse_kind
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.model import Fabric, FabricLink, Forest
from syncoll.results.forest import ForestCollective, Forests, PackedForest
from syncoll.trust.forest import verify_any_roots, verify_packed

_LARGEST_WEIGHT = 1 << 60
_PHASES = (ForestCollective.REDUCESCATTER, ForestCollective.ALLGATHER)


def read_forests(path: Path, network: Fabric | None = None) -> Forests:
    """Reads a file by ``syncoll forest -o`` and checks every tree, cut and throughput, also against
    the expected network; files of version 1, which lack theirs, need it.

    Its seconds are not checked, and the throughput of an allreduce with any roots only against its
    trees.  Raises `FileFormatError` if it is no such file, or contradicts itself, and
    `VerificationError` if a tree, a cut or a throughput is wrong, or for another network.
    """
    name = str(path)
    entries = parse_entries(read_text(path), name)
    if isinstance(entries, dict):
        refuse_kind(entries.get("schema"), name, ("forest",))
    record = read_record(entries, ForestRecord, name)
    try:
        fabric = _fabric(record, network)
        return _forests(record, fabric)
    except VerificationError as error:
        raise VerificationError(f"{name}: {error}") from error
    except (FileFormatError, ModelError) as error:
        raise FileFormatError(f"{name}: {error}") from error


def _fabric(record: ForestRecord, network: Fabric | None) -> Fabric:
    """The network in a file, which must equal the given one; else the given one."""
    written: ForestNetworkRecord | None = None if record.network is UNSET else record.network
    if written is not None and record.schema == "syncoll/forest/1":
        raise FileFormatError("it has a network; expected schema syncoll/forest/2")
    if written is None:
        if record.schema != "syncoll/forest/1":
            raise FileFormatError("the entry 'network' is missing")
        if network is None:
            raise FileFormatError(
                "files of version 1 lack the network of their trees; name it with --topology"
            )
        fabric = network
    else:
        fabric = Fabric(
            record.topology,
            record.nodes,
            written.switches,
            tuple(FabricLink(*row) for row in written.links),
            measure=record.unit,
            multicast=written.multicast or (),
            reduce=written.reduce or (),
        )
    if network is not None and not (
        record.nodes == network.num_nodes
        and record.unit == network.measure
        and fabric.num_switches == network.num_switches
        and fabric.bandwidths == network.bandwidths
        and (fabric.multicast, fabric.reduce) == (network.multicast, network.reduce)
    ):
        raise VerificationError(f"its trees are for another network than {network.name}")
    return fabric


def _forests(record: ForestRecord, fabric: Fabric) -> Forests:
    allreduce = record.collective is ForestCollective.ALLREDUCE
    halves: tuple[PhaseRecord, ...] = record.phases or ()
    if allreduce is not bool(halves):
        raise FileFormatError(
            f"its collective is {record.collective}; expected an allreduce, the only collective "
            "with phases"
        )
    if halves and tuple(one.collective for one in halves) != _PHASES:
        raise FileFormatError("its phases are not a reducescatter and an allgather after it")
    if not allreduce and record.any_roots is not UNSET:
        raise FileFormatError(f"any_roots is about an allreduce, and this is a {record.collective}")
    parts: Sequence[PhaseRecord | ForestRecord] = halves or (record,)
    phases = tuple(_phase(one, one.collective, fabric) for one in parts)
    any_roots = record.any_roots
    found = Forests(
        record.topology,
        str(record.collective),
        phases,
        record.seconds.get("total", 0.0),
        None if any_roots is UNSET else (any_roots.at_least, any_roots.at_most),
        stored=True,
    )
    if (record.algbw, record.bound) != (found.algbw, found.bound):
        raise VerificationError(
            f"it claims {record.algbw} of {record.bound}, and its trees and cuts have "
            f"{found.algbw} of {found.bound}"
        )
    slowest = parts[phases.index(found.slowest)]
    if any(
        getattr(record, entry) != getattr(slowest, entry)
        for entry in ("k", "cut", "max_height", "trees")
    ):
        raise VerificationError("its trees differ from the trees of its slower phase")
    if found.any_roots is not None:
        verify_any_roots(found.any_roots, found.algbw)
    return found


def _phase(
    record: PhaseRecord | ForestRecord, collective: ForestCollective, fabric: Fabric
) -> PackedForest:
    if record.algbw <= 0:
        raise FileFormatError(f"algbw is {record.algbw}; expected a throughput above 0")
    if max(record.k, *(tree.weight for tree in record.trees)) > _LARGEST_WEIGHT:
        raise FileFormatError(f"k, or the weight of a tree, is above {_LARGEST_WEIGHT}")
    if len(set(record.cut)) < len(record.cut):
        raise FileFormatError("its cut names a vertex twice")
    root = record.trees[0].root if collective.rooted else None
    if root is not None and root >= fabric.num_nodes:
        raise VerificationError(f"a tree has the root {root}")
    weights = tuple(int(root is None or v == root) for v in range(fabric.num_nodes))
    scale = Fraction(sum(weights) * record.k) / record.algbw
    inward = collective in (ForestCollective.REDUCESCATTER, ForestCollective.REDUCE)
    forest = _trees(
        record.trees,
        inward,
        Forest(
            fabric,
            weights,
            record.k,
            scale,
            np.array([tree.root for tree in record.trees], dtype=np.int32),
            np.array([tree.weight for tree in record.trees], dtype=np.int64),
            (),
            np.zeros((0, 0), dtype=np.int32),
            inward,
        ),
    )
    packed = PackedForest(
        collective, forest, record.bound, frozenset(record.cut), dict(record.seconds)
    )
    verify_packed(packed, fabric, root)
    if record.max_height != forest.height:
        raise VerificationError(
            f"its highest tree has the height {forest.height}; {record.max_height} is claimed"
        )
    return packed


def _trees(trees: Collection[TreeRecord], inward: bool, empty: Forest) -> Forest:
    """The forest of listed trees; `verify_forest` must still check it."""
    fabric, nodes = empty.fabric, empty.fabric.num_nodes
    ends = {u if inward else v for tree in trees for u, v, _ in tree.edges}
    forest = replace(empty, junctions=tuple(sorted(v for v in ends if v >= nodes)))
    columns = forest.columns
    routes: dict[tuple[int, ...], int] = {}
    entering = np.full((len(trees), len(columns)), -1, dtype=np.int32)
    for number, tree in enumerate(trees):
        for sender, receiver, path in tree.edges:
            if (path[0], path[-1]) != (sender, receiver):
                raise VerificationError(
                    f"tree {number}: the path {list(path)} does not lead from {sender} to "
                    f"{receiver}"
                )
            vertex = sender if inward else receiver
            if vertex == tree.root or entering[number, columns[vertex]] >= 0:
                raise VerificationError(f"tree {number} reaches {fabric.vertex_name(vertex)} twice")
            entering[number, columns[vertex]] = routes.setdefault(path, len(routes))
    for number, tree in enumerate(trees):
        reached = {tree.root}
        for sender, receiver, _ in tree.edges:
            vertex, above = (sender, receiver) if inward else (receiver, sender)
            if above not in reached:
                raise VerificationError(
                    f"tree {number} continues from {fabric.vertex_name(above)} before it reaches it"
                )
            reached.add(vertex)
    return replace(forest, routes=tuple(routes), entering=entering)
