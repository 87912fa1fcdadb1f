"""An algorithm step by step, for people."""

from __future__ import annotations

from collections import defaultdict

from syncoll.model import Algorithm, Instance
from syncoll.pages.page import Page
from syncoll.wording import counted

__all__ = ["algorithm_page"]


def algorithm_page(instance: Instance, algorithm: Algorithm) -> Page:
    """Every step with its rounds and, link by link, the chunks that it sends.

    For a partial result the nodes whose contributions it holds follow in parentheses.
    """
    page = Page()
    page.text(
        f"{instance.collective} on {instance.topology.name}: "
        f"{counted(instance.num_chunks, 'chunk')} in all (C = {instance.chunks}), "
        f"{counted(algorithm.steps, 'step')}, {counted(algorithm.rounds, 'round')}, "
        f"{counted(len(algorithm.sends), 'send')}"
    )
    by_step: dict[int, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for i, (chunk, source, destination, step) in enumerate(algorithm.sends.tolist()):
        by_step[step][source, destination].append(_carried(instance, algorithm, i, chunk))
    digits = len(str(instance.topology.num_nodes - 1))
    for step, rounds in enumerate(algorithm.rounds_per_step):
        page.text(f"step {step}, {counted(rounds, 'round')}")
        for (source, destination), chunks in sorted(by_step[step].items()):
            noun = "chunk " if len(chunks) == 1 else "chunks"
            page.text(f"  {source:>{digits}} -> {destination:<{digits}}  {noun} {' '.join(chunks)}")
    return page


def _carried(instance: Instance, algorithm: Algorithm, send: int, chunk: int) -> str:
    """A chunk, and for a partial result whose contributions it is the reduction of."""
    if algorithm.contributions is None:
        return str(chunk)
    carried = algorithm.contributions[send]
    if (carried == instance.pre[chunk]).all():
        return f"{chunk}(all)"
    return f"{chunk}({'+'.join(str(n) for n in carried.nonzero()[0].tolist())})"
