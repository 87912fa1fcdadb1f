"""A module for JAX: permutations between the devices of a mesh axis, within shard_map."""

from syncoll.plugins import ExporterRecord

RECORD = ExporterRecord(
    name="jax",
    summary="a Python module of jax.lax.ppermute, for shard_map",
    load="syncoll_jax.format:EXPORTER",
    load_checker="syncoll_jax.checker:CHECKER",
    recognises=lambda path, head: path.suffix == ".py" and b"syncoll-jax " in head,
    runs="syncoll_jax.ranks:start",
)
