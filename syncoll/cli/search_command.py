"""What ``pareto`` and ``search`` share: limits of a search, running it, showing and saving it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import (
    add_format,
    amount,
    count,
    duration,
    json_for_dash,
    output_file,
    output_folder,
)
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.results import Frontier
    from syncoll.searching import SearchRequest

__all__ = ["add_search", "check_output", "run_search"]


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
        "--k",
        type=amount,
        metavar="K",
        help="only k-synchronous algorithms, R <= S + k (default: any; paper: the least k "
        "with which the bandwidth bound can be met)",
    )
    group.add_argument(
        "--max-steps",
        type=amount,
        metavar="S",
        help="S at most (default: 3 more than the least possible)",
    )
    group.add_argument(
        "--max-rounds", type=amount, metavar="R", help="R at most (default: no limit)"
    )
    group.add_argument(
        "--max-chunks",
        type=count,
        metavar="C",
        help="C at most (default: 24 times the least possible; paper: no limit)",
    )
    group.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help="for the whole command, from its start, such as 30s, 2h; it is kept to a second or "
        "5%% (default: none, but allreduce and its like look for at most 25 s for algorithms that "
        "are not composed)",
    )
    group.add_argument(
        "--point-limit",
        type=duration,
        metavar="TIME",
        help="for each (S, R, C) (default: 2 s, then 10 s, for the first, 5 s for others, then "
        "30 s for those left undecided; paper: none)",
    )
    output = parser.add_argument_group("output")
    add_format(output)
    output.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save the frontier as JSON as it grows; - for standard output, once, in place of "
        "the table",
    )
    output.add_argument(
        "--proofs",
        type=output_folder,
        metavar="DIR",
        help="write a proof that others can check for each refutation that a point's claim rests "
        "on, into this folder (solves them once more)",
    )
    output.add_argument(
        "--progress",
        choices=("auto", "live", "plain", "none"),
        default="auto",
        help="on standard error (default: auto, which is live on a terminal, else none)",
    )


def check_output(arguments: argparse.Namespace) -> None:
    """Makes sure, before anything else is done, that the result can be saved where it should.

    Raises:
        UsageError: when it cannot.
    """
    from syncoll.documents import require_writable
    from syncoll.errors import UsageError

    json_for_dash(arguments)
    if arguments.output is not None:
        require_writable(arguments.output)
    if arguments.proofs is not None and arguments.proofs.is_file():
        raise UsageError(f"--proofs {arguments.proofs}: that is a file; name a folder")


def run_search(
    arguments: argparse.Namespace,
    request: SearchRequest,
    *,
    encoding: str | None = None,
    backend: str | None = None,
) -> int:
    """Searches, shows the frontier, saves it where asked; the exit code.

    Args:
        arguments: of `add_search`.
        request: what to search, and how far.
        encoding: what a search spec asks for.
        backend: what a search spec asks for.
    """
    from syncoll.cli.arguments import deadline
    from syncoll.cli.output import note, print_json, print_page
    from syncoll.documents import frontier_document, write_document
    from syncoll.errors import UsageError
    from syncoll.pages.frontier import frontier_page
    from syncoll.session.progress import progress
    from syncoll.session.searching import SHARE_BEFORE_PROOFS

    output: Path | None = arguments.output
    troubles: list[str] = []
    told: set[str] = set()

    def save(frontier: Frontier) -> None:
        """Keeps what was found so far; a full disk must not end the search."""
        if output is not None:
            try:
                write_document(output, frontier_document(frontier))
            except UsageError as error:
                if str(error) not in told:
                    told.add(str(error))
                    note(f"syncoll: {error}")
                troubles.append(str(error))
            else:
                troubles.clear()

    until = deadline(arguments, request.time_limit)
    part = SHARE_BEFORE_PROOFS if arguments.proofs is not None else 1.0
    session = arguments.session
    with progress(arguments.progress) as observer:
        frontier = session.pareto(
            request,
            encoding=encoding,
            backend=backend,
            observer=observer,
            on_points=save,
            until=until.share(part),
        )
    proofs_failed = False
    if arguments.proofs is not None and not frontier.interrupted:
        try:
            frontier = session.prove(frontier, arguments.proofs, arguments.point_limit, until)
        except UsageError as error:  # a full disk must not cost the result
            note(f"syncoll: {error}; the proofs are left out")
            proofs_failed = True
    if frontier.interrupted and output is None:
        output = _free_name(frontier)
    save(frontier)
    if arguments.format == "json":
        print_json(frontier_document(frontier))
    else:
        print_page(frontier_page(frontier))
    if output is not None and not troubles:
        note(f"saved in {output}")
    if frontier.interrupted:
        return Exit.INTERRUPTED
    if troubles or proofs_failed:
        return Exit.BAD_INPUT
    seeds_alone = session.asks_seeds_alone(backend)
    if not frontier.points and (not frontier.complete or seeds_alone):
        return Exit.UNDECIDED
    if not frontier.points and any(claim.most_steps is not None for claim in frontier.open):
        return Exit.UNDECIDED
    return Exit.OK


def _free_name(frontier: Frontier) -> Path:
    """A name for an interrupted search's file that no earlier result has."""
    name = f"{frontier.topology.name}-{frontier.collective}"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_.")[:100]
    numbers = ("", *(f"-{i}" for i in range(2, 1000)))
    names = [Path(f"{name}{number}.frontier.json") for number in numbers]
    return next((path for path in names if not path.exists()), names[-1])
