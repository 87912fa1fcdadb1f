"""Small random collectives, as text of the spec language, for tests of a search's claims.

They are made to be irregular.  The number of chunks need not grow in proportion to C, some C are
left out by `require`, and some chunks are singled out by their number.  A chunk may start at
several nodes or be needed nowhere.  Collectives made of such ones by `inverse` and `then` are
defined for some C only, or have a C of their own.  All of them have the word *irregular*; without
it they are refused, unless chance has made them regular.
"""

from __future__ import annotations

import random

__all__ = ["random_collective"]

_COUNTS = (
    *("C", "C", "C", "C", "P * C", "P * C", "2 * C", "3 * C", "C + 1", "C + 1", "C * C"),
    *("C * (C + 1) div 2", "max(1, C - 1)"),
    *("1", "2", "3", "P", "C div 2 + 1", "5 - C"),
)
_REQUIREMENTS = ("C mod 2 == 0", "C > 1", "C != 2", "C mod P == 0", "C < 4", "C mod 3 == 1")
_ONE_PLACE = (
    *("n == 0", "n == 0", "n == P - 1", "n == c mod P", "n == c div C mod P", "n == c div 2 mod P"),
    *("n == (c + C) mod P", "n == (if c == 0 then 0 else P - 1)", "n == P - 1", "n == c * c mod P"),
)
_PLACES = (
    *("true", "true", "n == 1", "n == (c + 1) mod P", "n == P - 1 - c mod P", "c == 0"),
    *("c mod 2 == 0", "n == 0 or c == 0", "n <= c", "n > c", "c == 0 and n == 1"),
    *("c < C and n == 1", "c == C - 1", "n == 0 or (c == 0 and n == 1)", "C mod 2 == 0"),
    *("n == c div 2 mod P", "c div 2 == 0 or n == 0"),
)


def random_collective(seed: int | random.Random) -> str:
    """The text of a spec file whose collective ``it`` is a random one.

    It may be impossible on a machine, for some C or for all.

    Args:
        seed: of the random choices; the same int gives the same text everywhere.
    """
    rng = seed if isinstance(seed, random.Random) else random.Random(seed)
    kind = rng.choice(("plain", "plain", "inverse", "inverse", "twice", "allreduce", "then"))
    roots = rng.random() < 0.9 or kind not in ("plain", "then")
    count, require = rng.choice(_COUNTS), _requirement(rng)
    pre = rng.choice(_ONE_PLACE if roots else (*_PLACES, "n != c mod P"))
    post = rng.choice(_PLACES)
    text = [_collective("it" if kind == "plain" else "one", count, require, pre, post)]
    if kind in ("inverse", "twice"):
        text.append(f"collective {'back' if kind == 'twice' else 'it'} = inverse one")
    if kind == "twice":
        text.append("collective it = inverse back")
    if kind == "allreduce":
        text += ["collective back = inverse one", "collective it = back then one"]
    if kind == "then":  # most often a part that starts where the first one ends
        other = count if rng.random() < 0.7 else rng.choice(_COUNTS)
        text.append(_collective("two", other, _requirement(rng), post, rng.choice(_PLACES)))
        text.append("collective it = one then two")
    return "\n".join(text) + "\n"


def _requirement(rng: random.Random) -> str:
    return f"require {rng.choice(_REQUIREMENTS)}  " if rng.random() < 0.3 else ""


def _collective(name: str, count: str, require: str, pre: str, post: str) -> str:
    return (
        f"collective {name} {{ irregular  {require}chunks {count}  "
        f"pre {{ (c, n) : {pre} }}  post {{ (c, n) : {post} }} }}"
    )
