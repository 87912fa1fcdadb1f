"""Times of NCCL and RCCL that others measured, and the times of the runtimes `nccl` and `rccl`.

::

    python benchmarks/measured.py                  # results/measured.md, .json and .svg
    python benchmarks/measured.py --fit FOLDER     # the fitted runtimes, as files

`measured/tables.csv` has a row for each table: its public source, its machine in
`measured/machines.syncoll` or in the shipped library, and the reason if it is left out.
`measured/times.csv` has the times.  The library runs the fastest of its algorithms and protocols.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log2
from pathlib import Path

import numpy as np

from benchmarks.known_schedules import known_schedules
from benchmarks.tables import RESULTS, Page, made_at
from syncoll.arrays import Floats
from syncoll.documents.atomic import write_atomically
from syncoll.measuring import Sample, Way, decade_of, fitted, predicted
from syncoll.planning import message_of_collective
from syncoll.session import Session
from syncoll.simulating import (
    WIRE,
    Runtime,
    Semantics,
    SimulatedSeconds,
    given_network,
    runtime,
    runtime_text,
)
from syncoll.verbs.measured import library_ways

HERE = Path(__file__).parent / "measured"
DECADES = ("below 64 KiB", "64 KiB to 16 MiB", "above 16 MiB")
MOST_BOXES = 4
"""Boxes whose algorithms are constructed; the ways of more boxes follow from two boxes."""
QUICK = ("005", "011", "022", "044", "089", "090", "115", "122", "145")
"""Tables that a test computes again."""


@dataclass(frozen=True)
class Table:
    """A table; the fields are columns of `tables.csv`."""

    id: str
    group: str
    collective: str
    gpu: str
    machine: str
    network: str
    library: str
    process: str
    program: str
    left_out: str
    note: str
    source: str
    rows: tuple[tuple[int, float], ...]

    @property
    def runtime(self) -> str:
        """The library with its defaults."""
        return "rccl" if "RCCL" in self.library else "nccl"

    @property
    def boxes(self) -> int:
        """The number of boxes."""
        found = re.search(r"boxes=([0-9]+)", self.machine)
        return int(found[1]) if found else 1

    def reference(self, *, boxes: int = 0, sums: bool = False) -> str:
        """The machine, or the same of other boxes, or with sums in switches."""
        text = re.sub(r"boxes=[0-9]+", f"boxes={boxes}", self.machine) if boxes else self.machine
        text = f"{text[:-1]}, nvls=true)" if sums else text
        return text if text.startswith("mi") else f"{HERE / 'machines.syncoll'}:{text}"


def tables() -> list[Table]:
    """All tables."""
    rows: dict[str, list[tuple[int, float]]] = {}
    with (HERE / "times.csv").open() as file:
        for one in csv.DictReader(file):
            rows.setdefault(one["table"], []).append(
                (int(one["bytes"]), float(one["microseconds"]))
            )
    with (HERE / "tables.csv").open() as file:
        return [Table(**one, rows=tuple(rows[one["id"]])) for one in csv.DictReader(file)]


SESSION = Session()


@cache
def _ways(references: tuple[str, ...], collective: str) -> tuple[Way, ...]:
    networks = [given_network(SESSION.topology(one), None, None) for one in references]
    return library_ways(SESSION, SESSION.collective(collective), networks)


def ways_of(table: Table) -> tuple[Way, ...]:
    """The algorithms of the library."""
    boxes = table.boxes if table.boxes <= MOST_BOXES else 2
    references = [table.reference(boxes=boxes)]
    if "h100" in table.machine and "gpus=2" not in table.machine:
        references.append(table.reference(boxes=boxes, sums=True))
    found = _ways(tuple(references), table.collective)
    if boxes == table.boxes:
        return found
    nodes = SESSION.topology(references[0]).num_nodes
    return tuple(of_more_boxes(one, nodes // 2, table.boxes) for one in found)


def of_more_boxes(way: Way, gpus: int, boxes: int) -> Way:
    """The way of an algorithm on more boxes of some GPUs, from its way on two boxes."""
    nodes, whole = gpus * boxes, (1 - 1 / (gpus * boxes)) / (1 - 1 / (2 * gpus))
    inside, across = (boxes * (gpus - 1) - 1) / max(1, 2 * (gpus - 1) - 1), boxes / 2
    if way.name == "nccl_ring":  # `boxes` hops between boxes for each turn
        inside = (boxes * gpus - 1 - boxes) / max(1, 2 * gpus - 3)
        across = boxes / 2 if gpus > 1 else boxes - 1
        hops, shares = (inside, across), (whole, whole)
    elif way.name in ("nccl_tree", "nvls"):
        hops, shares = (1.0, float(ceil(log2(boxes)))), (1.0, 2.0)
    elif way.name == "pat":
        hops, shares = (1.0, float(ceil(log2(boxes)))), (whole, whole)
    else:
        hops, shares = (1.0, 1.0), ((2 - 1 / boxes) / 1.5, 2 * (1 - 1 / boxes))
    loads = {
        reach: replace(load, latency=load.latency * h, hops=load.hops * h, share=load.share * s)
        for (reach, load), h, s in zip(way.loads.items(), hops, shares, strict=True)
    }
    messages = way.messages * (nodes - 1) // (2 * gpus - 1)
    return replace(way, loads=loads, messages=messages)


def samples_of(table: Table) -> list[Sample]:
    """The rows of a table."""
    collective = SESSION.collective(table.collective)
    kind = message_of_collective(collective, 4).kind
    ways, gpus = ways_of(table), int(table.process)
    return [Sample(size, us / 1e6, ways, kind, gpus, table.id) for size, us in table.rows]


def errors(one: Runtime, samples: Sequence[Sample]) -> Floats:
    """|time / measured time - 1| of each row."""
    return away(predicted(one, samples), samples)


def away(times: Floats, samples: Sequence[Sample]) -> Floats:
    """|time / measured time - 1| of each time."""
    found: Floats = np.abs(times / np.array([x.seconds for x in samples]) - 1)
    return found


def idealised(table: Table) -> Floats:
    """The errors of the better of ring and double binary tree, or of direct sends, without a
    library's costs."""
    samples = samples_of(table)
    if table.boxes > MOST_BOXES:
        return errors(WIRE, samples)
    topology = SESSION.topology(table.reference())
    collective = SESSION.collective(table.collective)
    network = given_network(topology, None, None)
    message = message_of_collective(collective, topology.num_nodes)
    names = ["all_pairs"] if table.collective == "alltoall" else ["ring", "double_binary_tree"]
    found, _ = SESSION.classics(topology, collective, names, 60.0)
    sizes = [message.node_bytes(one.size) for one in samples]
    times = [
        [float(x) for x in SimulatedSeconds(network, Semantics())(one, sizes)]
        for name, each in found.items()
        for one in each
    ]
    return away(np.min(times, axis=0), samples)


def three_rows(samples: Sequence[Sample]) -> list[int]:
    """The places of the rows to calibrate with: one small, one medium, one large."""
    count = len(samples)
    return [count // 8, count // 2, count - 1 - count // 8]


Errors = dict[str, Floats]
"""The errors of each table, by its name."""


def left_out_errors(
    used: Sequence[Table], rows: dict[str, list[Sample]], start: Runtime
) -> tuple[Errors, Errors]:
    """For each table the errors of the runtime that is fitted without its machine, and the errors
    of other rows if three rows of the table calibrate it."""
    out, calibrated = Errors(), Errors()
    for group in dict.fromkeys(one.group for one in used):
        own = [one.id for one in used if one.group == group]
        others = [x for one in used if one.group != group for x in rows[one.id]]
        without = fitted(others, start)
        for name in own:
            out[name] = errors(without, rows[name])
            known = three_rows(rows[name])
            mine = fitted([rows[name][i] for i in known], without)
            rest = [x for i, x in enumerate(rows[name]) if i not in known]
            calibrated[name] = errors(mine, rest) if rest else np.empty(0)
    return out, calibrated


def percent(value: float) -> str:
    """A share for people."""
    return "-" if np.isnan(value) else f"{100 * value:.0f} %"


def medians(
    found: Errors, sizes: dict[str, list[int]], keep: Iterable[str] | None = None
) -> list[float]:
    """The median error of all rows, and by decade."""
    names = list(found) if keep is None else [one for one in keep if one in found]
    each = np.concatenate([found[one] for one in names])
    words = np.array([decade_of(x) for one in names for x in sizes[one]])
    parts = [each, *(each[words == word] for word in DECADES)]
    return [float(np.median(x)) if len(x) else float("nan") for x in parts]


def quick_medians() -> dict[str, float]:
    """The median error of a few tables by decade, with the shipped runtimes."""
    found, sizes = Errors(), dict[str, list[int]]()
    for one in tables():
        if one.id in QUICK:
            samples = samples_of(one)
            found[one.id] = errors(runtime(one.runtime), samples)
            sizes[one.id] = [x.size for x in samples]
    return named(medians(found, sizes))


def fit_runtimes(used: Sequence[Table], rows: dict[str, list[Sample]]) -> dict[str, Runtime]:
    """Both runtimes, fitted to their tables."""
    start, found = runtime(HERE / "start.toml"), dict[str, Runtime]()
    for name in ("nccl", "rccl"):
        own = [x for one in used if one.runtime == name for x in rows[one.id]]
        start = found[name] = replace(fitted(own, start), name=name)
    return found


def plot(file: Path, used: Sequence[Table], rows: dict[str, list[Sample]]) -> None:
    """The predicted over the measured time by size, a line for each table."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "syncoll"
    from matplotlib import pyplot

    groups = list(dict.fromkeys(one.group for one in used))
    figure, axes = pyplot.subplots(3, 4, figsize=(12, 7.5), sharex=True, sharey=True)
    for group, axis in zip(groups, axes.flat, strict=False):
        for one in used:
            if one.group == group:
                own = rows[one.id]
                ratio = predicted(runtime(one.runtime), own) / np.array([x.seconds for x in own])
                axis.plot([x.size for x in own], ratio, lw=0.8, color="tab:blue")
        axis.axhline(1.0, color="black", lw=0.5)
        axis.set(title=group, xscale="log", yscale="log", ylim=(0.2, 5))
    figure.supxlabel("bytes of the message")
    figure.supylabel("predicted / measured time")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def write_page(page: Page) -> dict[str, dict[str, float]]:
    """The page; returns the medians."""
    every = tables()
    used = [one for one in every if not one.left_out]
    rows = {one.id: samples_of(one) for one in used}
    sizes = {name: [x.size for x in each] for name, each in rows.items()}
    rest = {
        name: [size for i, size in enumerate(each) if i not in three_rows(rows[name])]
        for name, each in sizes.items()
    }
    ideal = {one.id: idealised(one) for one in used}
    shipped = {one.id: errors(runtime(one.runtime), rows[one.id]) for one in used}
    out, calibrated = Errors(), Errors()
    start = runtime(HERE / "start.toml")
    for name in ("nccl", "rccl"):
        own = [one for one in used if one.runtime == name]
        found = left_out_errors(own, rows, start)
        out |= found[0]
        calibrated |= found[1]
        # RCCL has few machines: its fits begin with the costs of NCCL.
        start = fitted([x for one in own for x in rows[one.id]], start)
    page.say("# Measured times of NCCL and RCCL", "", made_at("syncoll/simulating"))
    page.say(
        f"{len(used)} tables of the defaults of NCCL and RCCL from public threads and "
        f"repositories, {sum(map(len, rows.values()))} rows. An error is the distance of a "
        "predicted time from the measured one, over the measured one, and the tables have its "
        "median over rows. The library runs the fastest of its algorithms (`nccl_ring`, "
        "`nccl_tree`, `nvls`, `pat`, `pairwise`) and protocols. The runtimes are fitted to these "
        "tables; where a machine is left out, without the tables of its GPU and network. The "
        "latencies of EFA (19 us) and Slingshot (5.6 us) are part of the machine, and fitted to "
        "its tables.",
        "",
    )
    figures = {
        "better of ring and double binary tree, no costs of a library": medians(ideal, sizes),
        "runtimes `nccl` and `rccl`, not calibrated": medians(shipped, sizes),
        "fitted without the machine of the table": medians(out, sizes),
        "the same, calibrated with three rows of the table": medians(calibrated, rest),
    }
    heading(page, "model", "all", *DECADES)
    for what, each in figures.items():
        row(page, what, *map(percent, each))
    page.say("", "![Predicted over measured time](measured.svg)", "", "## By machine", "")
    heading(
        page, "machine", "rows", "no costs", "not calibrated", *DECADES, "left out", "three rows"
    )
    for group in sorted({one.group for one in used}):
        names = [one.id for one in used if one.group == group]
        cells = [
            medians(ideal, sizes, names)[0],
            *medians(shipped, sizes, names),
            medians(out, sizes, names)[0],
            medians(calibrated, rest, names)[0],
        ]
        row(page, group, str(sum(len(sizes[one]) for one in names)), *map(percent, cells))
    known = known_schedules(page)
    page.say("", "## Tables", "")
    heading(page, "table", "collective", "machine", "library", "error", "source")
    for one in used:
        error = percent(float(np.median(shipped[one.id])))
        where = f"`{one.machine}`" + (f"; {one.note}" if one.note else "")
        row(page, one.id, one.collective, where, one.library, error, one.source)
    page.say("", "## Left out", "")
    heading(page, "reason", "tables")
    for reason in sorted({one.left_out for one in every} - {""}):
        row(page, reason, ", ".join(one.id for one in every if one.left_out == reason))
    plot(RESULTS / "measured.svg", used, rows)
    found_medians = {what: named(each) for what, each in figures.items()}
    return {**found_medians, "known schedules": known}


def heading(page: Page, *cells: str) -> None:
    """The head of a table."""
    row(page, *cells)
    row(page, *["---"] * len(cells))


def row(page: Page, *cells: str) -> None:
    """A row of a table."""
    page.say(f"| {' | '.join(cells)} |")


def named(each: Sequence[float]) -> dict[str, float]:
    """Medians by decade."""
    return dict(zip(("all", *DECADES), each, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.fit:
        used = [one for one in tables() if not one.left_out]
        for name, one in fit_runtimes(used, {x.id: samples_of(x) for x in used}).items():
            arguments.fit.mkdir(exist_ok=True)
            write_atomically(arguments.fit / f"{name}.toml", runtime_text(one))
        return 0
    page = Page(RESULTS / "measured.md")
    found = write_page(page)
    page.write(None)
    kept = {**found, "a few tables": quick_medians()}
    write_atomically(RESULTS / "measured.json", json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
