"""Layouts of arrays, and the cells between two of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import syncoll
from syncoll.errors import LocatedError, UsageError
from syncoll.spec import SpecLibrary
from syncoll.spec.layouts import layout_of, layout_rows

from .conftest import SpecFile

X_Y = {"names": ["x", "y"], "shape": [2, 2]}


def fail(text: str, hint: str, _: str | int) -> Exception:
    return ValueError(f"{text}; expected {hint}")


def random_layout(rng: random.Random, shape: list[int], nodes: int, *, sums: bool) -> dict:
    """A mesh of up to two axes over some ranks in any order, each axis used, free or summed."""
    sizes = rng.choice([[2], [3], [2, 2], [2, 3], [1, 4]])
    names = ["a", "b"][: len(sizes)]
    ranks = rng.sample(range(nodes), int(np.prod(sizes)))
    spec: list = [[] for _ in shape]
    partial = []
    for name in rng.sample(names, len(names)):
        kind = rng.randrange(4 if sums else 3)
        if kind == 3:
            partial.append(name)
        elif kind:
            spec[rng.randrange(len(shape))].append(name)
    mesh = {"names": names, "shape": sizes, "ranks": ranks}
    return {"shape": shape, "mesh": mesh, "spec": spec, "partial": partial}


def holders(document: dict) -> dict[tuple[int, ...], set[tuple[int, int]]]:
    """The ranks, each with its partial sum, that have each element: by definition, part by part as
    `torch.chunk` cuts."""
    mesh = document["mesh"]
    found: dict = {place: set() for place in product(*map(range, document["shape"]))}
    places = list(product(*map(range, mesh["shape"])))
    for rank, place in zip(mesh["ranks"], places, strict=True):
        at = dict(zip(mesh["names"], place, strict=True))
        size = dict(zip(mesh["names"], mesh["shape"], strict=True))
        owned = []
        for length, axes in zip(document["shape"], document["spec"], strict=True):
            own = list(range(length))
            for axis in axes:
                each = -(-len(own) // size[axis]) if own else 0
                own = own[at[axis] * each : (at[axis] + 1) * each]
            owned.append(own)
        part = tuple(at[axis] for axis in document.get("partial", []))
        for element in product(*owned):
            found[element].add((rank, part))
    return found


def test_cells_are_the_elements_with_equal_ranks(library: SpecLibrary, spec_file: SpecFile) -> None:
    rng = random.Random(7)
    for _ in range(40):
        shape = [rng.randint(1, 7) for _ in range(rng.randint(1, 2))]
        pair = [random_layout(rng, shape, 6, sums=False) for _ in range(2)]
        for name, one in zip(("from.json", "to.json"), pair, strict=True):
            spec_file(json.dumps(one), name)
        source, target = map(holders, pair)
        expected = Counter(
            (
                tuple(sorted(rank for rank, _ in source[element])),
                tuple(sorted(rank for rank, _ in target[element])),
            )
            for element in source
        )
        collective = library.collective('reshard("from.json", "to.json", unit=1)')
        table = collective.tabulate(6, 1)
        assert expected == Counter(
            (tuple(pre.nonzero()[0].tolist()), tuple(post.nonzero()[0].tolist()))
            for pre, post in zip(table.pre, table.post, strict=True)
        )
        whole = library.collective('reshard("from.json", "to.json")').tabulate(6, 1)
        assert len(table) % len(whole) == 0


def test_partial_sums_come_from_one_replica_each(library: SpecLibrary, spec_file: SpecFile) -> None:
    rng = random.Random(8)
    seen = 0
    while seen < 25:
        shape = [rng.randint(1, 7) for _ in range(2)]
        pair = [random_layout(rng, shape, 6, sums=sums) for sums in (True, False)]
        source, target = map(holders, pair)
        if len({part for parts in source.values() for _, part in parts}) == 1:
            continue
        seen += 1
        for name, one in zip(("from.json", "to.json"), pair, strict=True):
            spec_file(json.dumps(one), name)
        collective = library.collective('reshard_sums("from.json", "to.json", unit=1)')
        assert collective.combining
        table = collective.tabulate(6, 1)
        assert len(table) == np.prod(shape)
        wanted = Counter(tuple(sorted(rank for rank, _ in own)) for own in target.values())
        assert wanted == Counter(tuple(post.nonzero()[0].tolist()) for post in table.post)
        kinds = {(frozenset(source[e]), tuple(sorted(r for r, _ in target[e]))) for e in source}
        for pre, post in zip(table.pre, table.post, strict=True):
            needed = tuple(post.nonzero()[0].tolist())
            assert any(
                ends == needed
                and {r for r, _ in has} >= set(pre.nonzero()[0].tolist())
                and sorted(p for r, p in has if pre[r]) == sorted({p for _, p in has})
                for has, ends in kinds
            )


def test_an_allreduce_is_a_resharding_of_partial_sums(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file(json.dumps({"shape": [8], "mesh": X_Y, "partial": ["x", "y"]}), "from.json")
    spec_file(json.dumps({"shape": [8], "mesh": X_Y}), "to.json")
    table = library.collective('reshard_sums("from.json", "to.json")').tabulate(4, 1)
    assert table.pre.all()
    assert table.post.all()
    assert len(table) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mesh": None}, "no mesh of names, shape and ranks"),
        ({"shape": [0, 4]}, "the shape of the array is"),
        ({"more": 1}, "unknown key 'more'"),
        ({"spec": ["z"]}, "the axis 'z' is not one of x, y"),
        ({"spec": ["x", "x"]}, "the axis 'x' is used twice"),
        ({"spec": ["x"], "partial": ["x"]}, "the axis 'x' is used twice"),
        ({"spec": ["x", None, None]}, "at most 2 dimensions"),
        ({"spec": [1]}, "the spec is"),
        ({"mesh": {**X_Y, "ranks": [0, 1, 2, 2]}}, "the ranks of the mesh are"),
        ({"mesh": {"names": ["x"], "shape": [2, 2]}}, "the names of the mesh are"),
    ],
)
def test_invalid_layouts_are_errors(change: dict, message: str) -> None:
    good = {"shape": [8, 4], "mesh": X_Y, "spec": ["x"]}
    assert len(layout_rows(good, fail)) == 4
    with pytest.raises(ValueError, match=message):
        layout_rows({**good, **change}, fail)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"shape": [8]}, {"shape": [4]}, "has the shape"),
        ({"shape": [8]}, {"shape": [8], "partial": ["x"]}, "has partial sums"),
        ({"shape": [8], "partial": ["x"]}, {"shape": [8]}, "reshard_sums adds them up"),
        ({"shape": [8], "mesh": {**X_Y, "ranks": [0, 1, 2, 4]}}, {"shape": [8]}, "names rank 4"),
    ],
)
def test_layouts_that_do_not_fit_are_errors(
    first: dict, second: dict, message: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    for name, one in (("from.json", first), ("to.json", second)):
        spec_file(json.dumps({"mesh": X_Y, **one}), name)
    with pytest.raises(LocatedError, match=message):
        library.collective('reshard("from.json", "to.json")').tabulate(4, 1)


def test_a_text_that_is_no_json_is_an_error(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file("{\n", "from.json")
    with pytest.raises(LocatedError, match=r"from\.json:2:1: not JSON"):
        library.collective('reshard("from.json", "from.json")')


def test_an_error_is_at_its_key(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(json.dumps({"shape": [8, 4], "mesh": X_Y, "spec": ["x", "x"]}, indent=1), "from.json")
    with pytest.raises(
        LocatedError, match=r"from\.json:\d+:2: the axis 'x' is used twice"
    ) as found:
        library.collective('reshard("from.json", "from.json")')
    assert found.value.origin is not None
    assert '"spec"' in found.value.origin.text


def test_layouts_of_frameworks() -> None:
    """Objects with the attributes of a jax.Array, and of a DTensor."""
    devices = np.array([[SimpleNamespace(id=3), SimpleNamespace(id=1)]])
    sharding = SimpleNamespace(
        mesh=SimpleNamespace(axis_names=("x", "y"), devices=devices), spec=(("x", "y"),)
    )
    array = SimpleNamespace(shape=(8, 4), sharding=sharding)
    mesh = {"names": ["x", "y"], "shape": [1, 2], "ranks": [3, 1]}
    found = {"shape": [8, 4], "mesh": mesh, "spec": [["x", "y"], None]}
    assert layout_of(array) == layout_of(sharding, (8, 4)) == found
    with pytest.raises(UsageError, match="no shape"):
        layout_of(sharding)

    class Shard(SimpleNamespace):
        def is_partial(self) -> bool:
            return False

    class Partial(SimpleNamespace):
        def is_partial(self) -> bool:
            return True

        def is_replicate(self) -> bool:
            return False

    tensor = SimpleNamespace(
        shape=(8, 4),
        device_mesh=SimpleNamespace(mesh=np.array([[0, 1], [2, 3]]), mesh_dim_names=("x", "y")),
        placements=(Shard(dim=-1), Partial(reduce_op="sum")),
    )
    dealt = layout_of(tensor)
    assert dealt["spec"] == [None, ["x"]]
    assert dealt["partial"] == ["y"]
    same = syncoll.collective("reshard", found, {**found, "spec": []})
    assert same.tabulate(4, 1).post.sum(axis=1).tolist() == [2, 2]
    tensor.placements = (Shard(dim=0), Partial(reduce_op="max"))
    with pytest.raises(UsageError, match="only sums are added up"):
        layout_of(tensor)
