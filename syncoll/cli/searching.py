"""What ``pareto`` and ``search`` share: limits of a search, running it, showing and saving it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import add_format, amount, count, duration
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.search import Frontier, SearchRequest
    from syncoll.solving import Solver

__all__ = ["add_search", "run_search", "show_frontier"]


def add_search(parser: argparse.ArgumentParser) -> None:
    """How far to search, and what to do with the result."""
    group = parser.add_argument_group("search")
    group.add_argument(
        "--strategy",
        choices=("certified", "paper"),
        default="certified",
        help="certified: from the proved bound for each S upwards, any k (default); "
        "paper: Algorithm 1 of the SCCL paper",
    )
    group.add_argument(
        "--k", type=amount, help="only k-synchronous algorithms, R <= S + k (paper: the least k "
        "with which the bandwidth bound can be met)"
    )  # fmt: skip
    group.add_argument(
        "--max-steps", type=amount, help="S at most (default: 3 more than the least possible)"
    )
    group.add_argument("--max-rounds", type=amount, help="R at most (default: no limit)")
    group.add_argument(
        "--max-chunks", type=count, help="C at most (certified: 24 times the least possible)"
    )
    group.add_argument(
        "--time-limit", type=duration, metavar="TIME", help="for the whole search, such as 30s, 2h"
    )
    group.add_argument(
        "--point-limit",
        type=duration,
        metavar="TIME",
        help="for each (S, R, C) (certified: 3 s, then 30 s for those left undecided)",
    )
    output = parser.add_argument_group("output")
    add_format(parser)
    output.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save the frontier as JSON as it grows"
    )
    output.add_argument(
        "--progress",
        choices=("auto", "live", "plain", "none"),
        default="auto",
        help="on standard error (default: live on a terminal, else none)",
    )


def run_search(arguments: argparse.Namespace, request: SearchRequest, solver: Solver) -> int:
    """Searches, shows the frontier, saves it where asked; the exit code."""
    from syncoll.cli.output import note, print_json
    from syncoll.cli.progress import progress
    from syncoll.files import frontier_document, write_document
    from syncoll.search import search

    output: Path | None = arguments.output

    def save(frontier: Frontier) -> None:
        if output is not None:
            write_document(output, frontier_document(frontier))

    with progress(arguments.progress) as observer:
        frontier = search(request, solver, observer, keep=save)
    if frontier.interrupted and output is None:
        output = Path(_file_name(frontier))
    save(frontier)
    if arguments.format == "json":
        print_json(frontier_document(frontier))
    else:
        show_frontier(frontier)
    if output is not None:
        note(f"saved in {output}")
    if frontier.interrupted:
        return Exit.INTERRUPTED
    if not frontier.points and not frontier.complete:
        return Exit.UNDECIDED
    if not frontier.points and any(claim.most_steps is not None for claim in frontier.open):
        return Exit.UNDECIDED
    return Exit.OK


def _file_name(frontier: Frontier) -> str:
    name = f"{frontier.topology.name}-{frontier.collective}"
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_") + ".frontier.json"


def show_frontier(frontier: Frontier) -> None:
    """A frontier for people, on standard output."""
    from syncoll.cli.output import console, print_text, table

    rows = [
        (
            p.steps,
            p.rounds,
            p.chunks,
            p.bandwidth,
            p.bound if p.bound is not None else "",
            " ".join(str(r) for r in p.algorithm.rounds_per_step),
            len(p.algorithm.sends),
            p.encoding,
            p.backend,
            f"{p.seconds:.2f}",
        )
        for p in frontier.points
    ]
    columns = (">steps S", ">rounds R", ">chunks C", ">bandwidth R/C", ">no less than")
    more = ("rounds per step", ">sends", "encoding", "backend", ">seconds")
    title = f"{frontier.collective} on {frontier.topology.name}"
    console().print(table(title, (*columns, *more), rows))
    count = len(frontier.points)
    print_text(
        f"{count} verified point{'s' if count != 1 else ''} in {frontier.seconds:.1f} s; "
        f"searched: {frontier.scope}."
    )
    print_text(
        f"No algorithm has fewer than {frontier.least_steps} steps or a bandwidth cost below "
        f"{frontier.least_bandwidth}."
    )
    if frontier.open:
        print_text("Not settled:")
        for claim in frontier.open:
            print_text(f"  {claim}")
