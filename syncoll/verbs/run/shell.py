"""The shell's part of runs."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import syncoll
from syncoll.cli import Exit, ask, note, print_text, print_value
from syncoll.documents import WITH_ALGORITHMS, StoredFile, chosen, read_file
from syncoll.errors import ExecutionError
from syncoll.pages import Page
from syncoll.planning import message_of
from syncoll.trust.data import dtype_of
from syncoll.values import picked
from syncoll.verbs.result import Shown
from syncoll.verbs.run import SHORT_TYPES, SIZE
from syncoll.verbs.run.result import execution_page, mpi_page
from syncoll.wording import counted


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file = arguments.source
    arguments.dtype = SHORT_TYPES.get(arguments.dtype, arguments.dtype)
    stored = read_file(file, WITH_ALGORITHMS, "run")
    if arguments.point is not None:
        stored = replace(stored, algorithms=chosen(stored, arguments.point, file, "run"))
    try:
        done: list[Any] = ask(arguments, source=stored)
    except ExecutionError as error:
        note(f"syncoll: {file}: {error}")
        return Exit.UNDECIDED if error.timed_out else Exit.BAD_INPUT
    over_mpi = arguments.via != "memory"
    if over_mpi and not stored.algorithms:
        print_text(f"{file}: no algorithm in it; nothing to run")
    if over_mpi and not done:  # or another rank prints it
        return Exit.OK
    combining = any(one.instance.combining for one in stored.algorithms)
    about = {
        "file": str(file),
        "kind": stored.kind,
        "topology": stored.topology.name,
        "collective": stored.collective,
        "operation": arguments.op if combining else None,
        **picked(arguments, "dtype seed"),
    }
    shown = _over_mpi(about, done) if over_mpi else _in_memory(arguments, stored, about, done)
    print_value(arguments, shown)
    for where, reason in _mismatches(done, over_mpi=over_mpi):
        note(f"syncoll: {file}: {where}: {reason}")
    return Exit.OK if all(one.ok for one in done) else Exit.BAD_INPUT


def _in_memory(
    arguments: argparse.Namespace, stored: StoredFile, about: dict[str, Any], done: list[Any]
) -> Shown:
    message, width = message_of(stored.instances), dtype_of(arguments.dtype).itemsize
    asked = SIZE if arguments.size is None else arguments.size
    total = int(message.input_bytes(asked, width) * message.per_input)
    how = f", reduced with {arguments.op}" if about["operation"] else ""
    page = Page().text(
        f"{stored.kind}: {stored.collective} on {stored.topology.name}; a message of "
        f"{counted(total, 'byte')} of {arguments.dtype}{how}\n"
    )
    document = {"schema": "syncoll/execution/2", **about, "message_bytes": total}
    algorithms = [one.document() for one in done]
    return Shown(page.add(execution_page(done)), lambda: {**document, "algorithms": algorithms})


def _over_mpi(about: dict[str, Any], done: list[Any]) -> Shown:
    job, result = done[0].job, done[0].result
    per_input = message_of(one.instance for one in job.work).per_input
    document = {
        "schema": "syncoll/mpi-execution/2",
        "version": syncoll.__version__,
        **about,
        "via": done[0].via,
        "machines": result.hosts,
        **picked(result, "ranks cores library mpi4py ok"),
        "shows": "correctness" if result.hosts == 1 else "correctness and speed",
        "messages": [int(size * per_input) for size in job.sizes],
        "repeats": job.repeats,
        "algorithms": [one.document() for one in done],
    }
    return Shown(mpi_page(job, result, done[0].via), lambda: document)


def _mismatches(done: list[Any], *, over_mpi: bool) -> Iterator[tuple[str, str]]:
    """The place and the words of each wrong result."""
    for one in done:
        if not over_mpi and one.mismatch is not None:
            yield one.stored.where, one.mismatch.message
        for run in one.document()["runs"] if over_mpi else ():
            if run["mismatch"] is not None:
                size = run["message_bytes"]
                yield f"{one.where} with a message of {size} bytes", run["mismatch"]
