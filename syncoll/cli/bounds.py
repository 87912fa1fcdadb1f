"""``syncoll bounds TOPOLOGY COLLECTIVE``: what no algorithm can go below, and why."""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format, add_problem, amount, count, duration
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.certificates import RoundsBound
    from syncoll.model import Topology

__all__ = ["add_parser"]

_SECONDS = 20.0
"""What one bound may take."""

_DESCRIPTION = """\
Proves lower bounds without searching: the least number of steps (distances), the least bandwidth
cost R/C with any number of steps, and the least R/C for each number of steps.  Each bandwidth bound
comes from exact prices on the links: a round costs at most 1, and what the collective must move
costs at least the bound.

  syncoll bounds dgx1 allgather
  syncoll bounds dgx1 alltoall -C 8 --max-steps 4
  syncoll bounds dgx1 allgather --prices
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "bounds",
        help="proved lower bounds on steps and bandwidth cost",
        description=_DESCRIPTION,
    )
    add_problem(parser)
    parser.add_argument(
        "-C",
        "--chunks",
        type=count,
        metavar="C",
        help="chunks per node (default: the least defined)",
    )
    parser.add_argument(
        "--max-steps",
        type=amount,
        metavar="S",
        help="bounds for S up to this (default: 3 beyond the least)",
    )
    parser.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help="for the whole command, from its start, such as 30s, 2min; what is not proved by then "
        "is left out (default: about 20 s for each bound)",
    )
    parser.add_argument("--prices", action="store_true", help="show the prices that prove each")
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.bounds import (
        combining_rounds_bound,
        least_cut,
        rounds_bound,
        with_cut,
    )
    from syncoll.certificates import demands
    from syncoll.cli.arguments import deadline, library, manager
    from syncoll.cli.output import counted, note, print_json, print_table, print_text
    from syncoll.deadline import interrupted_at
    from syncoll.model import RelationTable
    from syncoll.search import BoundsTable, CandidateSource, SearchRequest

    until = deadline(arguments, arguments.time_limit)
    specs = library(manager())
    topology = specs.topology(arguments.topology)
    collective = specs.collective(arguments.collective)
    chunks = arguments.chunks
    if chunks is None:
        bounds = BoundsTable(topology, collective)
        chunks = CandidateSource(SearchRequest(topology, collective), bounds).least_chunks
    with interrupted_at(until):
        instance = collective.instantiate(topology, chunks=chunks, steps=0, rounds=0)
        least = instance.least_steps
        needs = () if instance.combining else demands(instance)
    last = least + 3 if arguments.max_steps is None else arguments.max_steps
    late: list[str] = []

    def prove(steps: int | None, others: int) -> RoundsBound:
        until.check()
        began, seconds = time.perf_counter(), _SECONDS
        if not until.is_never:
            seconds = min(seconds, until.left() / (others + 1))
        if instance.combining:
            table = RelationTable(instance.pre, instance.post)
            bound = combining_rounds_bound(topology, table, steps, seconds=seconds)
        else:
            bound = rounds_bound(topology, needs, steps, seconds=seconds)
        if time.perf_counter() - began >= seconds:
            late.append("any number of steps" if steps is None else counted(steps, "step"))
        return with_cut(topology, needs, bound, until.seconds)

    any_steps = prove(None, max(0, last - least + 1))
    if not any_steps.rounds and not instance.combining:
        with interrupted_at(until):
            any_steps = least_cut(topology, needs)
    # Where a bound for so many steps did not come in time, that for any number holds too.
    by_steps = [
        (s, max(prove(s, last - s), any_steps, key=lambda bound: bound.rounds))
        for s in range(least, last + 1)
    ]
    if late:
        note(f"syncoll: more may be provable, but the time was over: {', '.join(late)}")
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/bounds/1",
                "topology": topology.name,
                "collective": collective.name,
                "nodes": topology.num_nodes,
                "chunks": chunks,
                "steps": least,
                "bandwidth": str(any_steps.rounds / chunks),
                "by_steps": [
                    {
                        "steps": s,
                        "bandwidth": str(bound.rounds / chunks),
                        **({"prices": _prices(bound, topology)} if arguments.prices else {}),
                    }
                    for s, bound in by_steps
                ],
                **({"prices": _prices(any_steps, topology)} if arguments.prices else {}),
            }
        )
        return Exit.OK
    print_text(f"{collective.name} on {topology.name}, C = {chunks}")
    print_text(f"steps: at least {least} (distances)")
    print_text(f"bandwidth cost with any number of steps: at least {any_steps.rounds / chunks}")
    rows = [(s, bound.rounds / chunks, bound.rounds) for s, bound in by_steps]
    if rows:
        print_text()
        print_table((">steps S", ">R/C at least", ">R at least"), rows)
    else:
        print_text(f"with S up to {last} there is no algorithm at all")
    if arguments.prices:
        for s, bound in (*by_steps, (None, any_steps)):
            steps = "any number of steps" if s is None else counted(s, "step")
            if bound.rounds == 0:
                print_text(f"no price is needed to prove R >= {bound.rounds} for {steps}")
                continue
            print_text(f"R >= {bound.rounds} for {steps}, by {bound.argument}")
            for price in _prices(bound, topology):
                when = "" if bound.steps is None else f", step {price['step']}"
                print_text(f"  {price['links']}{when}: {price['price']}")
    return Exit.OK


def _prices(bound: RoundsBound, topology: Topology) -> list[dict[str, Any]]:
    """The total price of each link set and step; the split among destinations is left out.

    A cut is a price for each link set that covers it, such that they cost 1 together.
    """
    from syncoll.certificates import (
        CutCertificate,
        PartitionCertificate,
    )

    proof = bound.certificate
    totals: list[tuple[tuple[int, int], Fraction]] = []
    if isinstance(proof, CutCertificate):
        room = sum((topology.bounds[i].chunks_per_round for i in proof.cover), Fraction(0))
        totals = [((i, 0), 1 / room) for i in sorted(proof.cover)]
    elif isinstance(proof, PartitionCertificate):
        totals = [((i, 0), price) for i, price in sorted(proof.prices.items())]
    elif proof is not None:
        totals = sorted(proof.totals.items())
    return [
        {
            "links": topology.bounds[i].label
            or " ".join(f"{a}->{b}" for a, b in topology.bounds[i].links),
            # A mirrored proof is about the algorithm run backwards.
            "step": bound.steps - 1 - step if bound.mirrored and bound.steps else step,
            "price": str(price),
        }
        for (i, step), price in totals
    ]
