"""Recommends the fastest algorithm of a collective on a machine for each message size, in one
command: it searches, simulates, compares with the classics, and with --to writes the files for a
runtime, each of them verified and executed.

  syncoll recommend "dgx_h100(boxes=2)" allreduce
  syncoll recommend "dgx_h100(boxes=2)" allgather --sizes 4KiB,1MiB,256MiB --to mscclpp -o deploy
  syncoll recommend dgx1 allreduce --alpha 0.7us --beta 25GB/s --time-limit 10min
  syncoll recommend frontier.json --sizes 1KiB..1GiB

Times are simulated as by `syncoll simulate`.  A saved frontier in place of a machine and a
collective is not searched again.

The new folder of -o has frontier.json, and the files that `syncoll plan -o` writes: index.json with
a plan for all messages, and in algorithms/ the exports.  If an export fails, it has frontier.json.
Ctrl-C ends the search; the answer is about the algorithms so far, which are saved even without -o.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from syncoll.session.settings import SettingsOptions
from syncoll.verbs.asking import What, Where, session_for, verb
from syncoll.verbs.declaration import SWEEP, Shell
from syncoll.verbs.search_options import SEARCH

if TYPE_CHECKING:
    from syncoll.simulating import Runtime, given_runtime
    from syncoll.verbs.frontier import Source
    from syncoll.verbs.recommend.recommending import frontier_for, recommendation_for
    from syncoll.verbs.recommend.result import RecommendationResult, require_possible

SHELL = Shell(
    {
        "source": (
            "source MACHINE",
            'such as "dgx_h100(boxes=2)", FILE:NAME, IMPORTER:FILE, or the file of a frontier',
        ),
        "collective": ("collective [COLLECTIVE]", "such as allreduce; left out behind a frontier"),
        "sizes": "--sizes A,B,...",
        "output": "-o, --output FOLDER",
        "progress": SEARCH.usages["progress"],
    },
    SWEEP,
    groups={"to": "files", "time_limit": "", "format": ""},
    defaults={"kinds": {}},
)


@verb
def recommend(
    source: Where | Source,
    collective: What | None = None,
    *,
    sizes: int | str | Sequence[int | str] = "4KiB,1MiB,256MiB",
    alpha: float | str | None = None,
    beta: float | str | None = None,
    runtime: str | Path | Runtime | None = None,
    to: str | None = None,
    output: str | Path | None = None,
    in_place: bool = False,
    options: Mapping[str, object] | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
    progress: Literal["auto", "live", "plain", "log", "none"] = "auto",
    **settings: Unpack[SettingsOptions],
) -> RecommendationResult:
    """The fastest algorithm for each message size, in one command.

    Args:
        source: a machine, as for `pareto`; or a frontier or its file, which is not searched again.
        collective: as for `pareto`; None with a frontier.
        sizes: of messages as nccl-tests counts them (of an allgather or gather the output): one, a
            range such as ``1KiB..1GiB``, or several.
        runtime: as of ``syncoll simulate``; None for the runtime of the exports if it has their
            name, and else ``wire``.
        to: the format of exports, such as ``mscclpp``; each is verified and executed.  Only
            algorithms that its runtime carries, for messages that it takes, are recommended.
        output: a new folder for the frontier, a plan, and the exports.
        time_limit: such as ``2min``; the search gets 80 % of it; exports, and simulations of large
            machines, may come on top; None for one minute.
        progress: ``auto``, ``live``, ``plain``, ``log`` or ``none``.

    Raises:
        SyncollError: as `pareto`, `simulate` and `plan`.

    >>> found = recommend("mi300x", "allgather", sizes="1MiB", work=5, progress="none")
    >>> found.recommended[0].steps, found.optimal
    (1, 'all_pairs')
    """
    record = require_possible(session_for(), to, output, options)
    runs = given_runtime(runtime, record=record, options=options)[0]
    model: dict[str, Any] = {"alpha": alpha, "beta": beta}
    limits: dict[str, Any] = {"time_limit": time_limit, "work": work, "progress": progress}
    limits["runtime"] = runs
    frontier = frontier_for(source, collective, sizes, **model, **limits, **settings)
    model |= {"to": to, "in_place": in_place, "options": options}
    how: dict[str, Any] = {"progress": progress, "runtime": runs}
    found = recommendation_for(frontier, source, sizes, **how, **model)
    if output is not None:
        found.export(output, to, in_place=in_place, options=options, progress=progress)
    return found
