"""A frontier for people."""

from __future__ import annotations

from syncoll.pages.page import Page
from syncoll.results import Frontier, Proof
from syncoll.wording import counted

__all__ = ["frontier_page"]


def _optimal_for(proof: Proof | None) -> str:
    """Among which algorithms nothing costs less, in a few words."""
    if proof is None:
        return "not proved"
    words = {"all": "every C", "open": "not proved"}
    return words.get(proof.scope_text, proof.scope_text.replace("chunks<=", "C <= ")).replace(
        "rounds<=", "R <= "
    )


def frontier_page(frontier: Frontier) -> Page:
    """A frontier: its points, what is proved, and what is not settled."""
    page = Page()
    rows = [
        (
            p.steps,
            p.rounds,
            p.chunks,
            p.bandwidth,
            p.bound if p.bound is not None else "",
            _optimal_for(frontier.proof(p)),
            " ".join(str(r) for r in p.algorithm.rounds_per_step),
            len(p.algorithm.sends),
            f"{p.encoding}/{p.backend}",
            f"{p.seconds:.2f}",
        )
        for p in frontier.points
    ]
    most = frontier.max_chunks
    proved = ">proved >=" if most is None else f">proved >= (C <= {most})"
    columns = (">steps S", ">rounds R", ">chunks C", ">R/C", proved, "optimal for")
    more = ("R by step", ">sends", "found by", ">seconds")
    page.text(f"{frontier.collective} on {frontier.topology.name}")
    if rows:
        page.text()
        page.table((*columns, *more), rows)
    page.text(
        f"{counted(len(rows), 'verified point')} in {frontier.seconds:.1f} s; "
        f"searched: {frontier.scope}."
    )
    if frontier.left_out:
        chunks, reason = frontier.left_out[0]
        which = ", ".join(str(c) for c, _ in frontier.left_out)
        first = "" if len(frontier.left_out) == 1 else f" (C = {chunks})"
        page.text(f"Left out: C = {which}, with which it makes no sense: {reason}{first}")
    ruled_out = []
    if frontier.least_steps:
        ruled_out.append(f"fewer than {counted(frontier.least_steps, 'step')}")
    if frontier.least_bandwidth:
        ruled_out.append(f"a bandwidth cost below {frontier.least_bandwidth}")
    if ruled_out:
        among = "" if most is None else f" with C <= {most}"
        page.text(f"No algorithm{among} has {' or '.join(ruled_out)}.")
    if frontier.open:
        page.text("Not settled:" if most is None else f"Not settled, with C <= {most}:")
        for claim in frontier.open:
            page.text(f"  {claim}")
    if most is not None:
        page.text(
            f"Nothing is known about larger C: what {frontier.collective} asks for depends on C."
        )
    return page
