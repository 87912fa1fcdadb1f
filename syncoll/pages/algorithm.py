"""Pages of an algorithm and of a point."""

from collections import defaultdict

import numpy as np

from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.pages.page import PageParts, paged
from syncoll.results import Point
from syncoll.wording import counted, few, nearness

_FIRST_SENDS = 4


@paged
def algorithm_page(instance: Instance, algorithm: Algorithm) -> PageParts:
    """Every step with its rounds and, link by link, the chunks that it sends.  For a partial result
    the nodes whose contributions it holds follow in parentheses."""
    yield (
        f"{instance.collective} on {instance.topology.name}: "
        f"{counted(instance.num_chunks, 'chunk')} in all (C = {instance.chunks}), "
        f"{counted(algorithm.steps, 'step')}, {counted(algorithm.rounds, 'round')}, "
        f"{counted(algorithm.num_sends, 'send')}"
    )
    if isinstance(algorithm, OrbitAlgorithm):
        carriers, algorithm = algorithm.carriers, algorithm.representative
        own = np.unique(algorithm.sends[:, 0]).tolist()
        noun = "chunk" if len(own) == 1 else "chunks"
        yield (
            f"the {counted(algorithm.num_sends, 'send')} of {noun} {few(own)}; "
            f"{carriers.order} automorphisms, the identity among them, carry these to all others"
        )
    by_step: dict[int, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for i, (chunk, source, destination, step) in enumerate(algorithm.sends.tolist()):
        by_step[step][source, destination].append(_carried(instance, algorithm, i, chunk))
    digits = len(str(instance.topology.num_nodes - 1))
    for step, rounds in enumerate(algorithm.rounds_per_step):
        yield f"step {step}, {counted(rounds, 'round')}"
        for (source, destination), chunks in sorted(by_step[step].items()):
            noun = "chunk " if len(chunks) == 1 else "chunks"
            yield f"  {source:>{digits}} -> {destination:<{digits}}  {noun} {' '.join(chunks)}"


def point_summary(point: Point, place: str, max_chunks: int | None = None) -> str:
    """Ten lines: costs, the gap to the bound for C up to a limit, the origin, the first sends."""
    instance, algorithm = point.instance, point.algorithm
    if point.bound is None:
        gap = "no bound is proved"
    else:
        among = "" if max_chunks is None else f" for C <= {max_chunks}"
        gap = f"{nearness(point.bandwidth, point.bound)} (proved{among}: R/C >= {point.bound})"
    own = algorithm.representative if isinstance(algorithm, OrbitAlgorithm) else algorithm
    first = own.sends[np.argsort(own.sends[:, 3], kind="stable")[:_FIRST_SENDS]]
    lines = [
        f"{place}: {instance.collective} on {instance.topology.name}",
        f"  S = {point.steps} steps, R = {point.rounds}, C = {point.chunks} chunks per node",
        f"  R/C = {point.bandwidth}, {gap}",
        f"  found by {point.encoding}/{point.backend} in {point.seconds:.2f} s",
        f"  {point.messages} messages of {counted(algorithm.num_sends, 'send')}, such as:",
        *(f"    step {s}: chunk {c}, {a} -> {b}" for c, a, b, s in first.tolist()),
        "  print() shows all of them",
    ]
    return "\n".join(lines)


def _carried(instance: Instance, algorithm: Algorithm, send: int, chunk: int) -> str:
    """A chunk, and the contributors of a partial result."""
    if algorithm.contributions is None:
        return str(chunk)
    carried = algorithm.contributions[send]
    if (carried == instance.pre[chunk]).all():
        return f"{chunk}(all)"
    return f"{chunk}({'+'.join(str(n) for n in carried.nonzero()[0].tolist())})"
