"""Runs modules for JAX on the CPU devices of one process."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from syncoll.trust.data import BFLOAT16


def start(nodes: int, folder: Path) -> "JaxRanks":
    """Makes a device for each rank."""
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={nodes}".strip()
    os.environ.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
    return JaxRanks(nodes)


class _Call:
    """A compiled function of one array of all devices."""

    def __init__(self, function: Any, given: Any, read: Callable[[Any], list[Any]]) -> None:
        self._function, self._given, self._read = function, given, read
        self._result: Any = None

    def run(self) -> None:
        self._result = self._function(self._given).block_until_ready()

    def results(self) -> list[Any]:
        return self._read(np.asarray(self._result))


class JaxRanks:
    """See `syncoll.plugins.Ranks`."""

    def __init__(self, nodes: int) -> None:
        import jax

        self.name = f"jax {jax.__version__} on {nodes} CPU devices"
        self.local = tuple(range(nodes))
        self._mesh = jax.make_mesh((nodes,), ("x",))

    def everyone(self, value: object) -> list[Any]:
        """See `syncoll.plugins.Ranks`."""
        return [value]

    def exported(
        self, text: str, inputs: list[Any], lengths: list[int], op: str, total: int
    ) -> _Call:
        """See `syncoll.plugins.Ranks`; blocks are padded to the longest."""
        module: dict[str, Any] = {"__name__": "exported"}
        exec(compile(text, "exported.py", "exec"), module)
        name, kind = text.split(maxsplit=5)[3:5]
        function, share, custom = module[name], module["SHARE"], kind == "custom"

        def widths(kinds: tuple[int, int]) -> list[list[int]]:
            """The lengths of the blocks of each rank's input or output."""
            found: list[list[int]] = [[] for _ in self.local]
            for rank, holds, first, count in module["PLACES"]:
                for chunk in range(first, first + count) if holds in kinds else ():
                    if chunk % share == 0:
                        block = chunk // share % module["BLOCKS"]
                        least, more = divmod(total, module["BLOCKS"])
                        found[rank].append(least + (block < more))
            return found

        given, results = widths((0, 2)), widths((1, 2))
        if kind == "allreduce":  # of groups, with data of their own
            given = results = [[len(one)] for one in inputs]
        width = max(max(row, default=0) for row in (*given, *results))
        array = np.zeros((len(inputs), max(map(len, given)), width), inputs[0].dtype)
        for rank, row in enumerate(given):
            at = np.cumsum([0, *row])
            for number, length in enumerate(row):
                array[rank, number, :length] = inputs[rank][at[number] : at[number] + length]
        more = {"op": self._op(op)} if module["COMBINING"] else {}

        def mapped(x: Any) -> Any:
            found = function(x[0], "x", **more)
            return (found[0] if custom else found)[None]

        def read(found: Any) -> list[Any]:
            rows = found.reshape(len(inputs), -1, width)
            return [
                np.concatenate([rows[rank, i, :length] for i, length in enumerate(row)])
                if row
                else rows[rank, :0].reshape(-1)
                for rank, row in enumerate(results)
            ]

        return self._call(mapped, array, read)

    def library(
        self, kind: str, root: int, inputs: list[Any], lengths: list[int], op: str
    ) -> tuple[str, _Call] | None:
        """See `syncoll.plugins.Ranks`."""
        from jax import lax

        ways: dict[str, tuple[str, Callable[[Any], Any]]] = {
            "allgather": ("all_gather", lambda x: lax.all_gather(x, "x", tiled=True)),
            "alltoall": ("all_to_all", lambda x: lax.all_to_all(x, "x", 0, 0, tiled=True)),
        }
        if op == "sum":
            ways["allreduce"] = ("psum", lambda x: lax.psum(x, "x"))
            ways["reducescatter"] = ("psum_scatter", lambda x: lax.psum_scatter(x, "x", tiled=True))
        equal = len({len(one) for one in inputs}) == len(set(lengths)) == 1
        divides = kind in ("allgather", "allreduce") or len(inputs[0]) % len(inputs) == 0
        if kind not in ways or not equal or not divides:
            return None
        name, function = ways[kind]
        array = np.stack(inputs)
        return f"lax.{name}", self._call(lambda x: function(x[0])[None], array, list)

    def _call(
        self, function: Callable[[Any], Any], array: Any, read: Callable[[Any], list[Any]]
    ) -> _Call:
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec

        spec = PartitionSpec("x")
        if array.dtype == BFLOAT16:
            array = array.view(jnp.bfloat16)
        placed = jax.device_put(array, NamedSharding(self._mesh, spec))
        mapped = jax.shard_map(
            function, mesh=self._mesh, in_specs=spec, out_specs=spec, check_vma=False
        )

        def plain(found: Any) -> list[Any]:
            rows: Sequence[Any] = read(found)
            half = found.dtype == jnp.bfloat16
            return [np.ascontiguousarray(row).view(BFLOAT16) if half else row for row in rows]

        return _Call(jax.jit(mapped), placed, plain)

    def _op(self, op: str) -> Any:
        import jax.numpy as jnp

        names = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
        return getattr(jnp, names[op])
