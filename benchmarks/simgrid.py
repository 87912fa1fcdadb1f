"""SimGrid as judge: our algorithms next to the collectives of four MPI libraries, simulated there.

A row is a machine and a collective; its cells are sizes.  The algorithm of a cell is the point of
the frontier that our simulator finds the fastest; with ``routed`` in front of its name it is of the
machine with routed steps, as the libraries' sends are.  It runs under SimGrid as the exported C
file, and so does every algorithm that SimGrid has for the collective.  Links carry 1 GB/s for each
chunk per round, and a hop takes 1 us.  The times are simulated, so the load of the computer does
not matter.  Rows are kept, so that a run can be stopped and continued.

::

    python benchmarks/simgrid.py                     # rows that are missing, small machines first
    python benchmarks/simgrid.py --row torus --collective allgather --again
    python benchmarks/simgrid.py --page --plots docs/measured   # only the page and its plots
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import syncoll
from benchmarks.processes import process
from benchmarks.tables import RESULTS, Page, add_rows, is_asked, made_at
from syncoll.documents import read_file
from syncoll.documents.atomic import write_atomically
from syncoll.model import Topology
from syncoll.planning import message_of
from syncoll.plugins import ExportRequest, PluginManager
from syncoll.runtime import export_verified
from syncoll.simulating import PhysicalNetwork, Semantics, Timing, compare, physical_network
from syncoll.units import format_size
from syncoll_simgrid.format import script
from syncoll_simgrid.writer import platform

_OWN = "benchmarks/network/machines.syncoll"
MACHINES = (
    *("ring(8)", "dgx1", f"{_OWN}:quad", "torus(4,4)", f"{_OWN}:uneven_hub(8)"),
    *(f"{_OWN}:two_hubs(4)", f"{_OWN}:slow_root(7)"),
    *("torus(8,8)", "hypercube(6)"),
    *(f"{name}(boxes={boxes})" for boxes in (2, 4, 8) for name in ("dgx_h100", "a100")),
    *("mi300x(boxes=4)", "fat_tree(8)", "dragonfly(8,1,9)"),
    *("dgx_h100(boxes=16)", "a100(boxes=16)", "torus(16,16)"),
)
COLLECTIVES = ("allgather", "reducescatter", "allreduce", "broadcast", "alltoall")
BLOCKS = (1 << 10, 1 << 16, 1 << 20)
"""Bytes a rank; a message has as many for each rank."""

MOST_BYTES = 1 << 32
"""Of the buffers of all ranks."""

SELECTORS = ("mpich", "ompi", "mvapich2", "impi")
ALGORITHMS = {
    "allgather": "2dmesh 3dmesh bruck GB loosely_lr NTSLR NTSLR_NB pair rdb rhv ring SMP_NTS "
    "smp_simple spreading_simple ompi_neighborexchange mvapich2_smp",
    "reducescatter": "default ompi_basic_recursivehalving ompi_ring ompi_butterfly mpich_pair "
    "mpich_rdb mpich_noncomm",
    "allreduce": "default lr rab1 rab2 rab_rdb rdb smp_binomial smp_binomial_pipeline smp_rdb "
    "smp_rsag smp_rsag_lr smp_rsag_rab redbcast ompi_ring_segmented mvapich2_rs "
    "mvapich2_two_level rab",
    "broadcast": "arrival_pattern_aware arrival_pattern_aware_wait arrival_scatter binomial_tree "
    "flattree flattree_pipeline NTSB NTSL NTSL_Isend scatter_LR_allgather scatter_rdb_allgather "
    "SMP_binary SMP_binomial SMP_linear ompi_split_bintree ompi_pipeline mvapich2_inter_node "
    "mvapich2_intra_node mvapich2_knomial_intra_node",
    "alltoall": "2dmesh 3dmesh basic_linear bruck pair pair_rma pair_light_barrier "
    "pair_mpi_barrier pair_one_barrier rdb ring ring_light_barrier ring_mpi_barrier "
    "ring_one_barrier mvapich2_scatter_dest",
}
"""All algorithms that SimGrid 3.32 has for a collective, without the selectors."""

OPTIONS = {"broadcast": "bcast", "reducescatter": "reduce_scatter"}
"""SimGrid's names of collectives."""

CHUNKS = 256
"""The largest C, for each block of a rank."""

LEAST_BYTES = 64
"""Of a chunk; chunks of a few doubles would differ much in size."""

MANY, BEST = 64, 5
"""Above this number of ranks the selectors and the best algorithms at this number run."""

KEPT = RESULTS / "simgrid.json"
ALPHA, RATE = Fraction(1, 10**6), Fraction(10**9)

ROUTED = ("alltoall",)
"""Collectives for which direct sends along routes compete."""

Row = dict[str, Any]


def sizes_of(nodes: int) -> list[int]:
    """The bytes a rank of the cells."""
    return [block for block in BLOCKS if nodes * nodes * block <= MOST_BYTES]


def search(machine: str, collective: str, work: str, folder: Path) -> Path:
    """The file of a frontier; a file that is there is not searched again."""
    name = re.sub(r"\W+", "-", f"{machine.split('/')[-1].split(':')[-1]} {collective}").strip("-")
    routed = machine.startswith("routed")
    file = folder / f"{'routed-' * routed}{name}.json"
    if not file.exists():
        nodes = syncoll.topology(machine).num_nodes
        most = CHUNKS if collective == "allgather" else CHUNKS * nodes
        sizes = ",".join(str(nodes * block) for block in sizes_of(nodes))
        how = ["--alpha", "1us", "--beta", "1GB/s", "--optimise-for", sizes]
        how += ["--max-chunks", str(most), "--max-messages", str(max(100_000, 640 * nodes))]
        how += ["--work", work]
        how += ["--store", "none", "--memory-limit", "3GiB"]
        if routed:
            how = ["--backend", "all_pairs"]
        process(["pareto", machine, collective, *how, "-o", str(file)], allowed=(0, 3))
    return file


def with_hops(routed: Topology, machine: Topology) -> PhysicalNetwork:
    """The network of routed steps on a machine, on which every hop of a send takes alpha."""
    network = physical_network(routed, Fraction(0), RATE)
    hops = (int(machine.distances[a, b]) for a, b in routed.links)
    return replace(network, extra=tuple(ALPHA * count for count in hops))


def points(machine: str, collective: str, work: str, folder: Path) -> list[Row]:
    """The cells of a row: for each size the fastest algorithm by our simulator."""
    topology = syncoll.topology(machine)
    blocks = sizes_of(topology.num_nodes)
    sizes = [block * topology.num_nodes for block in blocks]
    speed: dict[str, Any] = {"alpha": "1us", "beta": "1GB/s", "classics": [], "timing": "lockstep"}
    file = search(machine, collective, work, folder)
    frontier = read_file(file)
    offered: list[list[tuple[Fraction, Any]]] = [[] for _ in sizes]
    # All algorithms of steps between neighbours may have too many messages.
    if frontier.algorithms or collective not in ROUTED:
        found = syncoll.simulate(file, sizes=sizes, progress="none", **speed)
        message = found.message
        for i, size in enumerate(sizes):
            data = message.node_bytes(size)
            coarse = [x for x in found.algorithms if x.algorithm.chunks * LEAST_BYTES <= data]
            best = min(coarse or found.algorithms, key=lambda one: one.seconds[i])
            offered[i].append((best.seconds[i], best))
    if collective in ROUTED:
        other = search(f"routed {machine}", collective, work, folder)
        routed = syncoll.simulate(other, sizes=sizes, progress="none", **speed)
        message = routed.message
        algorithms = [one.algorithm for one in routed.algorithms]
        network = with_hops(routed.network.topology, topology)
        timed = compare(algorithms, {}, network, Semantics(timing=Timing.LOCKSTEP), sizes)
        for i in range(len(sizes)):
            best = timed.best(i)
            offered[i].append((best.seconds[i], best))
    claims = frontier.claims()
    cells = []
    for i, (block, size) in enumerate(zip(blocks, sizes, strict=True)):
        # Fewer steps if the times are equal.
        seconds, best = min(offered[i], key=lambda pair: (pair[0], pair[1].algorithm.steps))
        one = best.algorithm
        scale = 1e6 * float(message.node_bytes(size) / RATE)
        ways = "routed " * (one.instance.topology.name != topology.name)
        cells.append(
            {
                "block": block,
                "message": size,
                "point": f"{ways}S = {one.steps}, R/C = {one.bandwidth}, C = {one.chunks}",
                "predicted": 1e6 * float(seconds),
                "cost": scale * float(one.bandwidth),
                "floor": scale * float(claims.least_bandwidth),
                "algorithm": one,
            }
        )
    return cells


def write_platform(topology: Topology, folder: Path) -> None:
    """The files of the machine."""
    (folder / "platform.xml").write_text(platform(topology, {"bandwidth": 1, "latency": 1}))
    (folder / "hosts.txt").write_text("".join(f"h{node}\n" for node in range(topology.num_nodes)))


def run(folder: Path, options: Iterable[str], arguments: Iterable[object], limit: int) -> list[str]:
    """The lines that a program prints under SimGrid, and the reason at the end if it fails."""
    done = subprocess.run(
        ["sh", str(folder / "run.sh"), *options, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CFLAGS": "-DSYNCOLL_LIBRARY=0"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)),
    )
    lines = done.stdout.splitlines()
    if done.returncode:
        said = (done.stderr + done.stdout).splitlines()
        words = [line.split("CRITICAL] ")[-1] for line in said if "CRITICAL]" in line]
        over = done.returncode in (128 + 24, 128 + 9, -24, -9)
        lines.append("!" + (f"over {limit} s" if over else (words or ["it aborts"])[0][:80]))
    return lines


def measure_ours(topology: Topology, cells: list[Row], folder: Path, limit: int) -> None:
    """Adds the simulated times of our algorithms; raises RuntimeError if a result is wrong."""
    record = PluginManager.discover().exporters["simgrid"]
    for one in {id(cell["algorithm"]): cell["algorithm"] for cell in cells}.values():
        instance = one.instance
        request = ExportRequest("ours", instance.collective, instance, one.algorithm)
        files = export_verified(record, request, {"bandwidth": 1, "latency": 1}).exported.files
        for name, content in files.items():
            if name != "platform.xml":  # that of the machine has the routes of its sends
                (folder / name).write_bytes(content)
        own = [cell for cell in cells if cell["algorithm"] is one]
        blocks = message_of([instance]).kind in ("allreduce", "broadcast")
        counts = [cell["message" if blocks else "block"] // 8 for cell in own]
        lines = run(folder, [], [17, 1, 1, *counts], limit)
        if "OK" not in lines:
            raise RuntimeError(f"{own[0]['point']}: {lines[-1] if lines else 'no output'}")
        for cell, line in zip(own, lines[-1 - len(own) : -1], strict=True):
            cell["ours"] = float(line.split()[1])
    for cell in cells:
        del cell["algorithm"]


def best_of_many(kept: Mapping[str, Row], collective: str) -> list[str]:
    """The algorithms that are best on average over the rows of `MANY` ranks; all without such."""
    costs: dict[str, list[float]] = {}
    for row in kept.values():
        if row["collective"] == collective and row["nodes"] == MANY and row["libraries"]:
            for block in map(str, sizes_of(MANY)):
                times = {name: found.get(block) for name, found in row["libraries"].items()}
                least = min((time for time in times.values() if time), default=1.0)
                for name, time in times.items():
                    costs.setdefault(name, []).append(log(time / least) if time else 9.0)
    names = [name for name in ALGORITHMS[collective].split() if name in costs]
    return sorted(names, key=lambda name: sum(costs[name]))[:BEST] or ALGORITHMS[collective].split()


def measure(row: Row, kept: Mapping[str, Row], arguments: argparse.Namespace) -> Iterator[None]:
    """Fills a row or the asked part of it, and yields when something is there."""
    collective, topology = row["collective"], syncoll.topology(row["machine"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not row["cells"] and arguments.part != "libraries":
            frontiers = arguments.frontiers or folder
            cells = points(row["machine"], collective, arguments.work, frontiers)
            write_platform(topology, folder)
            measure_ours(topology, cells, folder, arguments.limit)
            row["cells"] = cells
            yield
        write_platform(topology, folder)
        source = Path(__file__).with_name("simgrid_library.c")
        (folder / "library.c").write_text(source.read_text())
        (folder / "run.sh").write_text(script("library", topology.num_nodes))
        singles = ALGORITHMS[collective].split()
        if topology.num_nodes > MANY:
            singles = best_of_many(kept, collective)
        option = OPTIONS.get(collective, collective)
        ways = {name: f"coll-selector:{name}" for name in SELECTORS}
        ways |= {name: f"{option}:{name}" for name in singles}
        blocks = sizes_of(topology.num_nodes)
        for library, way in ways.items() if arguments.part != "ours" else ():
            if library in row["libraries"]:
                continue
            lines = run(folder, [f"--cfg=smpi/{way}"], [collective, *blocks], arguments.limit)
            failed = [line[1:] for line in lines if line.startswith("!")]
            times = [line.split() for line in lines if line[:1].isdigit()]
            row["libraries"][library] = {block: float(time) for block, time in times}
            if failed:
                row["failed"][library] = failed[0]
            yield
        row["compared"] |= arguments.part != "ours"
    row["done"] = bool(row["cells"]) and row["compared"]
    yield


def rated(row: Row, cell: Row, names: Iterable[str]) -> tuple[float, str] | None:
    """The least time of some libraries in a cell, and its library."""
    block = str(cell["block"])
    found = row["libraries"]
    return min(((found[x][block], x) for x in names if block in found.get(x, ())), default=None)


def geometric(ratios: list[float]) -> str:
    """The geometric mean and the least."""
    if not ratios:
        return "- | -"
    return f"{exp(sum(map(log, ratios)) / len(ratios)):.2f} | {min(ratios):.2f}"


def write_page(rows: list[Row], file: Path) -> None:
    """The page of the kept rows."""
    page = Page(file)
    page.say("# SimGrid as judge", "", made_at())
    page.say("How to read it is in `benchmarks/simgrid.py`; docs/measured.md explains it.", "")
    every = len(MACHINES) * len(COLLECTIVES)
    cells = [(row, cell) for row in rows for cell in row["cells"]]
    page.say(f"Made: {len(rows)} of {every} rows, {len(cells)} cells.", "")
    made = {(row["machine"], row["collective"]) for row in rows}
    for machine in MACHINES:
        missing = [name for name in COLLECTIVES if (machine, name) not in made]
        if missing:
            words = ", ".join(missing) if len(missing) < len(COLLECTIVES) else "any collective"
            page.say(f"- not made on {machine.split(':')[-1]}: {words}")
    page.say("")
    page.say(
        "| collective | a rank | cells | over the selectors: mean | least "
        "| over every algorithm: mean | least | over the proved floor: mean |"
    )
    page.say("|---|--:|--:|--:|--:|--:|--:|--:|")
    for collective in COLLECTIVES:
        for block in BLOCKS:
            own = [x for x in cells if x[0]["collective"] == collective and x[1]["block"] == block]
            over: tuple[list[float], ...] = ([], [])
            for row, cell in own:
                for names, ratios in zip((SELECTORS, row["libraries"]), over, strict=True):
                    if best := rated(row, cell, names):
                        ratios.append(best[0] / cell["ours"])
            floors = [cell["ours"] / cell["floor"] for _, cell in own if cell["floor"]]
            about = f"{collective} | {format_size(block)} | {len(own)}"
            page.say(
                f"| {about} | {geometric(over[0])} | {geometric(over[1])} "
                f"| {geometric(floors).split(' |')[0]} |"
            )
    wrong = [
        (row, cell)
        for row, cell in cells
        if abs(cell["ours"] - cell["predicted"]) > 0.02 * cell["ours"] + 4
    ]
    page.say("", f"Predicted within 2 % and 4 us: {len(cells) - len(wrong)} of {len(cells)} cells.")
    for row, cell in wrong:
        about = f"{row['machine'].split(':')[-1]}, {row['collective']}"
        words = f"{cell['ours']:.1f} us, predicted {cell['predicted']:.1f} us"
        page.say(f"- {about}, {format_size(cell['block'])} a rank: {words}")
    large = [cell for _, cell in cells if cell["block"] == BLOCKS[-1]]
    near = sum(cell["ours"] <= 1.03 * cell["cost"] for cell in large)
    page.say("", f"At 1 MiB a rank within 3 % of R/C: {near} of {len(large)} cells.")
    rivals = [
        (least[0], cell)
        for row, cell in cells
        if cell["block"] == BLOCKS[-1] and (least := rated(row, cell, row["libraries"]))
    ]
    if rivals:
        ours, floor = (sum(time / cell[key] for time, cell in rivals) for key in ("ours", "floor"))
        page.say(f"There the mean of library / ours is {ours / floor:.1%} of library / floor.")
    page.say("", "Cells in which a library is faster by more than 2 %:", "")
    for row, cell in cells:
        if (least := rated(row, cell, row["libraries"])) and least[0] * 1.02 < cell["ours"]:
            about = f"{row['machine'].split(':')[-1]}, {row['collective']}"
            words = f"{least[1]} {least[0]:.1f} us, ours {cell['ours']:.1f} us"
            page.say(f"- {about}, {format_size(cell['block'])} a rank: {words}")
    page.say(
        "", "In alltoalls the sends of the libraries cross several links at once, ours do not.", ""
    )
    page.say(
        "| machine | collective | a rank | point | ours us | predicted | floor "
        "| best selector | ratio | best algorithm | ratio |"
    )
    page.say("|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for row, cell in cells:
        columns = []
        for names in (SELECTORS, ALGORITHMS[row["collective"]].split()):
            best = rated(row, cell, names)
            columns.append(
                f"{best[1]} {best[0]:.1f} | {best[0] / cell['ours']:.2f}" if best else "- | -"
            )
        machine = row["machine"].split(":")[-1]
        times = " | ".join(f"{cell[key]:.1f}" for key in ("ours", "predicted", "floor"))
        about = f"{machine} | {row['collective']} | {format_size(cell['block'])} | {cell['point']}"
        page.say(f"| {about} | {times} | {' | '.join(columns)} |")
    page.say("", "Algorithms of SimGrid that did not end:", "")
    for row in rows:
        for name, reason in row["failed"].items():
            page.say(f"- {row['machine'].split(':')[-1]}, {row['collective']}: {name}: {reason}")
    page.write(None)


def plot(rows: list[Row], folder: Path) -> None:
    """A picture of each machine: time against size for each collective."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    folder.mkdir(exist_ok=True)
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = {row["collective"]: row for row in rows if row["machine"] == machine}
        figure = Figure(figsize=(10, 2.4), layout="constrained")
        name = machine.split(":")[-1]
        for axes, (collective, row) in zip(
            figure.subplots(1, len(own), squeeze=False)[0], own.items(), strict=True
        ):
            for cell in row["cells"]:
                cell["library"] = (rated(row, cell, row["libraries"]) or (None,))[0]
            for key, style in (("library", "C1s-"), ("ours", "C0o-"), ("floor", "k:")):
                sizes = [cell["message"] for cell in row["cells"]]
                axes.plot(sizes, [cell[key] for cell in row["cells"]], style, ms=3, label=key)
            axes.set(xscale="log", yscale="log", title=collective, xlabel="message, bytes")
            axes.minorticks_off()
            axes.tick_params(labelsize=7)
        figure.axes[0].set_ylabel(f"{name}\nus")
        figure.axes[0].legend(["best library", "syncoll", "R/C · bytes"], fontsize=7)
        with mpl.rc_context({"svg.hashsalt": "syncoll", "svg.fonttype": "none"}):
            file = re.sub(r"\W+", "-", name).strip("-")
            figure.savefig(folder / f"{file}.svg", metadata={"Date": None})


def read_kept(file: Path) -> dict[str, Row]:
    """The rows of a file, if it is there."""
    rows: dict[str, Row] = json.loads(file.read_text()) if file.is_file() else {}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_rows(parser)
    parser.add_argument("--work", default="15", help="units of work of each search")
    parser.add_argument("--limit", type=int, default=300, help="seconds of processor of each run")
    parser.add_argument("--frontiers", type=Path, help="a folder that keeps the frontiers")
    parser.add_argument("--again", action="store_true", help="make kept rows or parts again")
    parser.add_argument("--part", choices=("ours", "libraries"), help="of the rows; both if absent")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"the rows (default {KEPT})")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "simgrid.md")
    parser.add_argument("--plots", type=Path, help="a folder for a plot of each machine")
    arguments = parser.parse_args()
    kept = read_kept(arguments.kept)
    for machine in () if arguments.page else MACHINES:
        for collective in COLLECTIVES:
            key = f"{machine} {collective}"
            if not is_asked(arguments, machine, collective):
                continue
            row = kept.get(key) or {"machine": machine, "collective": collective}
            if arguments.again or key not in kept:
                row["nodes"] = syncoll.topology(machine).num_nodes
                row["commit"] = made_at().split()[3].rstrip(",")
                if arguments.part != "libraries" or key not in kept:
                    row["cells"] = []
                if arguments.part != "ours" or key not in kept:
                    row |= {"libraries": {}, "failed": {}, "compared": False}
            row["done"] = bool(row["cells"]) and row["compared"]
            try:
                for _ in measure(row, kept, arguments) if not row["done"] else ():
                    kept = {**read_kept(arguments.kept), key: row}  # another run may add to it
                    write_atomically(arguments.kept, json.dumps(kept, indent=0) + "\n")
            except (RuntimeError, syncoll.errors.SyncollError) as error:
                print(f"{key}: {error}", flush=True)
                continue
            print(key, "done", flush=True)
    order = [f"{machine} {collective}" for machine in MACHINES for collective in COLLECTIVES]
    rows = [kept[key] for key in order if key in kept and kept[key]["done"]]
    write_page(rows, arguments.output)
    if arguments.plots:
        plot(rows, arguments.plots)


if __name__ == "__main__":
    main()
