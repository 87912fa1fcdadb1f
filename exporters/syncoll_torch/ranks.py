"""Runs modules for torch on real processes of this machine, with Gloo."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from syncoll.trust.data import BFLOAT16

_SINGLE = ("allreduce", "reduce", "broadcast")
"""Collectives whose functions take one tensor."""


def start(nodes: int, folder: Path) -> "TorchRanks":
    """Starts the other ranks as copies of this process, and joins all in one group."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rank = next((rank for rank in range(1, nodes) if not os.fork()), 0)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=nodes)
    return TorchRanks(rank, nodes)


class _Call:
    """A function of an output and an input; collectives in place get a copy of the input."""

    def __init__(
        self, given: Any, result: Any, single: bool, function: Callable[[Any, Any], object]
    ) -> None:
        self._given, self._result, self._single = given, result, single
        self._function = function

    def run(self) -> None:
        given, result = self._given, self._result
        if self._single and len(given) and len(result):
            result.copy_(given)
        self._function(result if len(result) or not self._single else given, given)

    def results(self) -> list[Any]:
        import torch

        if self._result.dtype is torch.bfloat16:
            return [self._result.view(torch.int16).numpy().view(BFLOAT16)]
        return [self._result.numpy()]


class TorchRanks:
    """See `syncoll.plugins.Ranks`."""

    def __init__(self, rank: int, nodes: int) -> None:
        import torch

        self.name = f"torch {torch.__version__} with Gloo"
        self.local = (rank,)
        self._nodes = nodes

    def everyone(self, value: object) -> list[Any]:
        """See `syncoll.plugins.Ranks`."""
        import torch.distributed as dist

        if value is None:
            dist.barrier()
            return []
        every: list[Any] = [None] * self._nodes
        dist.all_gather_object(every, value)
        return every

    def exported(
        self, text: str, inputs: list[Any], lengths: list[int], op: str, total: int
    ) -> _Call:
        """See `syncoll.plugins.Ranks`."""
        module: dict[str, Any] = {"__name__": "exported"}
        exec(compile(text, "exported.py", "exec"), module)
        name, kind = text.split(maxsplit=5)[3:5]
        single, function = kind in _SINGLE, module[name]
        more: dict[str, Any] = {} if single else {"total": total}
        if module["COMBINING"]:
            more["op"] = self._op(op)
        given, result = self._tensors(inputs, lengths)
        if single:
            return _Call(given, result, True, lambda one, _: function(one, **more))
        return _Call(given, result, False, lambda out, one: function(out, one, **more))

    def library(
        self, kind: str, root: int, inputs: list[Any], lengths: list[int], op: str
    ) -> tuple[str, _Call] | None:
        """See `syncoll.plugins.Ranks`; Gloo has not every collective."""
        import torch.distributed as dist

        given, result = self._tensors(inputs, lengths)
        reduce = self._op(op)

        def parts(whole: Any) -> list[Any] | None:
            return [*whole.chunk(self._nodes)] if self.local[0] == root else None

        ways: dict[str, tuple[str, Callable[[Any, Any], object]]] = {
            "allreduce": ("all_reduce", lambda one, _: dist.all_reduce(one, reduce)),
            "reduce": ("reduce", lambda one, _: dist.reduce(one, root, reduce)),
            "broadcast": ("broadcast", lambda one, _: dist.broadcast(one, root)),
            "allgather": ("all_gather_into_tensor", dist.all_gather_into_tensor),
            "alltoall": ("all_to_all_single", dist.all_to_all_single),
            "reducescatter": (
                "reduce_scatter_tensor",
                lambda out, one: dist.reduce_scatter_tensor(out, one, reduce),
            ),
            "gather": ("gather", lambda out, one: dist.gather(one, parts(out), root)),
            "scatter": ("scatter", lambda out, one: dist.scatter(out, parts(one), root)),
        }
        sizes = zip(*self.everyone((len(given), len(result))), strict=True)
        uneven = any(len({*column} - {0}) > 1 for column in sizes)
        if kind not in ways or uneven:
            return None
        call = _Call(given, result, kind in _SINGLE, ways[kind][1])
        fails = False
        try:
            call.run()
        except RuntimeError:  # not a collective, or not a type, of Gloo
            fails = True
        failed = any(one for (one,) in self.everyone((fails,)))
        return None if failed else (f"Gloo's {ways[kind][0]}", call)

    def _op(self, op: str) -> Any:
        import torch.distributed as dist

        return getattr(dist.ReduceOp, "PRODUCT" if op == "prod" else op.upper())

    def _tensors(self, inputs: list[Any], lengths: list[int]) -> tuple[Any, Any]:
        import torch

        (given,) = inputs
        if given.dtype == BFLOAT16:
            tensor = torch.from_numpy(given.view(np.int16).copy()).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(given.copy())
        return tensor, torch.zeros(lengths[0], dtype=tensor.dtype)
