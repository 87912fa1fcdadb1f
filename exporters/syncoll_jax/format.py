"""The parts of a module for JAX."""

from pathlib import Path

from syncoll.runtime import TableExporter
from syncoll_tables import ModuleFormat, Table, python_table, replay_source

_RESULTS = {
    "allgather": "The blocks `x` of all devices, one after the other.",
    "allreduce": "The sum of `x` over all devices, or over the devices of its group.",
    "alltoall": "Block r of each device s becomes block s of device r.",
    "broadcast": "`x` of the root.",
    "gather": "At the root the blocks `x` of all devices; zeros elsewhere.",
    "reduce": "At the root the sum of `x` over all devices; zeros elsewhere.",
    "reducescatter": "The device's block of the sum of `x`.",
    "scatter": "The device's block of `x` at the root.",
    "custom": (
        "The chunks of output as rows, and their number; `x` has a row for each chunk of input.\n\n"
        "    Devices with fewer chunks than others have rows to spare, in `x` and in the result."
    ),
}


def _parts(table: Table, name: str) -> dict[str, str]:
    op, given = (", op=jnp.add", "op") if table.combining else ("", "jnp.add")
    custom = table.kind == "custom"
    end = "\n    " if custom else ""
    lines = [f"def {name}(x, axis_name{op}):", f'    """{_RESULTS[table.kind]}{end}"""']
    if custom:
        lines += [
            "    sizes = jnp.asarray([len(row) for row in OUTPUTS])",
            f"    return carry_out(x, axis_name, {given}), sizes[lax.axis_index(axis_name)]",
        ]
    else:
        lines += [f"    return carry_out(x, axis_name, {given})"]
    return {
        "TABLE": python_table(table),
        "REPLAY": replay_source(),
        "PUBLIC": "\n".join(lines),
        "EXAMPLE": f'{name}(x, "x")',
        "SPECS": 'P("x")',
    }


FORMAT = ModuleFormat("jax", Path(__file__).with_name("module.py.txt"), _parts)
EXPORTER = TableExporter(FORMAT.text, ".py")
