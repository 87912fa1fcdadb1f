"""Ranks of Gloo in the namespaces of a network."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchmarks.network.namespaces import DEVICE, Network
from syncoll.documents import StoredAlgorithm
from syncoll.errors import ExecutionError
from syncoll.mpi.exported import run_exported
from syncoll.mpi.measuring import Job
from syncoll_torch import RECORD
from syncoll_torch.ranks import TorchRanks

__all__ = ["run_torch", "start"]

_SPACES = "SYNCOLL_NETWORK_SPACES"


def run_torch(
    network: Network, stored: StoredAlgorithm, sizes: Sequence[int], repeats: int, seconds: float
) -> list[tuple[list[float], list[float]]]:
    """Seconds of each call of the exported module, and of Gloo's own collective, for each size.

    Raises ExecutionError if a result is wrong, a rank failed, or the time was up.
    """
    spaces = (network.space(node) for node in range(network.layout.nodes))
    variables = {_SPACES: " ".join(spaces), "GLOO_SOCKET_IFNAME": DEVICE}
    record = replace(RECORD, runs=f"{__name__}:start")
    with patch.dict(os.environ, variables):  # later runs in this process are on no such network
        result = run_exported(Job((stored,), tuple(sizes), repeats=repeats), record, seconds)
    (found,) = result.comparisons
    for run in found.runs:
        if run.mismatch is not None:
            raise ExecutionError(f"{stored.where} over Gloo: {run.mismatch}")
    return [([*run.seconds], [*run.reference_seconds]) for run in found.runs]


def start(nodes: int, folder: Path) -> TorchRanks:
    """Starts the other ranks as copies of this process, each in its namespace."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    rank = next((rank for rank in range(1, nodes) if not os.fork()), 0)
    space = os.open(f"/run/netns/{os.environ[_SPACES].split()[rank]}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, 0):
        raise OSError(ctypes.get_errno(), "cannot enter the namespace")
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=nodes)
    return TorchRanks(rank, nodes)
