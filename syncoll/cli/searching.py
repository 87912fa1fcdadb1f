"""What ``pareto`` and ``search`` share: limits of a search, running it, showing and saving it."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.cli.arguments import add_format, amount, count, duration, output_file
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.plugins import PluginManager
    from syncoll.search import Asking, Frontier, Observer, Proof, Refuted, SearchRequest

__all__ = ["add_search", "check_output", "run_search", "show_frontier"]


_PROOF_SECONDS = 120.0
"""For each proof file, solving and checking, unless --point-limit says otherwise."""


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
        help="for the whole search, such as 30s, 2h (default: none, but allreduce and its like "
        "look for at most 25 s for algorithms that are not composed)",
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
        help="save the frontier as JSON as it grows",
    )
    output.add_argument(
        "--proofs",
        type=output_file,
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
    from syncoll.errors import UsageError
    from syncoll.files import require_writable

    if arguments.output is not None:
        require_writable(arguments.output)
    if arguments.proofs is not None and arguments.proofs.is_file():
        raise UsageError(f"--proofs {arguments.proofs}: that is a file; name a folder")


def run_search(
    arguments: argparse.Namespace, request: SearchRequest, who: Asking, plugins: PluginManager
) -> int:
    """Searches, shows the frontier, saves it where asked; the exit code."""
    from syncoll.cli.output import note, print_json
    from syncoll.cli.progress import progress
    from syncoll.errors import UsageError
    from syncoll.files import frontier_document, write_document

    output: Path | None = arguments.output
    troubles: list[str] = []

    def save(frontier: Frontier) -> None:
        """Keeps what was found so far; a full disk must not end the search."""
        if output is not None:
            try:
                write_document(output, frontier_document(frontier))
            except UsageError as error:
                troubles.append(str(error))
                note(f"syncoll: {error}")
            else:
                troubles.clear()

    with progress(arguments.progress) as observer:
        frontier = _search(request, who, observer, save)
    for name, why in who.seeding.refusals.items():
        note(f"syncoll: seed {name} has no algorithm: {why}")
    if arguments.proofs is not None and not frontier.interrupted:
        frontier = _with_proofs(frontier, arguments, plugins)
    if frontier.interrupted and output is None:
        output = _free_name(frontier)
    save(frontier)
    if arguments.format == "json":
        print_json(frontier_document(frontier))
    else:
        show_frontier(frontier)
    if output is not None and not troubles:
        note(f"saved in {output}")
    if frontier.interrupted:
        return Exit.INTERRUPTED
    if troubles:
        return Exit.BAD_INPUT
    if not frontier.points and (not frontier.complete or who.solver is None):
        return Exit.UNDECIDED
    if not frontier.points and any(claim.most_steps is not None for claim in frontier.open):
        return Exit.UNDECIDED
    return Exit.OK


def _search(
    request: SearchRequest, who: Asking, observer: Observer, keep: Callable[[Frontier], None]
) -> Frontier:
    """The search; when Ctrl-C comes even before its first bound, a frontier that says so."""
    from syncoll.search import Frontier, OpenClaim, search

    began = time.perf_counter()
    try:
        return search(request, who, observer, keep=keep)
    except KeyboardInterrupt:
        return Frontier(
            request.topology,
            request.collective.name,
            (),
            (OpenClaim(0, None, Fraction(0), None, "interrupted"),),
            "nothing yet",
            {"strategy": str(request.strategy)},
            complete=False,
            interrupted=True,
            seconds=time.perf_counter() - began,
        )


def _with_proofs(
    frontier: Frontier, arguments: argparse.Namespace, plugins: PluginManager
) -> Frontier:
    """The same with a proof file for each refutation that a claim rests on, where there is one."""
    from syncoll.cli.output import note
    from syncoll.files.refuting import refute_with_proof
    from syncoll.plugins import parse_options
    from syncoll.search import refuted_instance, with_files

    folder: Path = arguments.proofs
    evidence = frontier.evidence
    if evidence is None:
        return frontier

    def refute(one: Refuted) -> str | None:
        instance = refuted_instance(evidence, one, frontier.topology, frontier.collective)
        combining = instance.combining
        done = refute_with_proof(
            instance,
            folder,
            plugins,
            encoding=None if combining else one.encoding,
            encoding_options={} if combining else parse_options(arguments.encoding_option),
            seconds=arguments.point_limit or _PROOF_SECONDS,
            memory_bytes=arguments.memory_limit,
            seed=arguments.seed,
        )
        if done.file is not None:
            return done.file.name
        note(f"no proof for S = {one.steps}, R = {one.rounds}, C = {one.chunks}: {done.reason}")
        return None

    try:
        return replace(frontier, evidence=with_files(evidence, refute))
    except KeyboardInterrupt:
        note("interrupted: the proofs are left out")
        return frontier


def _free_name(frontier: Frontier) -> Path:
    """A name for an interrupted search's file that no earlier result has."""
    name = f"{frontier.topology.name}-{frontier.collective}"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_.")[:100]
    numbers = ("", *(f"-{i}" for i in range(2, 1000)))
    names = [Path(f"{name}{number}.frontier.json") for number in numbers]
    return next((path for path in names if not path.exists()), names[-1])


def _optimal_for(proof: Proof | None) -> str:
    """Among which algorithms nothing costs less, in a few words."""
    if proof is None:
        return "not proved"
    words = {"all": "every C", "open": "not proved"}
    return words.get(proof.scope_text, proof.scope_text.replace("chunks<=", "C <= ")).replace(
        "rounds<=", "R <= "
    )


def show_frontier(frontier: Frontier) -> None:
    """A frontier for people, on standard output."""
    from syncoll.cli.output import counted, print_table, print_text

    rows = [
        (
            p.steps,
            p.rounds,
            p.chunks,
            p.bandwidth,
            p.bound if p.bound is not None else "",
            _optimal_for(frontier.proof(p)),
            " ".join(str(r) for r in p.algorithm.rounds_per_step),
            len(p.algorithm.sends),
            f"{p.encoding}/{p.backend}",
            f"{p.seconds:.2f}",
        )
        for p in frontier.points
    ]
    columns = (">steps S", ">rounds R", ">chunks C", ">R/C", ">proved >=", "optimal for")
    more = ("R by step", ">sends", "found by", ">seconds")
    print_text(f"{frontier.collective} on {frontier.topology.name}")
    if rows:
        print_text()
        print_table((*columns, *more), rows)
    print_text(
        f"{counted(len(rows), 'verified point')} in {frontier.seconds:.1f} s; "
        f"searched: {frontier.scope}."
    )
    print_text(
        f"No algorithm has fewer than {counted(frontier.least_steps, 'step')} or a bandwidth cost "
        f"below {frontier.least_bandwidth}."
    )
    if frontier.open:
        print_text("Not settled:")
        for claim in frontier.open:
            print_text(f"  {claim}")
