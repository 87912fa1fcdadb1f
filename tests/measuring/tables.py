"""Outputs of benchmarks, made of sizes and times."""

from __future__ import annotations

from collections.abc import Sequence

from tests.smi.conftest import nvidia_text

HEAD = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""  # noqa: E501

GIB = 1 << 30

Row = tuple[int, float]
"""Bytes and microseconds."""


def at_rate(size: int, algbw: float) -> Row:
    """A size with the time of a rate in GB/s."""
    return size, size / algbw / 1e3


def nccl_tests(program: str, rows: Sequence[Row], ranks: int, gpus: int = 1) -> str:
    """The output of nccl-tests with processes of some GPUs each."""
    summed = program in ("all_reduce", "reduce_scatter")
    factor = (2 if program == "all_reduce" else 1) * (ranks - 1) / ranks
    lines = [
        f"# nThread 1 nGpus {gpus} minBytes 8 maxBytes 17179869184 step: 2(factor) graph: 0\n",
        f"# Collective test starting: {program}_perf\n#\n# Using devices\n",
        *(
            f"#  Rank {i:2d} Group  0 Pid {7000 + i // gpus} on node{i // 8} device {i % 8:2d}\n"
            for i in range(ranks)
        ),
        HEAD,
    ]
    for size, time in rows:
        algbw = size / time / 1e3
        shown = f"{time:.0f}" if time >= 1e4 else f"{time:.1f}" if time >= 100 else f"{time:.2f}"
        each = f"{shown:>8} {algbw:7.2f} {algbw * factor:7.2f}      0"
        kind = "sum" if summed else "none"
        lines.append(f"{size:12d} {size // 4:13d}     float {kind:>7} {-1:7d} {each} {each}\n")
    return "".join([*lines, "# Out of bounds values : 0 OK\n"])


def matrix(gpus: int, cell: str, cards: int = 0, *, far: str = "") -> str:
    """The output of ``nvidia-smi topo -m``.

    Args:
        cell: between GPUs of a half.
        cards: their number; GPUs next to each other share one.
        far: between the halves; empty for `cell`.
    """
    half = gpus // 2 if far else gpus
    cells = [
        ["X" if a == b else cell if a // half == b // half else far for b in range(gpus)]
        for a in range(gpus)
    ]
    nics = {
        f"NIC{i}": ["PXB" if a * cards // gpus == i else "SYS" for a in range(gpus)]
        for i in range(cards)
    }
    return nvidia_text(cells, nics=nics)
