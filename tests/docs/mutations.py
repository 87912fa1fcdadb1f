"""Changes a file at random places, in ways in which files are wrong."""

from __future__ import annotations

import copy
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from syncoll_check.frontier import digest

__all__ = ["mutated"]

Json = dict[str, Any]
Place = tuple[Any, Any]
"""A list or an object, and where in it."""


def mutated(document: Json, choose: random.Random) -> Json:
    """A copy with one to three changes, and the digest of the result."""
    content = copy.deepcopy(document)
    content.pop("digest", None)
    for _ in range(choose.choice([1, 1, 1, 2, 3])):
        places = [place for key in content if key != "search" for place in _places(content, key)]
        # A place of each kind is as likely, however often it occurs.
        kinds: dict[str, list[Place]] = defaultdict(list)
        for inner, key in places:
            name = key if isinstance(key, str) else ""
            kinds[f"{name} {type(inner[key])}"].append((inner, key))
        inner, key = choose.choice(kinds[choose.choice(list(kinds))])
        choose.choice(CHANGES)(inner, key, choose)
    if choose.random() < 0.5:
        content["digest"] = digest(content)
    return content


def _places(inner: Any, key: Any) -> Iterator[Place]:
    yield inner, key
    value = inner[key]
    for below in (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield from _places(value, below)


def _value(inner: Any, key: Any, choose: random.Random) -> None:
    """Another value of the same type."""
    old = inner[key]
    if isinstance(old, bool):
        inner[key] = not old
    elif isinstance(old, int):
        near = [old + 1, max(0, old - 1), 0, 1, 2, 2 * old, old + choose.randint(2, 9)]
        inner[key] = choose.choice(near)
    elif isinstance(old, str) and re.fullmatch("[0-9]+(/0*[1-9][0-9]*)?", old):
        inner[key] = str(Fraction(old) + Fraction(choose.choice([-1, 1, 2]), choose.randint(1, 9)))
    elif isinstance(old, str):
        inner[key] = choose.choice([old + "x", old.replace("1", "2"), "all", "open", "spread", ""])
    elif isinstance(old, list) and old:
        i, j = choose.randrange(len(old)), choose.randrange(len(old))
        choose.choice(
            [
                lambda: old.pop(i),
                lambda: old.append(copy.deepcopy(old[i])),
                lambda: old.insert(j, copy.deepcopy(old[i])),
                lambda: old.__setitem__(slice(None), [*old[j:], *old[:j]]),
                old.clear,
            ]
        )()
    elif old is None:
        inner[key] = choose.choice([0, 1, 2, "1"])


def _type(inner: Any, key: Any, choose: random.Random) -> None:
    """A value of another type."""
    old = inner[key]
    others = [None, True, 1.5, -1, "1/0", "01", [], {}, [old], str(old), 10**9, 10**12, 1]
    inner[key] = choose.choice(others)


def _missing(inner: Any, key: Any, choose: random.Random) -> None:
    """An entry less, or one more."""
    if isinstance(inner, dict) and choose.random() < 0.3:
        inner["further"] = copy.deepcopy(inner[key])
    else:
        del inner[key]


def _elsewhere(inner: Any, key: Any, choose: random.Random) -> None:
    """The value of another entry, or of another one of the list."""
    keys = list(inner) if isinstance(inner, dict) else range(len(inner))
    inner[key] = copy.deepcopy(inner[choose.choice(keys)])


def _version(inner: Any, key: Any, choose: random.Random) -> None:
    """Another version, if it is that; else a run in place of a number."""
    old = inner[key]
    if isinstance(old, str) and old.startswith("syncoll/"):
        inner[key] = old[:-1] + str(choose.randint(1, 6))
    elif isinstance(old, int):
        inner[key] = [old, old + choose.choice([0, 0, 1, -1])]
    else:
        _value(inner, key, choose)


Change = Callable[[Any, Any, random.Random], None]
CHANGES: list[Change] = [_value, _value, _value, _type, _missing, _elsewhere, _version]
