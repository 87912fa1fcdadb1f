"""Checks a forest edge by edge against the fabric, independently of its packer."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Fabric, Forest
from syncoll.results.forest import PackedForest

_CELLS = 8_000_000


def verify_forest(forest: Forest) -> Fraction:
    """Checks a forest; returns the time in which it moves one unit of data for a weight of 1, that
    of the busiest link, at most ``scale / k``.

    Each root must have its trees, and every route must be a path of existing links through
    switches.  Each tree spans the nodes and enters each node but its root once.  It branches at
    nodes, and at switches that copy (or, in a reduction, add up) and that it enters once.  No link
    may carry more trees than its bandwidth times the scale.  Raises `VerificationError` with the
    first wrong tree, route or link.
    """
    fabric = forest.fabric
    nodes, count = fabric.num_nodes, len(forest.roots)
    able = fabric.reduce if forest.inward else fabric.multicast
    does = "adds up" if forest.inward else "copies"
    for switch in forest.junctions:
        if switch not in able:
            where = fabric.vertex_name(switch)
            raise _wrong(forest, f"its trees branch at {where}, which is no switch that {does}")
    stops = {*range(nodes), *forest.junctions}
    if len(stops) != nodes + len(forest.junctions):
        raise _wrong(forest, "a switch is a junction twice")
    if forest.entering.shape != (count, len(stops)) or forest.multiplicity.shape != (count,):
        raise _wrong(forest, "its arrays do not fit together")
    if count and int(forest.multiplicity.min()) < 1:
        raise _wrong(forest, "a tree has a weight below 1")
    if forest.k < 1 or forest.scale <= 0:
        raise _wrong(forest, f"k is {forest.k}, its scale {forest.scale}")
    rooted = [0] * nodes
    for root, weight in zip(forest.roots.tolist(), forest.multiplicity.tolist(), strict=True):
        if not 0 <= root < nodes:
            raise _wrong(forest, f"a tree has the root {root}")
        rooted[root] += weight
    for node, have in enumerate(rooted):
        want = forest.k * forest.weights[node]
        if have != want:
            raise _wrong(forest, f"{have} trees are rooted at node {node}, not {want}")
    links = fabric.bandwidths
    for path in forest.routes:
        for hop in itertools.pairwise(path):
            if hop not in links:
                raise _wrong(forest, f"route {path} takes {hop}, no link")
        if len(path) < 2 or path[0] not in stops or path[-1] not in stops:
            raise _wrong(forest, f"route {path} does not join two nodes or junctions")
        if any(v < nodes for v in path[1:-1]):
            raise _wrong(forest, f"route {path} passes through a node")
    load = Counter[tuple[int, int]]()
    for path, trees in zip(forest.routes, _check_trees(forest), strict=True):
        for hop in itertools.pairwise(path):
            load[hop] += trees
    for hop, trees in load.items():
        room = forest.scale * links[hop]
        if trees > room:
            text = (
                f"link {hop} of bandwidth {links[hop]} carries {trees} trees, but only {room} fit"
            )
            raise _wrong(forest, text)
    return max((trees / links[hop] for hop, trees in load.items()), default=Fraction(0)) / forest.k


def _wrong(forest: Forest, text: str) -> VerificationError:
    return VerificationError(f"forest on {forest.fabric.name}: {text}")


def verify_packed(packed: PackedForest, fabric: Fabric, root: int | None = None) -> None:
    """Checks the trees edge by edge, and the bound by adding up the links that leave the cut.
    Raises `VerificationError` if a tree, the cut or a throughput is wrong, or for another network
    than `fabric`."""
    forest, nodes = packed.forest, fabric.num_nodes
    weights = tuple(int(root is None or v == root) for v in range(nodes))
    if forest.fabric != fabric or forest.inward is not packed.reduces:
        raise VerificationError(f"the trees for {fabric.name} belong to another network")
    if forest.weights != weights:
        raise VerificationError(
            f"the trees for {packed.collective} on {fabric.name} carry other shares of the data"
        )
    verify_forest(forest)
    inside = sum(v in packed.cut for v in range(nodes))
    if not 0 < inside < nodes or not packed.crossing:
        raise VerificationError(f"the bottleneck cut of {fabric.name} separates no data")
    room = sum((bandwidth for _, _, bandwidth in packed.leaving), Fraction(0))
    bound = sum(weights) * room / packed.crossing
    if bound != packed.bound or packed.algbw > bound:
        raise VerificationError(
            f"the bottleneck cut of {fabric.name} proves {bound}; {packed.bound} is claimed, "
            f"and the trees reach {packed.algbw}"
        )


def verify_any_roots(any_roots: tuple[Fraction, Fraction], algbw: Fraction) -> None:
    """Checks that the claimed throughput of an allreduce with any roots, the least and the
    greatest, does not contradict that with given roots; raises `VerificationError`.  Its proof
    takes a linear program, and is not checked."""
    at_least, at_most = any_roots
    if not algbw <= at_least <= at_most:
        raise VerificationError(
            f"an allreduce with any roots is said to reach at least {at_least} and at most "
            f"{at_most}, and its two halves reach {algbw}"
        )


def _check_trees(forest: Forest) -> list[int]:
    """Checks that every row is a tree that spans the nodes; returns the trees on each route."""
    nodes = forest.fabric.num_nodes
    stops = [*range(nodes), *forest.junctions]
    column = np.full(forest.fabric.num_vertices, -1, dtype=np.int32)
    column[stops] = everyone = np.arange(len(stops), dtype=np.int32)
    far = 0 if forest.inward else -1
    child = column[[path[far] for path in forest.routes] or [0]]
    parent = column[[path[-1 - far] for path in forest.routes] or [0]]
    use = np.zeros(len(forest.routes), dtype=np.int64)
    rows = max(1, _CELLS // len(stops))
    if int(forest.multiplicity.sum()) * len(stops) >= 1 << 62:
        raise _wrong(forest, "too many trees to count in 64 bits")
    for begin in range(0, len(forest.roots), rows):
        entering = forest.entering[begin : begin + rows]
        roots = forest.roots[begin : begin + rows]
        weights = forest.multiplicity[begin : begin + rows]
        is_root = everyone[None, :] == roots[:, None]
        unused = (entering < 0) & (everyone >= nodes)[None, :]
        stays = is_root | unused
        if (
            ((entering < 0) != stays).any()
            or entering.max(initial=0) >= max(1, len(forest.routes))
            or entering.min(initial=0) < -1
        ):
            raise _wrong(forest, f"a tree from {begin} on lacks a route, or enters its root")
        if not forest.routes:
            continue
        if (np.where(stays, everyone, child[entering]) != everyone).any():
            raise _wrong(forest, "a tree enters a node by another's route")
        above = np.where(stays, everyone, parent[entering])
        # A chain of ancestors that never meets the root is a cycle, or ends at a junction that the
        # tree does not enter.
        steps = 1
        lost = (above != roots[:, None]) & ~unused
        while steps < len(stops) and lost.any():
            above = np.take_along_axis(above, above, axis=1)
            lost = (above != roots[:, None]) & ~unused
            steps *= 2
        if lost.any():
            row, place = (int(x[0]) for x in np.nonzero(lost))
            end = int(above[row, place])
            what = "runs in a circle"
            if unused[row, end]:
                switch = forest.fabric.vertex_name(stops[end])
                what = f"continues from {switch} before it reaches it"
            raise _wrong(forest, f"tree {begin + row} {what}")
        for weight in np.unique(weights):
            chosen = entering[weights == weight].ravel()
            counts = np.bincount(chosen[chosen >= 0], minlength=len(use))
            use += int(weight) * counts
    return [int(x) for x in use]
