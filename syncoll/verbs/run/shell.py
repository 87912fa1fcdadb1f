"""The shell's part of runs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import syncoll
from syncoll.cli.command import ask
from syncoll.cli.exits import Exit
from syncoll.cli.output import note, print_json, print_page, print_text
from syncoll.documents import WITH_ALGORITHMS, StoredFile, read_file
from syncoll.documents.chosen import chosen
from syncoll.errors import ExecutionError
from syncoll.pages.execution import execution_page, mpi_page
from syncoll.planning import message_of
from syncoll.trust.data import dtype_of
from syncoll.verbs.result import picked
from syncoll.verbs.run import SHORT_TYPES, SIZE
from syncoll.wording import counted


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file = arguments.source
    arguments.dtype = SHORT_TYPES.get(arguments.dtype, arguments.dtype)
    stored = read_file(file, WITH_ALGORITHMS, "run")
    if arguments.point is not None:
        taken = chosen(stored, arguments.point, file, "run")
        stored = replace(stored, algorithms=taken)
    try:
        done: list[Any] = ask(arguments, source=stored)
    except ExecutionError as error:
        note(f"syncoll: {file}: {error}")
        return Exit.UNDECIDED if error.timed_out else Exit.BAD_INPUT
    if arguments.via == "mpi":
        return _over_mpi(arguments, stored, done)
    message, width = message_of(stored.instances), dtype_of(arguments.dtype).itemsize
    asked = SIZE if arguments.size is None else arguments.size
    total = int(message.input_bytes(asked, width) * message.per_input)
    about = _about(arguments, stored)
    if arguments.format == "json":
        algorithms = [one.document() for one in done]
        schema = "syncoll/execution/2"
        print_json({"schema": schema, **about, "message_bytes": total, "algorithms": algorithms})
    else:
        how = f", reduced with {arguments.op}" if about["operation"] else ""
        print_text(
            f"{stored.kind}: {stored.collective} on {stored.topology.name}; a message of "
            f"{counted(total, 'byte')} of {arguments.dtype}{how}\n"
        )
        print_page(execution_page([(one.stored, one) for one in done]))
    for one in done:
        if one.mismatch is not None:
            note(f"syncoll: {file}: {one.stored.where}: {one.mismatch.message}")
    return Exit.OK if all(one.ok for one in done) else Exit.BAD_INPUT


def _about(arguments: argparse.Namespace, stored: StoredFile) -> dict[str, Any]:
    combining = any(one.instance.combining for one in stored.algorithms)
    return {
        "file": str(arguments.source),
        "kind": stored.kind,
        "topology": stored.topology.name,
        "collective": stored.collective,
        "operation": arguments.op if combining else None,
        **picked(arguments, "dtype seed"),
    }


def _over_mpi(arguments: argparse.Namespace, stored: StoredFile, done: list[Any]) -> int:
    if not stored.algorithms:
        print_text(f"{arguments.source}: no algorithm in it; nothing to run")
    if not done:  # or another rank prints it
        return Exit.OK
    job, result = done[0].job, done[0].result
    per_input = message_of(one.instance for one in job.work).per_input
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/mpi-execution/2",
                "version": syncoll.__version__,
                **_about(arguments, stored),
                "machines": result.hosts,
                **picked(result, "ranks cores library mpi4py ok"),
                "shows": "correctness" if result.hosts == 1 else "correctness and speed",
                "messages": [int(size * per_input) for size in job.sizes],
                "repeats": job.repeats,
                "algorithms": [one.document() for one in done],
            }
        )
    else:
        print_page(mpi_page(job, result))
    for compared in done:
        for run in compared.runs:
            if run.mismatch is not None:
                where = f"{compared.where} with a message of {int(run.size * per_input)} bytes"
                note(f"syncoll: {arguments.source}: {where}: {run.mismatch}")
    return Exit.OK if result.ok else Exit.BAD_INPUT
