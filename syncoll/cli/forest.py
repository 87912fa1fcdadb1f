"""``syncoll forest TOPOLOGY``: how fast a network can be at best, why, and the trees that do it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format, amount, count, duration, output_file
from syncoll.cli.exits import Exit
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.model import Fabric
    from syncoll.model.forest import Tree
    from syncoll.plugins import PluginManager, SeedRecord
    from syncoll.plugins.forests import ForestPacker
    from syncoll.results.forest import PackedForest

__all__ = ["add_parser"]

_COLLECTIVES = ("allgather", "reducescatter", "allreduce", "broadcast", "reduce")
_ROOTED = ("broadcast", "reduce")

_DESCRIPTION = """\
Packs spanning trees that use a network's bandwidth as well as any algorithm can, however many steps
it takes, and names the bottleneck: a cut across which more has to go than its links can carry any
faster.  The trees are verified edge by edge, the cut by exact arithmetic, before anything is shown.

Throughput is all data (of all nodes together) over time, in GB/s where the machine's description
says GB/s, else in chunks per round: then P / throughput is the least bandwidth cost R/C of
allgather.

  syncoll forest dgx1
  syncoll forest "torus(4,4)" --collective broadcast --root 5 --trees
  syncoll forest dgx1 --collective allreduce --fixed-k 2
  syncoll forest "torus(8,8)" --format json -o forest.json

--format json has for each tree the edges [sender, receiver, path] from the root on; in paths and in
the cut, switch i of a network of P nodes is P + i.  For allreduce `phases` has both halves; k, cut,
max_height and trees beside it are those of the slower one.
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "forest",
        help="the optimal throughput of a network, its bottleneck, and trees that reach it",
        description=_DESCRIPTION,
    )
    parser.add_argument("topology", metavar="TOPOLOGY", help='such as dgx1, "ring(8)", FILE:NAME')
    parser.add_argument(
        "--collective",
        choices=_COLLECTIVES,
        default="allgather",
        metavar="NAME",
        help=f"{', '.join(_COLLECTIVES)} (default: allgather)",
    )
    parser.add_argument(
        "--root", type=amount, metavar="N", help="of broadcast and reduce (default: 0)"
    )
    parser.add_argument(
        "--fixed-k",
        type=count,
        metavar="K",
        help="trees for each root (default: the least number that is optimal)",
    )
    parser.add_argument(
        "--backend", metavar="NAME", help="the seed that packs them (default: the one that can)"
    )
    parser.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help="for the whole command, from its start, such as 30s, 2min; exit code 3 when there is "
        "no forest by then (default: none)",
    )
    parser.add_argument("--trees", action="store_true", help="list every tree")
    add_format(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save what --format json prints; - for standard output",
    )
    parser.add_argument(
        "--progress",
        choices=("auto", "live", "plain", "none"),
        default="auto",
        help="on standard error (default: auto, which is live on a terminal, else none)",
    )
    parser.set_defaults(run=_run, kinds={"topology": "topology"})


@dataclass(frozen=True)
class _Result:
    """What was packed.

    Args:
        topology: its name.
        collective: what for.
        phases: one after the other.
        seconds: all in all.
        any_roots: of an allreduce, see `ForestPacker.any_roots`.
    """

    topology: str
    collective: str
    phases: tuple[PackedForest, ...]
    seconds: float
    any_roots: tuple[Fraction, Fraction] | None = None

    @property
    def unit(self) -> str:
        """Of throughputs."""
        return self.phases[0].fabric.measure

    @property
    def algbw(self) -> Fraction:
        """Each phase moves all data once."""
        return 1 / sum((1 / phase.algbw for phase in self.phases), Fraction(0))

    @property
    def bound(self) -> Fraction:
        """What the cuts leave room for."""
        return 1 / sum((1 / phase.bound for phase in self.phases), Fraction(0))

    @property
    def slowest(self) -> PackedForest:
        """The phase that takes longest."""
        return min(self.phases, key=lambda phase: phase.algbw)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import deadline, json_for_dash, library, manager
    from syncoll.cli.output import note, print_json
    from syncoll.deadline import interrupted_at
    from syncoll.documents.atomic import (
        require_writable,
        write_atomically,
    )
    from syncoll.documents.text import to_text
    from syncoll.errors import UsageError
    from syncoll.results.forest import ForestCollective

    collective = ForestCollective(arguments.collective)
    if arguments.root is not None and not collective.rooted:
        raise UsageError(f"--root means nothing to {collective}, of which every node is a root")
    json_for_dash(arguments)
    output: Path | None = arguments.output
    if output is not None:
        require_writable(output)
    plugins = manager()
    candidates = _seeds(plugins, arguments.backend)
    # Without its lowering, which takes long for a large network.
    fabric = library(plugins).fabric(arguments.topology)
    if arguments.root is not None and arguments.root >= fabric.num_nodes:
        raise UsageError(
            f"--root {arguments.root}: {fabric.name} has the nodes 0 to {fabric.num_nodes - 1}"
        )
    what = f"forest of {collective} on {fabric.name}, {counted(fabric.num_nodes, 'node')}"
    until = deadline(arguments, arguments.time_limit)
    with _progress(arguments.progress, what), interrupted_at(until):
        began = time.perf_counter()
        packer = _packer(candidates)
        phases = packer.pack(
            fabric, collective, root=arguments.root or 0, fixed_k=arguments.fixed_k
        )
        root = (arguments.root or 0) if collective.rooted else None
        phases = tuple(_checked(phase, fabric, root) for phase in phases)
        any_roots = packer.any_roots(fabric) if len(phases) > 1 else None
        seconds = time.perf_counter() - began
    result = _Result(fabric.name, str(collective), phases, seconds, any_roots)
    document = _document(result) if arguments.format == "json" or output is not None else None
    if arguments.format == "json" and document is not None:
        print_json(document)
    else:
        _show(result, arguments.trees)
    # After the answer is printed: a full disk must not cost it.
    if output is not None and document is not None:
        write_atomically(output, f"{to_text(document)}\n")
        note(f"saved in {output}")
    return Exit.OK


def _packer(candidates: Sequence[SeedRecord]) -> ForestPacker:
    """What packs forests: that of the first seed which can be loaded.

    Raises:
        PluginError: when the last one cannot.
    """
    from syncoll.cli.output import note
    from syncoll.errors import PluginError

    for record in candidates[:-1]:
        assert record.forest is not None
        try:
            return record.forest()
        except PluginError as error:
            note(f"syncoll: {error}; going on with another seed")
    last = candidates[-1]
    assert last.forest is not None
    return last.forest()


def _seeds(plugins: PluginManager, name: str | None) -> list[SeedRecord]:
    """The seeds that pack forests and can run here: the named one, or all, ours first.

    Raises:
        PluginError: when there is none.
    """
    from syncoll.errors import PluginError

    able = {key: seed for key, seed in plugins.seeds.items() if seed.forest is not None}
    known = f"those that do: {', '.join(sorted(able)) or 'none is installed'}"
    if name is not None:
        record = plugins.seeds[name]
        if record.forest is None:
            raise PluginError(f"seed {name} packs no forests; {known}")
        chosen = [record]
    else:
        if not able:
            raise PluginError(f"no seed packs forests; {known}")
        chosen = sorted(able.values(), key=lambda seed: not plugins.is_ours(seed))
    installed = [seed for seed in chosen if seed.installed().ok]
    if not installed:
        answer = chosen[0].installed()
        raise PluginError(f"seed {chosen[0].name} cannot run here: {answer.reason}")
    return installed


@contextmanager
def _progress(style: str, what: str) -> Iterator[None]:
    """Says what is being done, and for how long."""
    import sys

    from syncoll.cli.output import note

    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    began = time.perf_counter()
    if style == "live":
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, highlight=False, markup=False)
        columns = (SpinnerColumn("line"), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=console, transient=True) as shown:
            shown.add_task(what, total=None)
            yield
        return
    if style == "plain":
        note(f"[{0:7.1f} s] {what}")
    yield
    if style == "plain":
        note(f"[{time.perf_counter() - began:7.1f} s] packed and verified")


def _checked(phase: PackedForest, fabric: Fabric, root: int | None) -> PackedForest:
    """The phase once it has passed its check, with the seconds of that."""
    from syncoll.trust.forest import verify_packed

    began = time.perf_counter()
    verify_packed(phase, fabric, root)
    return replace(phase, seconds={**phase.seconds, "check": time.perf_counter() - began})


def _document(result: _Result) -> dict[str, Any]:
    several = len(result.phases) > 1
    phases = [_phase_document(phase) for phase in result.phases]
    slowest = phases[result.phases.index(result.slowest)]
    seconds = (
        {str(p.collective): sum(p.seconds.values()) for p in result.phases}
        if several
        else dict(result.phases[0].seconds)
    )
    return {
        "schema": "syncoll/forest/1",
        "topology": result.topology,
        "collective": result.collective,
        "nodes": result.phases[0].fabric.num_nodes,
        **{key: slowest[key] for key in ("k", "cut", "max_height", "trees")},
        "unit": result.unit,
        "algbw": str(result.algbw),
        "bound": str(result.bound),
        "seconds": {**seconds, "total": result.seconds},
        **({"phases": phases} if several else {}),
        **(
            {}
            if result.any_roots is None
            else {
                "any_roots": dict(
                    zip(("at_least", "at_most"), map(str, result.any_roots), strict=True)
                )
            }
        ),
    }


def _phase_document(phase: PackedForest) -> dict[str, Any]:
    return {
        "collective": str(phase.collective),
        "k": phase.forest.k,
        "algbw": str(phase.algbw),
        "bound": str(phase.bound),
        "cut": sorted(phase.cut),
        "max_height": phase.forest.height,
        "trees": [
            {
                "root": tree.root,
                "weight": tree.weight,
                "edges": [[u, v, list(path)] for u, v, path in tree.edges],
            }
            for tree in phase.forest.trees()
        ],
        "seconds": dict(phase.seconds),
    }


def _show(result: _Result, trees: bool) -> None:
    from syncoll.cli.output import print_text

    print_text(
        f"{result.collective} on {result.topology}: {_rate(result.algbw, result.unit)}, "
        "all data over time"
    )
    for phase in result.phases:
        print_text()
        if len(result.phases) > 1:
            print_text(f"{phase.collective}: {_rate(phase.algbw, result.unit)}")
        _show_phase(phase, result.unit)
        if trees:
            _show_trees(phase)
    print_text()
    if len(result.phases) > 1 and result.algbw == result.bound:
        print_text("Each half is as fast as it can be; an allreduce need not consist of the two.")
    if result.any_roots is not None:
        print_text(_any_roots(result, *result.any_roots))
    print_text(f"Verified edge by edge; {result.seconds:.2f} s.")


def _any_roots(result: _Result, at_least: Fraction, at_most: Fraction) -> str:
    """What an allreduce can do that is not made of these two halves."""
    what = "Reductions to any roots and broadcasts from them, both at the same time,"
    if at_most <= result.algbw:
        return f"{what} are no faster."
    reached = f"reach {_rate(at_least, result.unit)}"
    if at_least == at_most:
        return f"{what} {reached}, and nothing of that kind is faster."
    if at_least <= result.algbw:
        return f"{what} reach at most {_rate(at_most, result.unit)}."
    return f"{what} {reached}, and at most {_rate(at_most, result.unit)}."


def _show_phase(phase: PackedForest, unit: str) -> None:
    from syncoll.cli.output import print_text

    if phase.algbw == phase.bound:
        print_text("No algorithm is faster, whatever its steps:")
    else:
        share = float(phase.algbw / phase.bound)
        print_text(
            f"With k = {phase.forest.k} that is {share:.1%} of what the network admits, "
            f"{_rate(phase.bound, unit)}:"
        )
    for line in _bottleneck(phase, unit):
        print_text(f"  {line}")
    heights = phase.height_counts
    total = sum(heights.values())
    low, high = min(heights), max(heights)
    parts = [counted(total, "tree")]
    if not phase.collective.rooted:
        parts.append(f"{phase.forest.k} for each root")
    if phase.forest.num_trees != total:
        parts.append(f"{phase.forest.num_trees} of them different")
    span = f"heights from {low} to {high}"
    if low == high:
        span = f"of height {low}" if total == 1 else f"all of height {low}"
    print_text(f"{', '.join(parts)}; {span}")
    if low != high:
        for height, number in heights.items():
            print_text(f"  height {height}: {counted(number, 'tree')}")


def _bottleneck(phase: PackedForest, unit: str) -> list[str]:
    """The cut in words."""
    fabric, links = phase.fabric, phase.leaving
    nodes = {v for v in phase.cut if v < fabric.num_nodes}
    switches = {v - fabric.num_nodes for v in phase.cut - nodes}
    others = set(range(fabric.num_nodes)) - nodes
    part = f"{phase.crossing}/{sum(phase.forest.weights)} of the data"
    if phase.crossing == sum(phase.forest.weights):
        part = "all data"
    if phase.reduces:
        what = f"partial results for {part} have to go from {_nodes(nodes)} to {_nodes(others)}"
    else:
        what = f"{part} has to go from {_nodes(nodes)} to {_nodes(others)}"
    room = sum((bandwidth for _, _, bandwidth in links), Fraction(0))
    lines = [what]
    if switches:
        lines.append(f"({_ranges(switches, 'switch', 'switches')} counted with the former)")
    shown = [f"{_vertex(u, fabric)} -> {_vertex(v, fabric)} ({b})" for u, v, b in links[:8]]
    more = f", and {len(links) - 8} more" if len(links) > 8 else ""
    lines.append(
        f"over {counted(len(links), 'link')} of {_rate(room, unit)}"
        f"{' together' if len(links) > 1 else ''}: {', '.join(shown)}{more}"
    )
    return lines


def _show_trees(phase: PackedForest) -> None:
    from syncoll.cli.output import print_text

    for tree in phase.forest.trees():
        print_text(f"root {tree.root}, weight {tree.weight}")
        print_text(f"  {_edges(tree, phase.fabric)}")


def _edges(tree: Tree, fabric: Fabric) -> str:
    """The edges, with the switches on their way."""
    return ", ".join(
        f"{u}->{v}"
        + (f" ({', '.join(fabric.vertex_name(w) for w in path[1:-1])})" if len(path) > 2 else "")
        for u, v, path in tree.edges
    )


def _rate(value: Fraction, unit: str) -> str:
    if value == 1:
        return f"1 {unit.replace('chunks', 'chunk')}"
    if value.denominator == 1:
        return f"{value} {unit}"
    return f"{value} {unit} ({float(value):.2f})"


def _vertex(vertex: int, fabric: Fabric) -> str:
    return str(vertex) if vertex < fabric.num_nodes else fabric.vertex_name(vertex)


def _nodes(nodes: Collection[int]) -> str:
    return _ranges(nodes, "node", "nodes")


def _ranges(numbers: Collection[int], one: str, many: str) -> str:
    """``nodes 0-3, 5``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(_run_text(run) for run in runs)
    return f"{one if len(numbers) == 1 else many} {text}"


def _run_text(run: Sequence[int]) -> str:
    first, last = run
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"
