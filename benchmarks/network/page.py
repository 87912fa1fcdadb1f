"""The page of results; its rows are kept in a file, so that a run continues where one stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import exp, log
from pathlib import Path
from statistics import median

from benchmarks.network.measurement import Row, measure
from benchmarks.tables import RESULTS, made_at
from syncoll.documents.atomic import write_atomically
from syncoll.errors import SyncollError
from syncoll.units import format_size

__all__ = ["HEAD", "kept_rows", "line", "make"]

_FILE = Path(__file__).with_name("machines.syncoll")
_ROWS, _PAGE = RESULTS / "network.json", RESULTS / "network.md"

MACHINES = {
    "ring(8)": "ring(8)",
    "dgx1": "dgx1",
    "quad": f"{_FILE}:quad",
    "uneven_hub(8)": f"{_FILE}:uneven_hub(8)",
    "two_hubs(4)": f"{_FILE}:two_hubs(4)",
    "slow_root(7)": f"{_FILE}:slow_root(7)",
    "torus(4,4)": "torus(4,4)",
}
"""By the name on the page the machine as commands take it."""

COLLECTIVES = ("allgather", "allreduce", "alltoall", "broadcast")
_LARGE, _LARGEST = 1 << 20, 8 << 20

_COLUMNS = (
    "machine",
    "collective",
    "a rank",
    "message",
    "Mbit/s",
    "C file ms",
    "MPICH ms",
    "module ms",
    "Gloo ms",
    "speed-up",
    "predicted ms",
    "error",
    "floor ms",
    "over floor",
    "algorithm",
)
HEAD = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"


def line(row: Row) -> str:
    """A row of the table."""
    seconds = (row.c_file, row.mpich, row.module, row.gloo)
    cells = [
        row.machine,
        row.collective,
        format_size(row.size),
        format_size(row.message),
        str(row.rate),
        *("" if one is None else f"{1e3 * one:.4g}" for one in seconds),
        f"{row.speedup:.2f}",
        f"{1e3 * row.predicted:.4g}",
        f"{100 * (row.predicted / row.ours - 1):+.0f} %",
        f"{1e3 * row.floor:.4g}",
        f"{row.ours / row.floor:.2f}",
        row.algorithm[row.c_file > row.module],
    ]
    return f"| {' | '.join(cells)} |"


def kept_rows() -> list[Row]:
    """The rows that were measured so far."""
    return [Row.of(one) for one in json.loads(_ROWS.read_text())] if _ROWS.exists() else []


def make(sizes: Sequence[int], only: str | None) -> None:
    """Measures the rows that are missing, and writes the page after each.

    Args:
        only: a part of the names of machines; None for all.
    """
    kept = kept_rows()
    print(HEAD, flush=True)
    for name, machine in MACHINES.items():
        for collective in COLLECTIVES if only is None or only in name else ():
            known = {x.size for x in kept if (x.machine, x.collective) == (name, collective)}
            if not (rest := [size for size in sizes if size not in known]):
                continue
            try:
                for row in measure(machine, collective, rest):
                    kept.append(replace(row, machine=name))
                    print(line(kept[-1]), flush=True)
                    write_atomically(_ROWS, json.dumps([asdict(x) for x in kept], indent=1) + "\n")
                    write_atomically(_PAGE, _text(kept))
            except SyncollError as error:  # the row is missing
                print(f"{collective} on {name}: {error}", flush=True)
    write_atomically(_PAGE, _text(kept))


def _text(rows: Sequence[Row]) -> str:
    """The page."""
    names, large = [*MACHINES], [one for one in rows if one.size >= _LARGE]
    rows = sorted(rows, key=lambda x: (names.index(x.machine), x.collective, x.size))
    lines = [
        "# A real network",
        "",
        made_at("exporters", "syncoll"),
        "Made by `python -m benchmarks.network --results`.",
        *_WORDS.strip().splitlines(),
        "",
        HEAD,
        *map(line, rows),
        "",
        "## Summary",
        "",
    ]
    gains = [log(one.speedup) for one in large]
    if gains:
        lowest, worst = min(large, key=lambda x: x.speedup), [x for x in rows if x.speedup < 0.95]
        lines += [
            f"- {len(rows)} rows of {len(MACHINES) * len(COLLECTIVES) * 3}.",
            f"- From 1 MiB a rank on, the geometric mean of the speed-up over the better one of "
            f"MPICH and Gloo is {exp(sum(gains) / len(gains)):.2f}. The lowest is "
            f"{lowest.speedup:.2f} ({_place(lowest)}).",
            f"- Rows below 0.95: {', '.join(map(_place, worst)) or 'none'}.",
        ]
    if largest := [one for one in rows if one.size == _LARGEST]:
        most = max(largest, key=lambda x: x.ours / x.floor)
        far = [one for one in largest if one.ours > 1.25 * one.floor]
        lines.append(
            f"- At 8 MiB a rank the measured time is at most {most.ours / most.floor:.2f} times "
            f"the lower bound ({_place(most)}). Rows above 1.25: "
            f"{', '.join(map(_place, far)) or 'none'}."
        )
    if rows:
        errors = [error for one in rows for error in one.errors]
        own = [abs(x.predicted / x.ours - 1) for x in rows]
        lines.append(
            f"- The median error of the prediction is {100 * median(own):.1f} % for the faster one "
            f"of the C file and the module, and {100 * median(errors):.1f} % for both."
        )
    return "\n".join(lines) + "\n"


def _place(row: Row) -> str:
    return f"{row.collective} of {format_size(row.size)} on {row.machine}"


_WORDS = """
Each node is a network namespace of one machine, and each link a virtual Ethernet pair that the
kernel's token bucket (`tc tbf`) shapes to its bandwidth. Switches and ports are one more namespace,
which forwards packets. Packets between nodes without a link take a shortest path, over nodes that
forward them. *Mbit/s* is the rate of a link of one chunk per round; it is lower on machines with
more links, so that two cores carry them all. Packets have up to 9000 bytes, TCP is Reno, and a
queue holds 2 MB.

*C file* is our algorithm over MPICH, compiled with `SYNCOLL_IN_ORDER`, *module* the same over
PyTorch and Gloo, next to the libraries' own collectives: medians of 5 calls, which take turns in
one run. The slowest rank counts. `syncoll pareto --optimise-for` found the algorithms with 3 units
of work, and `syncoll plan --timing lockstep` chose one for each size. The allgather on
*torus(4,4)*, the allreduces on machines with hubs, and the broadcast on *two_hubs(4)* had 10 units.
Of an exchange the algorithms of the routed machine take part, whose sends cross several links.
*Speed-up* is the better library over the better one of ours. *Predicted* is the simulated time with
a latency and a bandwidth from two point-to-point runs over a single link, of 1 KiB and 4 MiB. The
latency is at least 1 ms, since ranks share cores, and a tenth of it occupies the link. *Floor* is
the proved lower bound on every algorithm's time with the same costs; a bucket of tokens lets 20 kB
pass at once, so a small size can take less. MPICH runs with `MPIR_CVAR_ENABLE_HEAVY_YIELD`: a rank
that waits leaves its core to others. Other programs ran on both cores at the same time, with a load
of 5 to 15; the ranks had priority. It disturbs the times of small sizes most.

The allreduces on *two_hubs(4)* and *uneven_hub(8)* are newer: messages of a step start in the order
of its rounds, so that those over the trunk do not meet. On *two_hubs(4)* up to three algorithms
within 2 % of the least predicted time were measured for each size, and the fastest counts, against
the least time of each library. At 8 MiB the ring's 14 steps take 7 % less than four steps of the
same R/C. There several messages of a node are on their way at once, and a step waits for the
slowest.

The rows of *dgx1* and *slow_root(7)*, but for their broadcasts, are older: the C file did not have
the macro yet, and `syncoll plan` was not asked for times in lockstep.
"""
