"""Importers, with topology files that tools and other projects have written.

::

    python benchmarks/importers.py                       # the tables of results/importers.md
    python benchmarks/importers.py --seconds 60 --only rccl_xml
    python benchmarks/importers.py --dumps FOLDER        # other files

Every file below the folder is given to the importer that recognises it, or to the one for its
suffix, and is imported or refused. Each imported machine is written as a spec, read back and
compared, and an allgather is searched on it with a time limit, through the command line; the file
that the command writes is checked, every claim of it. A refusal that names an option is followed.
Points are proved optimal for all algorithms where nothing else stands behind them.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from frontiers import measure, scope
from tables import made_at

from syncoll.errors import SyncollError
from syncoll.importing import import_machine, import_spec, read_description
from syncoll.model import Fabric, Topology
from syncoll.plugins import ImporterRecord, PluginManager
from syncoll.results import Frontier

DUMPS = Path(__file__).parents[1].parent / "shared" / "reference" / "topology-dumps"
BY_SUFFIX = {".xml": "nccl-xml", ".json": "node-link", ".txt": "nvidia-smi"}
MOST_NODES = 16
LONGER = 6
"""Factor of the time limit of a search that the first limit stopped without a point."""


@dataclass(frozen=True)
class Row:
    """The result of a file.

    Args:
        file: relative to the folder.
        importer: its name, with options.
        machine: the imported one; None when it refused.
        seconds: of the import, the spec and reading that included.
        refusal: its reason; empty when it imported.
        frontier: of allgather, or None.
        limit: seconds that the search had; 0 without a search.
    """

    file: str
    importer: str
    machine: Fabric | Topology | None = None
    seconds: float = 0.0
    refusal: str = ""
    frontier: Frontier | None = None
    limit: float = 0.0


def rows(dumps: Path, only: str, seconds: float) -> Iterator[Row]:
    importers = PluginManager.discover().importers
    for file in sorted(path for path in dumps.rglob("*") if path.is_file()):
        name = str(file.relative_to(dumps))
        if only not in name or file.suffix == ".md":
            continue
        record = chosen(file, importers)
        row = one(file, name, record, {}, importers, seconds)
        yield row
        option = re.search(r"option (network)=(pcie)", row.refusal)
        if option is not None:
            yield one(file, name, record, {option[1]: option[2]}, importers, seconds)


def chosen(file: Path, importers: Mapping[str, ImporterRecord]) -> ImporterRecord:
    text = read_description(str(file))
    for record in importers.values():
        if record.recognises(text):
            return record
    return importers[BY_SUFFIX.get(file.suffix, "node-link")]


def one(
    file: Path,
    name: str,
    record: ImporterRecord,
    options: Mapping[str, str],
    importers: Mapping[str, ImporterRecord],
    seconds: float,
) -> Row:
    settings = ",".join(f"{key}={value}" for key, value in options.items())
    asked = f"{record.name} {settings}".strip()
    try:
        text = read_description(str(file))
        began = time.perf_counter()
        import_spec(record, text, file.name, options)
        taken = time.perf_counter() - began
        machine = import_machine(record, text, file.name, options).machine
    except SyncollError as error:
        words = str(error).removeprefix(f"{file.name}:").replace("\nexpected", "; expected")
        return Row(name, asked, refusal=" ".join(words.split()))
    if not 2 <= machine.num_nodes <= MOST_NODES or seconds <= 0:
        return Row(name, asked, machine, taken)
    reference = f"{record.name}({settings}):{file}" if settings else f"{record.name}:{file}"
    for limit in (seconds, LONGER * seconds):
        try:
            frontier = measure(reference, "allgather", limit, ()).frontier
        except RuntimeError as error:  # stopped by the limit without a point
            print(str(error).splitlines()[0], flush=True)
        else:
            return Row(name, asked, machine, taken, frontier=frontier, limit=limit)
    return Row(name, asked, machine, taken, limit=LONGER * seconds)


def table(found: list[Row]) -> Iterator[str]:
    imported = [row for row in found if row.machine is not None]
    refused = [row for row in found if row.machine is None]
    with_frontier = sum(row.frontier is not None for row in imported)
    yield f"## Imported: {len(imported)}, with a frontier: {with_frontier}"
    yield ""
    yield (
        "| file | importer | GPUs | switches | links | import, ms | limit, s "
        "| (S, R/C) of allgather |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in imported:
        machine = row.machine
        assert machine is not None
        switches = machine.num_switches if isinstance(machine, Fabric) else 0
        points = ""
        if row.frontier is not None:
            points = ", ".join(
                f"({p.steps}, {p.bandwidth}){scope(row.frontier, p)}" for p in row.frontier.points
            )
            points += "" if row.frontier.complete else " (stopped)"
        yield (
            f"| {row.file} | {row.importer} | {machine.num_nodes} | {switches} "
            f"| {len(machine.links)} | {1000 * row.seconds:.0f} | {row.limit:g} "
            f"| {points or 'none'} |"
        )
    yield ""
    yield f"## Refused: {len(refused)}"
    yield ""
    yield "| file | importer | reason |"
    yield "| --- | --- | --- |"
    for row in refused:
        reason = row.refusal.replace("|", "\\|")
        yield f"| {row.file} | {row.importer} | {reason} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--dumps", type=Path, default=DUMPS, help="the folder (default: %(default)s)"
    )
    parser.add_argument("--only", default="", help="only files with this in their path")
    parser.add_argument("--seconds", type=float, default=5, help="of each search; 0 for none")
    arguments = parser.parse_args()
    print(made_at("importers", "syncoll/importing"))
    found = []
    for row in rows(arguments.dumps, arguments.only, arguments.seconds):
        found.append(row)
        print(f"{row.file} {row.importer}: {row.refusal[:60] or 'imported'}", flush=True)
    print()
    print("\n".join(table(found)))
    lacking = [row for row in found if row.limit and row.frontier is None]
    if lacking:
        raise SystemExit(f"no frontier: {', '.join(row.file for row in lacking)}")


if __name__ == "__main__":
    main()
