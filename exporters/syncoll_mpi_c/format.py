"""The parts of a C file for MPI."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from syncoll.runtime import TableExporter
from syncoll_tables import ModuleFormat, Table, parts_of, rows_text, sizes_of

__all__ = ["EXPORTER", "FORMAT"]


class _Call(NamedTuple):
    """MPI's own signature of a collective, its body, and a call with `in` and `out` of a test."""

    parameters: str
    body: str
    arguments: str
    library: str
    prepare: str = "if (in_place)\n                memcpy(out, in, length)"


_ONE = "const void *sendbuf, void *recvbuf, int count, MPI_Datatype type"
_TWO = (
    "const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,\n"
    "    MPI_Datatype recvtype"
)
_RANK = "int rank;\n    MPI_Comm_rank(comm, &rank);"
_ROOT = """if (root != ROOT)
        return fail(comm, MPI_ERR_ROOT, "the plan has another root");
    """
_EXTENT = "MPI_Aint lower, extent;\n    MPI_Type_get_extent(recvtype, &lower, &extent);"
_ALIKE = """if (sendbuf != MPI_IN_PLACE && (sendcount != recvcount || sendtype != recvtype))
        return fail(comm, MPI_ERR_TYPE, "count and type of both buffers must be the same");
    """
_SENT = "in_place ? MPI_IN_PLACE : in"
_OWN = "if (in_place)\n                memcpy(out + rank * count, in, (size_t)count * sizeof *in)"
_DOUBLES = "count, MPI_DOUBLE"

_CALLS = {
    "allreduce": _Call(
        f"{_ONE}, MPI_Op op, MPI_Comm comm",
        """if (sendbuf != MPI_IN_PLACE)
        copy(sendbuf, recvbuf, count, type);
    return carry_out(NULL, recvbuf, count, type, op, comm, 0);""",
        f"{_SENT}, out, {_DOUBLES}, MPI_SUM, MPI_COMM_WORLD",
        f"MPI_Allreduce(in, theirs, {_DOUBLES}, MPI_SUM, MPI_COMM_WORLD)",
    ),
    "reduce": _Call(
        f"{_ONE}, MPI_Op op, int root, MPI_Comm comm",
        f"""{_RANK}
    {_ROOT}if (rank != root)
        return carry_out(sendbuf, NULL, count, type, op, comm, 0);
    if (sendbuf != MPI_IN_PLACE)
        copy(sendbuf, recvbuf, count, type);
    return carry_out(NULL, recvbuf, count, type, op, comm, 0);""",
        f"in_place && rank == ROOT ? MPI_IN_PLACE : in, out, {_DOUBLES}, MPI_SUM, ROOT, "
        "MPI_COMM_WORLD",
        f"MPI_Reduce(in, theirs, {_DOUBLES}, MPI_SUM, ROOT, MPI_COMM_WORLD)",
    ),
    "broadcast": _Call(
        "void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm",
        f"{_ROOT}return carry_out(buffer, buffer, count, type, MPI_OP_NULL, comm, 0);",
        f"out, {_DOUBLES}, ROOT, MPI_COMM_WORLD",
        f"MPI_Bcast(theirs, {_DOUBLES}, ROOT, MPI_COMM_WORLD)",
        "if (rank == ROOT)\n                memcpy(out, in, length)",
    ),
    "allgather": _Call(
        f"{_TWO}, MPI_Comm comm",
        f"""{_RANK}
    {_EXTENT}
    {_ALIKE}if (sendbuf == MPI_IN_PLACE)
        sendbuf = (char *)recvbuf + rank * recvcount * extent;
    return carry_out(sendbuf, recvbuf, recvcount, recvtype, MPI_OP_NULL, comm, 0);""",
        f"{_SENT}, {_DOUBLES}, out, {_DOUBLES}, MPI_COMM_WORLD",
        f"MPI_Allgather(in, {_DOUBLES}, theirs, {_DOUBLES}, MPI_COMM_WORLD)",
        _OWN,
    ),
    "alltoall": _Call(
        f"{_TWO}, MPI_Comm comm",
        f"""{_ALIKE}return carry_out(
        sendbuf, recvbuf, recvcount, recvtype, MPI_OP_NULL, comm, sendbuf == MPI_IN_PLACE);""",
        f"{_SENT}, {_DOUBLES}, out, {_DOUBLES}, MPI_COMM_WORLD",
        f"MPI_Alltoall(in, {_DOUBLES}, theirs, {_DOUBLES}, MPI_COMM_WORLD)",
    ),
    "reducescatter": _Call(
        "const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,\n"
        "    MPI_Comm comm",
        "return carry_out(sendbuf, recvbuf, count, type, op, comm, sendbuf == MPI_IN_PLACE);",
        f"{_SENT}, out, {_DOUBLES}, MPI_SUM, MPI_COMM_WORLD",
        f"MPI_Reduce_scatter_block(in, theirs, {_DOUBLES}, MPI_SUM, MPI_COMM_WORLD)",
    ),
    "gather": _Call(
        f"{_TWO}, int root, MPI_Comm comm",
        f"""{_RANK}
    {_ROOT}if (rank != root)
        return carry_out(sendbuf, NULL, sendcount, sendtype, MPI_OP_NULL, comm, 0);
    {_EXTENT}
    {_ALIKE}if (sendbuf == MPI_IN_PLACE)
        sendbuf = (char *)recvbuf + rank * recvcount * extent;
    return carry_out(sendbuf, recvbuf, recvcount, recvtype, MPI_OP_NULL, comm, 0);""",
        f"in_place && rank == ROOT ? MPI_IN_PLACE : in, {_DOUBLES}, out, {_DOUBLES}, ROOT, "
        "MPI_COMM_WORLD",
        f"MPI_Gather(in, {_DOUBLES}, theirs, {_DOUBLES}, ROOT, MPI_COMM_WORLD)",
        _OWN,
    ),
    "scatter": _Call(
        f"{_TWO}, int root, MPI_Comm comm",
        f"""{_RANK}
    {_ROOT}if (rank != root)
        return carry_out(NULL, recvbuf, recvcount, recvtype, MPI_OP_NULL, comm, 0);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(sendtype, &lower, &extent);
    if (recvbuf == MPI_IN_PLACE)
        recvbuf = (char *)(uintptr_t)sendbuf + rank * sendcount * extent;
    else if (sendcount != recvcount || sendtype != recvtype)
        return fail(comm, MPI_ERR_TYPE, "count and type of both buffers must be the same");
    return carry_out(sendbuf, recvbuf, sendcount, sendtype, MPI_OP_NULL, comm, 0);""",
        f"in, {_DOUBLES}, in_place && rank == ROOT ? MPI_IN_PLACE : out, {_DOUBLES}, ROOT, "
        "MPI_COMM_WORLD",
        f"MPI_Scatter(in, {_DOUBLES}, theirs, {_DOUBLES}, ROOT, MPI_COMM_WORLD)",
        "if (in_place && rank == ROOT) /* where its result stays */\n"
        "                memcpy(out, in + rank * count, (size_t)count * sizeof *in)",
    ),
}
"""By collective; `count` is the elements of a block."""


def _custom(combining: bool) -> _Call:
    """A collective that MPI has not: `count` is the elements of a chunk."""
    op = ", MPI_Op op" if combining else ""
    given = "op" if combining else "MPI_OP_NULL"
    return _Call(
        f"{_ONE}{op}, MPI_Comm comm",
        f"return carry_out(sendbuf, recvbuf, count, type, {given}, comm, 0);",
        f"in, out, {_DOUBLES}{', MPI_SUM' if combining else ''}, MPI_COMM_WORLD",
        "",
        "",
    )


def _parts(table: Table, name: str) -> dict[str, str]:
    call = _CALLS.get(table.kind) or _custom(table.combining)
    library = call.library
    if table.kind == "allreduce" and table.chunks > table.share:  # of groups
        library = ""
    steps, _, number = sizes_of(table)
    constants = {
        "NODES": table.nodes,
        "CHUNKS": table.chunks,
        "BLOCKS": table.blocks,
        "SHARE": table.share,
        "STEPS": steps,
        "ROOT": -1 if table.root is None else table.root,
        "COMBINING": int(table.combining),
        "END": -2,
    }
    lines = ["enum {", *(f"    {word} = {value}," for word, value in constants.items()), "};"]
    lines.append(f"#define DIGEST {number:#x}u")
    for word, (comment, width, rows) in parts_of(table).items():
        body = rows_text((*rows, (-2, *[0] * (width - 1))), "{}")
        lines.append(f"/* {comment} */\nstatic const int {word}[][{width}] = {{\n{body}\n}};")
    prototype = f"int {name}(\n    {call.parameters})"
    return {
        "TABLE": "\n".join(lines),
        "PROTOTYPE": prototype,
        "PUBLIC": f"{prototype}\n{{\n    {call.body}\n}}",
        "CALL": f"{name}({call.arguments})",
        "PREPARE": call.prepare,
        "LIBRARY": library,
        "LIBRARIES": str(int(bool(library))),
    }


FORMAT = ModuleFormat("mpi-c", Path(__file__).with_name("module.c.txt"), _parts, " * ")
EXPORTER = TableExporter(FORMAT.text, ".c")
