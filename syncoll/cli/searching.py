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
    from syncoll.deadline import Deadline
    from syncoll.plugins import PluginManager
    from syncoll.results import (
        Frontier,
        Proof,
        Refuted,
    )
    from syncoll.search import (
        Asking,
        Observer,
        SearchRequest,
    )

__all__ = ["add_search", "check_output", "run_search", "show_frontier"]


_PROOF_SECONDS = 120.0
"""For each proof file, solving and checking, unless --point-limit says otherwise."""


_SHARE_BEFORE_PROOFS = 0.7
"""The part of a time limit after which a search ends whose refutations are to get proofs."""


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
    arguments: argparse.Namespace, request: SearchRequest, who: Asking, plugins: PluginManager
) -> int:
    """Searches, shows the frontier, saves it where asked; the exit code."""
    from syncoll.cli.arguments import deadline
    from syncoll.cli.output import note, print_json
    from syncoll.cli.progress import progress
    from syncoll.documents import (
        frontier_document,
        write_document,
    )
    from syncoll.errors import UsageError
    from syncoll.memory import end_guard

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
    part = 1.0 if arguments.proofs is None else _SHARE_BEFORE_PROOFS
    with progress(arguments.progress) as observer:
        frontier = _search(request, who, observer, save, until.share(part))
    end_guard()
    proofs_failed = False
    for loss in who.losses.values():
        note(f"syncoll: not everything was decided: {loss}")
    for name, why in who.seeding.refusals.items():
        note(f"syncoll: seed {name} has no algorithm: {why}")
    if arguments.proofs is not None and not frontier.interrupted:
        try:
            frontier = _with_proofs(frontier, arguments, plugins, until)
        except UsageError as error:  # a full disk must not cost the result
            note(f"syncoll: {error}; the proofs are left out")
            proofs_failed = True
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
    if troubles or proofs_failed:
        return Exit.BAD_INPUT
    if not frontier.points and (not frontier.complete or who.solver is None):
        return Exit.UNDECIDED
    if not frontier.points and any(claim.most_steps is not None for claim in frontier.open):
        return Exit.UNDECIDED
    return Exit.OK


def _search(
    request: SearchRequest,
    who: Asking,
    observer: Observer,
    keep: Callable[[Frontier], None],
    until: Deadline,
) -> Frontier:
    """The search; when it is stopped even before its first bound, a frontier that says so.

    So too where memory ran out beyond what the search itself can do without.
    """
    from syncoll.deadline import OutOfTimeError
    from syncoll.search import OUT_OF_MEMORY, search

    began = time.perf_counter()
    kept: list[Frontier] = []

    def keep_too(frontier: Frontier) -> None:
        kept[:] = [frontier]
        keep(frontier)

    interrupted, reason = True, "interrupted"
    try:
        return search(request, who, observer, keep=keep_too, deadline=until)
    except KeyboardInterrupt:
        pass
    except OutOfTimeError:
        interrupted, reason = False, "time limit"
    except MemoryError as error:  # outside of what the search itself could go on without
        interrupted, reason = False, OUT_OF_MEMORY
        who.lost(f"{reason}: {error}")
    if kept:
        return replace(kept[0], complete=False, interrupted=interrupted)
    return _nothing(request, began, reason, interrupted=interrupted)


def _nothing(request: SearchRequest, began: float, reason: str, *, interrupted: bool) -> Frontier:
    """What is known before anything is known."""
    from syncoll.results import (
        Frontier,
        OpenClaim,
    )

    return Frontier(
        request.topology,
        request.collective.name,
        (),
        (OpenClaim(0, None, Fraction(0), None, reason),),
        "nothing yet",
        {"strategy": str(request.strategy)},
        complete=False,
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
    )


def _with_proofs(
    frontier: Frontier, arguments: argparse.Namespace, plugins: PluginManager, until: Deadline
) -> Frontier:
    """The same with a proof file for each refutation that a claim rests on, where there is one."""
    from syncoll.cli.output import note
    from syncoll.deadline import OutOfTimeError, interrupted_at
    from syncoll.plugins import parse_options
    from syncoll.proofs.refute import refute_with_proof
    from syncoll.results import (
        refuted_instance,
        with_files,
    )

    folder: Path = arguments.proofs
    evidence = frontier.evidence
    if evidence is None:
        return frontier

    def refute(one: Refuted) -> str | None:
        instance = refuted_instance(evidence, one, frontier.topology, frontier.collective)
        combining = instance.combining
        try:
            until.check()
            with interrupted_at(until):
                done = refute_with_proof(
                    instance,
                    folder,
                    plugins,
                    encoding=None if combining else one.encoding,
                    encoding_options={} if combining else parse_options(arguments.encoding_option),
                    seconds=min(arguments.point_limit or _PROOF_SECONDS, until.left()),
                    memory_bytes=arguments.memory_limit,
                    seed=arguments.seed,
                )
        except OutOfTimeError:
            reason = "the time limit was reached"
        else:
            if done.file is not None:
                return done.file.name
            reason = done.reason
        note(f"no proof for S = {one.steps}, R = {one.rounds}, C = {one.chunks}: {reason}")
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
    most = frontier.max_chunks
    proved = ">proved >=" if most is None else f">proved >= (C <= {most})"
    columns = (">steps S", ">rounds R", ">chunks C", ">R/C", proved, "optimal for")
    more = ("R by step", ">sends", "found by", ">seconds")
    print_text(f"{frontier.collective} on {frontier.topology.name}")
    if rows:
        print_text()
        print_table((*columns, *more), rows)
    print_text(
        f"{counted(len(rows), 'verified point')} in {frontier.seconds:.1f} s; "
        f"searched: {frontier.scope}."
    )
    if frontier.left_out:
        chunks, reason = frontier.left_out[0]
        which = ", ".join(str(c) for c, _ in frontier.left_out)
        first = "" if len(frontier.left_out) == 1 else f" (C = {chunks})"
        print_text(f"Left out: C = {which}, with which it makes no sense: {reason}{first}")
    ruled_out = []
    if frontier.least_steps:
        ruled_out.append(f"fewer than {counted(frontier.least_steps, 'step')}")
    if frontier.least_bandwidth:
        ruled_out.append(f"a bandwidth cost below {frontier.least_bandwidth}")
    if ruled_out:
        among = "" if most is None else f" with C <= {most}"
        print_text(f"No algorithm{among} has {' or '.join(ruled_out)}.")
    if frontier.open:
        print_text("Not settled:" if most is None else f"Not settled, with C <= {most}:")
        for claim in frontier.open:
            print_text(f"  {claim}")
    if most is not None:
        print_text(
            f"Nothing is known about larger C: what {frontier.collective} asks for depends on C."
        )
