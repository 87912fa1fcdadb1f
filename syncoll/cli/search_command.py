"""What ``pareto`` and ``search`` share: limits of a search, running it, showing and saving it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import json_for_dash
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, WORK, Declared, add, output_folder, progress, time_limit
from syncoll.cli.output import note, picked, print_json, print_page

if TYPE_CHECKING:
    from syncoll import FrontierResult

__all__ = ["add_search", "ended", "run_search"]


def add_search(parser: argparse.ArgumentParser) -> None:
    """How far to search, and what to do with the result."""
    group = parser.add_argument_group("search")
    limits = {
        "--strategy certified|paper": "certified: from the proved bound for each S upwards, any k "
        "(default); paper: Algorithm 1 of the SCCL paper",
        "--k K": "only k-synchronous algorithms, R <= S + k (default: any; paper: the least k with "
        "which the bandwidth bound can be met)",
        "--max-steps S": "S at most (default: 3 more than the least possible); exit code 1 at once "
        "where no algorithm has so few",
        "--max-rounds R": "R at most (default: no limit); exit code 1 at once where cuts rule out "
        "so few",
        "--max-chunks C": "C at most (default: 24 times the least possible, up to 96 times where "
        "the bound's denominator asks for it, and what seeds construct; paper: no limit)",
        **time_limit(
            "; it is kept to a second or 5%% (default: none; allreduce and its like are searched "
            "for a minute, then for twice as long, and so on while that brings more than 1%%)"
        ),
        **WORK,
        "--point-limit TIME": "for each (S, R, C) (default: 2 s, then 10 s, for the first, 5 s for "
        "others, then 30 s for those left undecided; paper: none)",
    }
    add(group, limits)
    group.add_argument(
        "--no-symmetry",
        dest="symmetric",
        action="store_false",
        help="look neither for symmetric algorithms nor for shorter ones near known algorithms, "
        "as the certified strategy does where a solver needs more than a moment; found or not, "
        "they refute nothing",
    )
    group = parser.add_argument_group("output")
    output: Declared = {
        **FORMAT,
        "-o, --output FILE": "save the frontier as JSON as it grows; - for standard output, once, "
        "in place of the table",
        "--proofs DIR": (
            output_folder,
            "write a proof that others can check for each refutation that a point's claim rests "
            "on, into this folder (solves them once more)",
        ),
        **progress("log|"),
    }
    add(group, output)
    group.add_argument(
        "--log",
        dest="progress",
        action="store_const",
        const="log",
        help="the same as --progress log: on standard error a line for each event (found, family, "
        "proved, refuted, undecided) with the seconds, the gap between what is found and proved "
        "for so many steps, and the engine, and in the end a table of the engines; with --format "
        "json they are entries of the document, too",
    )


_PASSED_ON = (
    "strategy k max_steps max_rounds max_chunks time_limit work point_limit symmetric output "
    "proofs progress"
)


def run_search(
    arguments: argparse.Namespace,
    ask: Callable[[dict[str, Any]], FrontierResult],
    backend: Callable[[], str | None],
    more: Callable[[FrontierResult], None] = lambda _: None,
) -> int:
    """Searches, shows the frontier, saves it where asked; the exit code.

    Args:
        arguments: of `add_search`.
        ask: searches, with these keywords of `syncoll.pareto`.
        backend: that a search spec asks for.
        more: prints what else was asked for, below the frontier.
    """
    json_for_dash(arguments)
    frontier = ask(picked(arguments, _PASSED_ON))

    def show() -> None:
        if arguments.format == "json":
            print_json(frontier.document(log=arguments.progress == "log"))
        else:
            print_page(frontier.page())
            more(frontier)

    code = ended(arguments, frontier, show)
    if code is not None:
        return code
    undecided = not frontier.complete or any(one.most_steps is not None for one in frontier.open)
    seeds_alone = arguments.session.asks_seeds_alone(backend())
    return Exit.UNDECIDED if undecided or seeds_alone else Exit.OK


def ended(
    arguments: argparse.Namespace, frontier: FrontierResult, show: Callable[[], None]
) -> Exit | None:
    """Shows what was found, and says where it is saved; the exit code.

    Returns:
        None for a frontier without points that is not proved impossible.
    """
    output = arguments.output
    if frontier.interrupted and output is None:
        output = _free_name(frontier)
        frontier.save(output)
    show()
    if output is not None and not frontier.unsaved:
        note(f"saved in {output}")
    if frontier.interrupted:
        return Exit.INTERRUPTED
    if frontier.unsaved or frontier.unproved:
        return Exit.BAD_INPUT
    if frontier:
        return Exit.OK
    return Exit.IMPOSSIBLE if frontier.impossible else None


def _free_name(frontier: FrontierResult) -> Path:
    """A name for an interrupted search's file that no earlier result has."""
    name = f"{frontier.topology.name}-{frontier.collective}"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_.")[:100]
    numbers = ("", *(f"-{i}" for i in range(2, 1000)))
    names = [Path(f"{name}{number}.frontier.json") for number in numbers]
    return next((path for path in names if not path.exists()), names[-1])
