"""The parts of a module for torch."""

from pathlib import Path

from syncoll.runtime import TableExporter
from syncoll_tables import ModuleFormat, Table, python_table, replay_source

_ALIAS_SAFE = ("allgather", "broadcast", "gather", "scatter")


def _parts(table: Table, name: str) -> dict[str, str]:
    single = _SINGLE.get(table.kind)
    op = ", op=dist.ReduceOp.SUM" if table.combining else ""
    given = "op" if table.combining else "dist.ReduceOp.SUM"
    tensors, both, total, more = "output, input", "output, input", ", total=None", ", total"
    if single:
        tensors, both, total, more = "tensor", "tensor, tensor", "", ""
    public = (
        f"def {name}({tensors}, group=None, async_op=False{op}{total}):\n"
        f'    """{single or _DOUBLE}\n\n{_RAISES}"""\n'
        f"    return call({both}, group, async_op, {given}{more})"
    )
    return {
        "TABLE": f"{python_table(table)}\nALIASED = {table.kind in _ALIAS_SAFE}",
        "REPLAY": replay_source(),
        "PUBLIC": public,
        "EXAMPLE": f"{name}({tensors})",
    }


_SINGLE = {
    "allreduce": "Reduces the tensors of all ranks, of a group if the plan has groups; in place.",
    "reduce": "Reduces the tensors of all ranks into the one of the root.",
    "broadcast": "Copies the tensor of the root to all ranks.",
}
_DOUBLE = """Fills `output` from `input`: chunks lie in the order of torch's own collective.

    A rank without one of them passes None.  `total` is the number of elements of all blocks; only
    blocks of different lengths need it."""
_RAISES = """    With `async_op` it returns a `Handle`.  Raises ValueError if the ranks call it with
    different sizes, types or tables, or if a tensor does not fit.
    """


FORMAT = ModuleFormat("torch", Path(__file__).with_name("module.py.txt"), _parts)
EXPORTER = TableExporter(FORMAT.text, ".py")
