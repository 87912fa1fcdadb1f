"""Layouts of an array over ranks: files, shardings of JAX, and layouts of PyTorch's DTensor.

A layout is a matrix with a row for each rank: the rank, the number of the partial sum that it has
(0 without partial sums), and for each dimension of the array the beginning and the end of its part.
"""

import json
from collections.abc import Callable, Mapping
from itertools import product
from math import gcd, prod
from typing import Any

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import UsageError
from syncoll.model import ranges
from syncoll.spec.limits import MAX_CHUNKS, MAX_NODES, MAX_NUMBER
from syncoll.spec.source import Span
from syncoll.spec.values import ListedRelation, Matrix, is_list, written

Document = dict[str, Any]
Fail = Callable[[str, str, str | int], Exception]

_FORM = 'such as {"shape": [8, 4], "mesh": {"names": ["x"], "shape": [2]}, "spec": ["x", null]}'


def parsed_layout(text: str, name: str, fail: Fail) -> Matrix:
    """The layout in a JSON text; `fail` makes the error of a mistake, its remedy, and the key or
    the position of it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
        why, at = getattr(error, "msg", error), getattr(error, "pos", 0)
        raise fail(f"not JSON: {why}", f"a layout, {_FORM}", at) from None
    return Matrix.of(layout_rows(document, fail), f'"{name}"')


def layout_rows(document: object, fail: Fail) -> list[tuple[int, ...]]:
    """The rows of a layout as in a file; raises the error that `fail` makes."""
    if not isinstance(document, Mapping):
        raise fail("the layout is no object", f"a layout, {_FORM}", 0)
    for key in document.keys() - {"shape", "mesh", "spec", "partial"}:
        raise fail(f"the layout has an unknown key {key!r}", "shape, mesh, spec and partial", key)
    shape: Any = document.get("shape")
    mesh: Any = document.get("mesh")
    spec, partial = document.get("spec", []), document.get("partial", [])
    if not isinstance(mesh, Mapping) or not {*mesh} <= {"names", "shape", "ranks"}:
        raise fail("the layout has no mesh of names, shape and ranks", f"one {_FORM}", "mesh")
    names: Any = mesh.get("names")
    sizes: Any = mesh.get("shape")
    for key, of, one in (("shape", "array", shape), ("mesh", "mesh", sizes)):
        if not _wholes(one, 1) or not one or prod(one) >= MAX_NUMBER:
            where = 0 if one is None else key
            raise fail(f"the shape of the {of} is {one!r}", "whole numbers from 1", where)
    if not _names(names) or len(names) != len(sizes):
        wanted = "a different one for each axis"
        raise fail(f"the names of the mesh are {names!r}", wanted, "names")
    if prod(sizes) > MAX_NODES:
        raise fail(f"a mesh of {prod(sizes)} ranks", f"at most {MAX_NODES}", "mesh")
    ranks = mesh.get("ranks")
    if ranks is None:
        ranks = list(range(prod(sizes)))
    ranks = np.array(ranks, dtype=object).ravel().tolist()
    if not _wholes(ranks, 0) or len(set(ranks)) != len(ranks) or len(ranks) != prod(sizes):
        wanted = f"{prod(sizes)} different ranks, one for each place"
        raise fail(f"the ranks of the mesh are {ranks!r}"[:200], wanted, "ranks")
    if not isinstance(spec, list | tuple) or len(spec) > len(shape):
        raise fail(f"the spec is {spec!r}", f"axes for at most {len(shape)} dimensions", "spec")
    axes = [[] if one is None else [one] if isinstance(one, str) else one for one in spec]
    axes += [[]] * (len(shape) - len(axes))
    if not all(isinstance(one, list | tuple) for one in (*axes, partial)):
        raise fail(f"the spec is {spec!r}", "an axis, null or a list of axes each", "spec")
    used = [axis for one in (*axes, partial) for axis in one]
    for axis in used:
        if axis not in names or used.count(axis) > 1:
            why = "is used twice" if axis in names else f"is not one of {', '.join(names)}"
            where = "partial" if axis in partial else "spec"
            raise fail(f"the axis {axis!r} {why}", "each axis of the mesh once at most", where)
    rows: list[tuple[int, ...]] = []
    for rank, place in zip(ranks, product(*map(range, sizes)), strict=True):
        at = dict(zip(names, zip(place, sizes, strict=True), strict=True))
        part = 0
        for axis in partial:
            part = part * at[axis][1] + at[axis][0]
        row = [rank, part]
        for length, own in zip(shape, axes, strict=True):
            low, high = 0, length
            for axis in own:  # in equal parts, rounded up: the last ones are smaller or empty
                number, count = at[axis]
                each = -(-(high - low) // count)
                low, high = min(low + number * each, high), min(low + (number + 1) * each, high)
            row += [low, high]
        rows.append(tuple(map(int, row)))
    return rows


def is_layout(value: object) -> bool:
    """Whether it is a layout: as in a file, a sharded array, or a sharding with a shape."""
    return isinstance(value, Mapping) or hasattr(value, "placements") or hasattr(value, "sharding")


def layout_of(value: Any, shape: tuple[int, ...] | None = None) -> Document:
    """The layout of an array of JAX or a DTensor of PyTorch, as a file has it.

    Args:
        value: a `jax.Array` or a `NamedSharding`, a `DTensor` or its `DTensorSpec`.
        shape: of the array, for a sharding, which has none.

    Raises:
        UsageError: for a sharding of another kind, or reductions other than sums.

    Examples:
        >>> import numpy, types
        >>> mesh = types.SimpleNamespace(axis_names=("x",), devices=numpy.arange(2))
        >>> layout_of(types.SimpleNamespace(mesh=mesh, spec=("x",)), (8, 4))["spec"]
        ['x', None]
    """
    if isinstance(value, Mapping):
        return dict(value)
    shape = getattr(value, "shape", None) if shape is None else shape
    if shape is None:
        raise UsageError("a sharding has no shape of an array; expected `shape`")
    sizes = [int(length) for length in shape]
    if hasattr(value, "placements"):
        return _of_dtensor(value, sizes)
    sharding = getattr(value, "sharding", value)
    if not hasattr(sharding, "spec") or not hasattr(sharding.mesh, "devices"):
        raise UsageError(f"no layout of {type(sharding).__name__}; expected a NamedSharding")
    spec: list[Any] = []
    for one in sharding.spec:
        if one is not None and not isinstance(one, str | tuple):
            raise UsageError(f"no layout of a dimension that is {one}")
        spec.append(list(one) if isinstance(one, tuple) else one)
    spec += [None] * (len(sizes) - len(spec))
    devices = np.asarray(sharding.mesh.devices)
    ranks = [int(getattr(device, "id", device)) for device in devices.ravel()]
    names = list(sharding.mesh.axis_names)
    mesh = {"names": names, "shape": list(devices.shape), "ranks": ranks}
    return {"shape": sizes, "mesh": mesh, "spec": spec}


def _of_dtensor(value: Any, sizes: list[int]) -> Document:
    mesh = getattr(value, "device_mesh", None) or value.mesh
    ranks = np.array(mesh.mesh.tolist())
    names = list(mesh.mesh_dim_names or (f"mesh{i}" for i in range(ranks.ndim)))
    spec: list[Any] = [None] * len(sizes)
    partial = []
    for axis, placement in zip(names, value.placements, strict=True):
        kind = type(placement).__name__
        if kind == "Shard":
            own = placement.dim % len(sizes)
            spec[own] = [*(spec[own] or []), axis]
        elif placement.is_partial() and getattr(placement, "reduce_op", "sum") == "sum":
            partial.append(axis)
        elif not placement.is_replicate():
            raise UsageError(f"no layout of the placement {placement}; only sums are added up")
    found = {"names": names, "shape": list(ranks.shape), "ranks": ranks.ravel().tolist()}
    return {"shape": sizes, "mesh": found, "spec": spec, "partial": partial}


def layout_cells(source: Any, target: Any, nodes: int, span: Span) -> tuple[Any, ...]:
    """The cells of an array between two layouts: parts with the same ranks in both.

    Returns:
        The sizes of the cells in elements; the relations of their source ranks, of one owner each,
        and of their target ranks; whether partial sums are added up; and the greatest common
        divisor of the sizes.  Without partial sums each source rank has the cell; with them all
        contribute.  Then the target ranks own parts of equal size.

    Raises:
        SpecError: if the arrays differ in shape, or a rank does not exist.
    """
    tables = [_table(one, nodes, span) for one in (source, target)]
    (first, to), (last, goal) = [(one, one[:, 3::2].max(axis=0).tolist()) for one in tables]
    if to != goal:
        shapes = f"{written(source)[:60]} has the shape {to}, {written(target)[:60]} {goal}"
        raise span.error(shapes, "layouts of one array")
    if last[:, 1].any():
        raise span.error(f"{written(target)[:60]} has partial sums", "a target without them")
    cuts = [np.unique(np.concatenate([one[:, 2 + 2 * i : 4 + 2 * i].ravel() for one in tables]))
            for i in range(len(to))]  # fmt: skip
    parts = int(first[:, 1].max()) + 1
    if prod(len(cut) - 1 for cut in cuts) * nodes * parts > 8 * MAX_CHUNKS:
        raise span.error("the layouts have too many common cells", f"at most {MAX_CHUNKS} in all")
    elements = np.ones(1, dtype=np.int64)
    for cut in cuts:
        elements = np.multiply.outer(elements, np.diff(cut)).ravel()
    has = [_held(first[first[:, 1] == part], cuts, nodes) for part in range(parts)]
    needs = _held(last, cuts, nodes)
    if not all(one.any(axis=1).all() for one in (*has, needs)):
        raise span.error("the ranks of a layout lack a part of the array", "all of its parts")
    packed = np.packbits(np.concatenate([*has, needs], axis=1), axis=1)
    _, cell, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    sizes = np.zeros(len(cell), dtype=np.int64)
    np.add.at(sizes, kind.reshape(-1), elements)
    starts, ends = has[0][cell], needs[cell]
    owners = starts
    if parts > 1:  # of replicas of a partial sum one contributes, a target if there is one
        starts = np.zeros_like(ends)
        every = np.arange(len(cell))
        for one in has:
            own = one[cell]
            better = own & ends
            choice = np.where(better.any(axis=1, keepdims=True), better, own)
            starts[every, choice.argmax(axis=1)] = True
        row, owner = np.nonzero(ends)
        count = ends.sum(axis=1)[row]
        turn = ranges(np.zeros_like(sizes), ends.sum(axis=1))
        sizes = (sizes[row] * (turn + 1)) // count - (sizes[row] * turn) // count
        starts, ends = starts[row], ends[row]
        owners = np.zeros_like(ends)
        owners[np.arange(len(row)), owner] = True
    relations = [ListedRelation(*np.nonzero(one)) for one in (starts, owners, ends)]
    common = gcd(*sizes.tolist())
    return tuple(sizes.tolist()), *relations, parts > 1, common


def _table(value: Any, nodes: int, span: Span) -> Ints:
    """``[ranks, 2 + 2 D]``: the rows of a layout."""
    alike = all(is_list(row) for row in value) and len({len(row) for row in value}) == 1
    found: Ints = np.array(value if alike else [], dtype=np.int64)
    if found.ndim != 2 or found.shape[1] < 4 or found.shape[1] % 2:
        raise span.error(f"{written(value)[:60]} is no layout", "a JSON file, see the language")
    for rank in found[found[:, 0] >= nodes, 0][:1].tolist():
        name = written(value)[:60]
        raise span.error(f"{name} names rank {rank}", f"ranks 0 to {nodes - 1}")
    return found


def _held(rows: Ints, cuts: list[Ints], nodes: int) -> Bools:
    """``[cells, P]``: whether each rank has each cell."""
    held: Bools = np.zeros([*(len(cut) - 1 for cut in cuts), nodes], dtype=bool)
    for rank, _, *ends in rows.tolist():
        box = [
            slice(*np.searchsorted(cut, ends[2 * i : 2 * i + 2]).tolist())
            for i, cut in enumerate(cuts)
        ]
        held[(*box, rank)] = True
    return held.reshape(-1, nodes)


def _wholes(value: object, least: int) -> bool:
    return isinstance(value, list | tuple) and all(
        type(one) is int and least <= one < MAX_NUMBER for one in value
    )


def _names(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and all(isinstance(one, str) for one in value)
        and len(set(value)) == len(value)
    )
