"""The limits and settings of a search as keywords, which `pareto`, `search` and `repair` share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from syncoll import values
from syncoll.session.settings import SettingsOptions
from syncoll.verbs.declaration import Shell

SEARCH = Shell(
    {
        "symmetric": (
            "--no-symmetry",
            "do not look for symmetric algorithms, nor for shorter ones near known algorithms, as "
            "the certified strategy does where a solver needs more than a moment",
        ),
        "output": (
            "-o, --output FILE",
            "save the frontier as JSON as it grows; - for standard output, once, in place of the "
            "table",
        ),
        "progress": (
            "--progress auto|live|plain|log|none",
            "on standard error (default: auto: live on a terminal, else none)",
        ),
    },
    {
        "--log": "the same as --progress log: on standard error a line for each event (found, "
        "family, proved, refuted, undecided) with the seconds, the gap and the engine, and at the "
        "end a table of the engines; with --format json the document has them, too"
    },
    {
        "strategy": "search",
        "optimise_for": "sizes of messages",
        "output": "output",
        "k": "search",
        "log": "output",
    },
)
"""The part of `pareto` and `search` for the shell."""


class SearchOptions(SettingsOptions, total=False):
    """Limits and settings of a search.

    Args:
        k: only algorithms with at most k more rounds than steps, R <= S + k; None for any number.
        max_steps: the largest S; below the least possible S the search ends at once, with exit
            code 1; None for 3 more than the least possible.
        max_rounds: the largest R; if cuts rule it out the search ends at once, with exit code 1;
            None for no limit.
        max_chunks: the largest C; None for 24 times the least possible, up to 96 times where the
            denominator of the bound asks for it, and any C of a seed.
        max_messages: only points of at most this number of messages; sends of consecutive chunks
            over one link in one step are one.  None for no limit.
        tolerance: share by which an algorithm of fewer chunks may cost more, such as ``2%``: for
            each S the simplest such point is shown next to the one of least R/C; None for 5%.
        time_limit: of the whole command, such as ``30s`` or ``2min``, kept to a second or 5%; None
            for no limit, but for allreduce and other compositions passes of 1 min, 2 min and so
            on, until one gains less than 1%.
        point_limit: for each (S, R, C), such as ``10s``; None for 2 s, then 10 s, for the first,
            5 s for others, and 30 s for undecided ones.
    """

    k: int | None
    max_steps: int | None
    max_rounds: int | Fraction | str | None
    max_chunks: int | None
    max_messages: int | None
    tolerance: float | str | None
    time_limit: float | str | None
    work: float | None
    point_limit: float | str | None


def limits_of(options: SearchOptions) -> tuple[dict[str, Any], SettingsOptions]:
    """The limits among the options of a search, None for missing ones, and the settings."""
    settings = dict[str, Any](options)
    names = (n for n in SearchOptions.__annotations__ if n not in SettingsOptions.__annotations__)
    limits = {name: settings.pop(name, None) for name in names}
    if limits["max_rounds"] is not None:
        limits["max_rounds"] = values.rounds_of("max_rounds", limits["max_rounds"])
    if limits["tolerance"] is None:  # the default of a request
        del limits["tolerance"]
    else:
        limits["tolerance"] = values.share_of("tolerance", limits["tolerance"])
    limits |= {name: values.seconds_of(limits[name]) for name in ("time_limit", "point_limit")}
    return limits, cast("SettingsOptions", settings)
