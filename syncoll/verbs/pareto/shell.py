"""The shell's part of searches: options, the frontier on standard output, and exit codes."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import syncoll
from syncoll.cli import Exit, ask, json_for_dash, note, print_json, print_page
from syncoll.deadline import interrupted_at
from syncoll.errors import OutOfTimeError
from syncoll.values import doubled_sizes, picked
from syncoll.verbs.asking import deadline_of


def _show_times(frontier: "syncoll.FrontierResult", arguments: argparse.Namespace) -> None:
    """Prints the fastest point for each of the sizes of --optimise-for."""
    if getattr(arguments, "optimise_for", None) is None or not frontier:
        return
    how = picked(arguments, "alpha beta") | {"runtime": arguments.runtime or "wire"}
    how["sizes"] = doubled_sizes("optimise_for", arguments.optimise_for)
    try:
        with interrupted_at(deadline_of(arguments.time_limit)):
            page = syncoll.simulate(frontier, classics=False, **how).fastest_page()
    except OutOfTimeError:
        note("syncoll: no time was left to simulate the points; `syncoll simulate` does that")
        return
    print_page(page)
    note("`syncoll simulate` compares the points of a saved frontier with the classics")


def run(arguments: argparse.Namespace) -> int:
    """Runs `syncoll pareto` or `syncoll search`; its exit code."""
    json_for_dash(arguments)
    if arguments.log:
        arguments.progress = "log"
    frontier = ask(arguments)

    def show() -> None:
        if arguments.format == "json":
            print_json(frontier.document(log=arguments.progress == "log"))
        else:
            print_page(frontier.page())
            _show_times(frontier, arguments)

    code = ended(arguments, frontier, show)
    if code is not None:
        return code
    undecided = not frontier.complete or any(one.most_steps is not None for one in frontier.open)
    session, what = arguments.session, getattr(arguments, "what", None)  # a search of a spec file
    seeds_alone = session.asks_seeds_alone(what and session.specs.search(what).backend)
    return Exit.UNDECIDED if undecided or seeds_alone else Exit.OK


def ended(
    arguments: argparse.Namespace, frontier: "syncoll.FrontierResult", show: Callable[[], None]
) -> Exit | None:
    """Prints a frontier, and the name of its file; the exit code.

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


def _free_name(frontier: "syncoll.FrontierResult") -> Path:
    """A new name for the file of an interrupted search."""
    name = f"{frontier.topology.name}-{frontier.collective}"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_.")[:100]
    numbers = ("", *(f"-{i}" for i in range(2, 1000)))
    names = [Path(f"{name}{number}.frontier.json") for number in numbers]
    return next((path for path in names if not path.exists()), names[-1])
