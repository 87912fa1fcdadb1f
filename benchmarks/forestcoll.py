"""ForestColl: the paper's figures and ours side by side, and how far it scales on one core.

::

    python benchmarks/forestcoll.py                  # the tables of results/forestcoll.md
    python benchmarks/forestcoll.py --nodes 64       # only networks of at most 64 GPUs

Throughput is all data over time, in GB/s.  Each row of the scale table has a process of its own,
which builds the network, synthesises, and verifies all trees edge by edge; its seconds are of the
library, without starting Python and building the network, its memory is that of the process. CPU
seconds are the work of one core; on a busy machine more seconds pass.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from random import Random

from benchmarks.classics import box_rings, ring_algbw
from benchmarks.tables import made_at
from syncoll.model.fabric import Fabric
from syncoll_forestcoll.allreduce_program import allreduce_bounds
from tests.oracles.fabrics import (
    a100,
    bigraph,
    dgx1,
    fat_tree,
    leaf_spine,
    mi250,
    p2_16xlarge,
    torus,
)
from tests.oracles.forests import allgather, allreduce, broadcast, pack_allreduce, reducescatter

EIGHT = mi250(2, gpus=8)


def free(fabric: Fabric, k: int) -> Fraction:
    """The optimal allgather, which must need this k."""
    plan = allgather(fabric)
    if plan.forest.k != k:
        raise SystemExit(f"{fabric.name}: k = {plan.forest.k}, not {k}")
    return plan.algbw


def fixed(fabric: Fabric, k: int) -> Fraction:
    """The best allgather of k trees for each root."""
    return allgather(fabric, fixed_k=k).algbw


def any_roots(fabric: Fabric) -> Fraction:
    """The bound on an allreduce by trees with any roots (section E)."""
    return allreduce_bounds(fabric).at_most


def at_once(fabric: Fabric) -> Fraction:
    """The throughput of forests that reduce and broadcast at the same time."""
    bounds = allreduce_bounds(fabric)
    return min(plan.algbw for plan in pack_allreduce(fabric, bounds))


def irregular(gpus: int, leaves: int, spines: int, *, boxes: bool = True) -> Fabric:
    """Boxes of 4 to 16 GPUs (or single ones), cards of 25 or 50 GB/s, uplinks of 100 to 400."""
    random = Random(1)
    below: list[list[int]] = [[] for _ in range(leaves)]
    left, turn = gpus, 0
    while left:
        size = min(left, random.choice((4, 8, 8, 8, 16)) if boxes else 1)
        below[turn % leaves].append(size)
        left, turn = left - size, turn + 1
    return leaf_spine(
        below,
        [random.choice((25, 25, 50)) for _ in below],
        [[random.choice((100, 200, 400)) for _ in range(spines)] for _ in below],
    )


_Figure = tuple[str, str, str, Callable[[], Fraction]]

# Name, the throughput that the paper derives, its measurement at 1 GB (Tables 2 and 3), ours.
FIGURES: tuple[_Figure, ...] = (
    ("A100, 2 boxes, allgather", "346.67", "", lambda: allgather(a100(2)).algbw),
    ("A100, 2 boxes, ring allgather", "213.33", "", lambda: ring_algbw(a100(2), box_rings(2))),
    ("A100, 2 boxes, reducescatter", "", "", lambda: reducescatter(a100(2)).algbw),
    ("A100, 2 boxes, allreduce", "", "", lambda: allreduce(a100(2)).algbw),
    ("A100, 2 boxes, allreduce, any roots, at most", "", "", lambda: any_roots(a100(2))),
    ("A100, 2 boxes, broadcast", "", "", lambda: broadcast(a100(2), 0).algbw),
    ("MI250, 16+16, allgather, k = 83", "354.13", "174", lambda: free(mi250(2), 83)),
    ("MI250, 16+16, allgather, k = 2", "341.33", "", lambda: fixed(mi250(2), 2)),
    ("MI250, 16+16, reducescatter", "", "177", lambda: reducescatter(mi250(2)).algbw),
    ("MI250, 16+16, allreduce", "", "87.4", lambda: allreduce(mi250(2)).algbw),
    ("MI250, 16+16, allreduce, any roots, at most", "", "", lambda: any_roots(mi250(2))),
    ("MI250, 8+8, allgather", "", "121", lambda: allgather(EIGHT).algbw),
    ("MI250, 8+8, reducescatter", "", "109", lambda: reducescatter(EIGHT).algbw),
    ("MI250, 8+8, allreduce", "", "61.4", lambda: allreduce(EIGHT).algbw),
    ("MI250, 8+8, allreduce, any roots, at most", "", "", lambda: any_roots(EIGHT)),
    ("MI250, 8+8, allreduce, both halves at once", "", "", lambda: at_once(EIGHT)),
    ("DGX-1, allgather", "", "", lambda: allgather(dgx1()).algbw),
    ("DGX-1, allreduce, any roots, at most", "", "", lambda: any_roots(dgx1())),
    ("P2.16xlarge, 1 a link, allgather", "", "", lambda: allgather(p2_16xlarge()).algbw),
    ("Fat tree 8 x 8, allgather", "", "", lambda: allgather(fat_tree(8, 8)).algbw),
    ("BiGraph 4 x 8, allgather", "", "", lambda: allgather(bigraph(4, 8)).algbw),
)

# Name, GPUs, the seconds that it should stay below, the network.
SCALE: tuple[tuple[str, int, float | None, Callable[[], Fabric]], ...] = (
    ("a100-64", 64, 1, lambda: a100(8)),
    ("mi250-64", 64, 1, lambda: mi250(4)),
    ("a100-1024", 1024, 10, lambda: a100(128)),
    ("mi250-1024", 1024, 10, lambda: mi250(64)),
    ("torus-32x32", 1024, 2, lambda: torus(32, 32)),
    ("leaf-spine-1057, 16 + 4", 1057, 15, lambda: irregular(1057, 16, 4)),
    ("leaf-spine-1057, 32 + 8", 1057, 15, lambda: irregular(1057, 32, 8)),
    ("leaf-spine-256, no boxes", 256, None, lambda: irregular(256, 16, 4, boxes=False)),
    ("a100-4096", 4096, None, lambda: a100(512)),
    ("mi250-4096", 4096, None, lambda: mi250(256)),
    ("torus-64x64", 4096, None, lambda: torus(64, 64)),
)


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(title: str, *cells: str) -> None:
    print(f"\n## {title}\n")
    row(*cells)
    row(*["---"] * len(cells))


def figures() -> None:
    head("Figures", "what", "paper", "measured there at 1 GB", "ours", "exact", "seconds")
    for name, paper, measured, compute in FIGURES:
        start = time.perf_counter()
        ours = compute()
        seconds = time.perf_counter() - start
        row(name, paper, measured, f"{float(ours):.2f}", ours, f"{seconds:.2f}")


def one(name: str) -> None:
    """One row of the scale table."""
    fabric = next(build for n, _, _, build in SCALE if n == name)()
    start, worked = time.perf_counter(), time.process_time()
    plan = allgather(fabric)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    stages = ", ".join(f"{stage} {s:.2f}" for stage, s in plan.seconds.items())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row(
        name,
        next(f"{limit} s" if limit else "" for n, _, limit, _ in SCALE if n == name),
        f"{worked:.2f}",
        f"{seconds:.2f}",
        stages,
        f"{float(plan.algbw):.3f}",
        plan.forest.k,
        plan.forest.num_trees,
        plan.forest.height,
        f"{memory:.2f} GiB",
    )
    if not plan.is_optimal:
        raise SystemExit("not optimal")


def scale(nodes: int) -> None:
    head("Scale", "network, GPUs", "to stay below", "CPU seconds", "seconds", "of these",
         "GB/s", "k", "different trees", "height", "memory")  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name, size, _, _ in SCALE:
        if size <= nodes:
            command = [sys.executable, __file__, "--one", name]
            subprocess.run(command, env=environment, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=4096, help="the largest network of the table")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one)
        return
    print(made_at("backends/syncoll_forestcoll", "syncoll/routing"))
    figures()
    scale(arguments.nodes)


if __name__ == "__main__":
    main()
