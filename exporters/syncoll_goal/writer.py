"""Writes an algorithm as a GOAL schedule; docs/goal.md has its operations and comments.

With ``steps=strict`` the sends of a step wait for all operations of the rank in earlier steps, by a
calculation of no time; with ``steps=relaxed`` the sends on one lane start in the plan's order.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import ExportError
from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.plugins.exporters import PLACE
from syncoll.runtime import Action, LoweredAlgorithm, lower
from syncoll.runtime.graphs import GraphNode, MessageRuns, MessageSizes, lanes_out, rank_nodes
from syncoll.wording import runs_in_words

_MOST_NICS = 256
"""The format has one byte for it."""


class GoalExporter:
    """Writes ``NAME.goal``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`; whether it is in place makes no difference."""
        lowered = lower(replace(request, in_place=False))
        sizes = MessageSizes.of(lowered.layout, request, int(options["size"]))
        writer = _Writer(
            request,
            lowered,
            sizes,
            MessageRuns.in_(lowered),
            options["steps"] == "strict",
            float(options["reduction"]),
            options["nics"] == "peer",
        )
        use = f"to play it: txt2bin -i {PLACE} -o {PLACE}.bin, then LogGOPSim -f {PLACE}.bin"
        return Exported({f"{request.name}.goal": writer.text().encode()}, (use, *sizes.notes))


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers, increasing and consecutive ones as ranges:  ``0-3 7``."""
    return runs_in_words(numbers, "-", " ")


def _sizes(each: Ints) -> str:
    """The size of each chunk, equal ones of consecutive chunks as a range: ``0-3 1024 4 1023``."""
    cuts = [0, *(np.flatnonzero(np.diff(each)) + 1).tolist(), len(each)]
    return " ".join(f"{_ranges(range(a, b))} {each[a]}" for a, b in pairwise(cuts))


@dataclass(frozen=True)
class _Writer:
    """The data that a rank's lines depend on."""

    request: ExportRequest
    lowered: LoweredAlgorithm
    sizes: MessageSizes
    runs: MessageRuns
    strict: bool
    rate: float
    nic_by_peer: bool

    def text(self) -> str:
        instance, layout = self.request.instance, self.lowered.layout
        combining = "yes" if instance.combining else "no"
        lines = [
            f"// {self.request.name}",
            f"//@ collective {layout.collective.kind} chunks {instance.num_chunks} "
            f"combining {combining}",
            f"//@ sizes {_sizes(self.sizes.each)}",
            f"num_ranks {len(self.lowered.ranks)}",
        ]
        lanes = lanes_out(instance.topology)
        for rank in range(len(self.lowered.ranks)):
            lines += ["", f"rank {rank} {{"]
            for word, array in (("starts", instance.pre), ("ends", instance.post)):
                lines.append(f"//@ {word} {_ranges(np.flatnonzero(array[:, rank]))}".rstrip())
            lines += self.rank_lines(rank, lanes)
            lines.append("}")
        return "\n".join(lines) + "\n"

    def rank_lines(self, rank: int, lanes: Mapping[tuple[int, int], int]) -> list[str]:
        nodes = rank_nodes(self.request, self.lowered, self.runs, rank)
        nics = self.nics(rank, nodes)
        before: dict[int, str] = {}
        lines: list[str] = []
        step, pending = -1, list[str]()
        barrier = ""
        for node in nodes:
            operation, label = node.operation, f"l{node.number + 1}"
            if operation.step != step:
                step = operation.step
                lines.append(f"// step {step}")
                if self.strict and pending:
                    barrier = f"s{step}"
                    lines.append(f"{barrier}: calc 0")
                    lines += [f"{barrier} requires {other}" for other in pending]
                    pending = [barrier]
            lines += self.operation(node, label, nics)
            if operation.action is Action.SEND:
                assert operation.peer is not None
                lane = lanes[rank, operation.peer]
                if self.strict and barrier:
                    lines.append(f"{label} requires {barrier}")
                elif not self.strict and lane in before:
                    lines.append(f"{label} irequires {before[lane]}")
                before[lane] = label
            pending.append(label)
        return lines or ["calc 0"]  # a rank without operations needs a line, too

    def operation(self, node: GraphNode, label: str, nics: Mapping[int, int]) -> list[str]:
        operation = node.operation
        size = self.sizes.bytes_of(node.chunks)
        lines = []
        if node.reads or node.inputs:
            read = [*(f"l{i + 1}" for i in node.reads)]
            read += [f"chunk {part}" for part in _ranges(node.inputs).split()]
            if node.several:
                lines.append(f"//@ chunks {_ranges(node.chunks)}")
            lines.append(f"//@ reads {' '.join(read)}")
        if operation.action is Action.REDUCE:
            lines.append(f"{label}: calc {math.ceil(size / self.rate) if self.rate else 0}")
        else:
            assert operation.message is not None
            assert operation.peer is not None
            verb, way = ("send", "to") if operation.action is Action.SEND else ("recv", "from")
            nic = f" nic {nics[operation.peer]}" if nics else ""
            tag = self.runs.tags[self.runs.of[operation.message]]
            lines.append(f"{label}: {verb} {size}b {way} {operation.peer} tag {tag}{nic}")
        lines += [f"{label} requires l{i + 1}" for i in node.reads]
        return lines

    def nics(self, rank: int, nodes: Sequence[GraphNode]) -> dict[int, int]:
        """The network interface of each peer; empty if the rank has only one."""
        if not self.nic_by_peer:
            return {}
        peers = sorted({n.operation.peer for n in nodes if n.operation.peer is not None})
        if len(peers) > _MOST_NICS:
            raise ExportError(
                f"rank {rank} exchanges messages with {len(peers)} ranks; GOAL has numbers for "
                f"{_MOST_NICS} network interfaces: use nics=one"
            )
        return {peer: i for i, peer in enumerate(peers)}
