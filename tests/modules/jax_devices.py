"""Eight or sixteen devices of one process: ``python jax_devices.py CASES RESULTS``.

CASES is a pickle of (devices, [(name, function, text, instance, algorithm, rows, dtype), ...]); the
results are a JSON object from each name to its errors.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEVICES, CASES = pickle.loads(Path(sys.argv[1]).read_bytes())
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from syncoll.model import Algorithm, Instance  # noqa: E402
from syncoll.runtime import Buffer, Kind, layout_of  # noqa: E402
from tests.modules import oracle  # noqa: E402

MESH = jax.make_mesh((DEVICES,), ("x",))
jax.set_mesh(MESH)


def check(
    function: Any, instance: Instance, algorithm: Algorithm, width: int, dtype: str, grad: bool
) -> Iterator[str]:
    """One function on blocks of `width` elements."""
    layout = layout_of(instance, in_place=False)
    kind, nodes = layout.collective.kind, DEVICES
    custom = kind is Kind.CUSTOM and "groups" not in instance.collective
    share = 1 if custom else layout.collective.share or int(instance.pre.sum(axis=0).max())
    length = -(-width // share)
    ins, outs = (
        [layout.chunks_in(buffer, r) for r in range(nodes)]
        for buffer in (Buffer.INPUT, Buffer.OUTPUT)
    )
    blocks, results = max(map(len, ins)) // share, max(map(len, outs)) // share
    rng = np.random.default_rng(width)
    drawn = rng.integers(-(2**30), 2**30, (nodes, blocks, width))
    given = jnp.asarray(drawn if "int" in dtype else drawn / 2.0**29).astype(dtype)
    padded = np.zeros((nodes, blocks, share * length), given.dtype)
    padded[:, :, :width] = np.asarray(given)
    chunks = padded.reshape(nodes, blocks * share, length)
    inputs = {(c, r): jnp.asarray(chunks[r, i]) for r in range(nodes) for i, c in enumerate(ins[r])}
    wanted = oracle.results(instance, algorithm, inputs, jnp.add)
    calls = []

    def traced(x: Any) -> Any:
        calls.append(1)
        found = function(x[0], "x")
        return (found[0][None], found[1][None]) if custom else found[None]

    mapped = jax.jit(jax.shard_map(traced, mesh=MESH, in_specs=P("x"), out_specs=P("x")))
    placed = jax.device_put(given, NamedSharding(MESH, P("x")))
    found = mapped(placed)
    found = mapped(placed)
    if len(calls) != 1:
        yield f"traced {len(calls)} times"
    if custom:
        found, sizes = found
        if np.asarray(sizes).tolist() != [len(row) for row in outs]:
            yield f"sizes are {sizes}"
    found = np.asarray(found).reshape(nodes, results, width)
    for rank in range(nodes):
        own = [wanted[c, rank] for c in outs[rank]]
        if not own:
            continue
        right = np.concatenate([np.asarray(one) for one in own])
        right = right.reshape(-1, share * length)[:, :width]
        if not np.array_equal(found[rank][: len(right)], right):
            yield f"device {rank}: {found[rank]} and not {right}"
    if not grad:
        return
    direction = jax.device_put(
        jnp.asarray(rng.standard_normal(given.shape)), NamedSharding(MESH, P("x"))
    )

    def loss(x: Any) -> Any:
        value = mapped(x)
        return ((value[0] if custom else value) ** 2).sum() / 2

    slope = (jax.grad(loss)(placed) * direction).sum()
    size = np.float64(loss(placed))
    moved = (loss(placed + 1e-3 * direction) - loss(placed - 1e-3 * direction)) / 2e-3
    if not abs(slope - moved) <= 1e-6 * size:
        yield f"gradient {slope}, differences {moved}"


def main() -> None:
    results = {}
    for name, function, text, instance, algorithm, calls in CASES:
        module = types.ModuleType("exported")
        exec(compile(text, "exported.py", "exec"), module.__dict__)
        results[name] = [
            error
            for width, dtype, grad in calls
            for error in check(getattr(module, function), instance, algorithm, width, dtype, grad)
        ]
    Path(sys.argv[2]).write_text(json.dumps(results))


main()
