"""An algorithm step by step, for people."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncoll.model import Algorithm, Instance

__all__ = ["show_algorithm"]


def show_algorithm(instance: Instance, algorithm: Algorithm) -> None:
    """Every step with its rounds and, link by link, the chunks that it sends."""
    from syncoll.cli.output import print_text

    print_text(
        f"{instance.collective} on {instance.topology.name}: {instance.num_chunks} chunks in all "
        f"(C = {instance.chunks}), {algorithm.steps} steps, {algorithm.rounds} rounds, "
        f"{len(algorithm.sends)} sends"
    )
    by_step: dict[int, dict[tuple[int, int], list[int]]] = defaultdict(lambda: defaultdict(list))
    for chunk, source, destination, step in algorithm.sends.tolist():
        by_step[step][source, destination].append(chunk)
    for step, rounds in enumerate(algorithm.rounds_per_step):
        print_text(f"step {step}, {rounds} round{'s' if rounds != 1 else ''}")
        for (source, destination), chunks in sorted(by_step[step].items()):
            listed = " ".join(str(chunk) for chunk in chunks)
            print_text(f"  {source:>4} -> {destination:<4} chunks {listed}")
