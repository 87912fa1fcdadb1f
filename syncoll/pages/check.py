"""What is proved about a frontier, for people."""

from __future__ import annotations

from syncoll.pages.page import Page
from syncoll.trust.claims import Checked
from syncoll.wording import counted

__all__ = ["check_page"]


def check_page(checked: Checked, *, known: bool) -> Page:
    """What was checked and holds, and what is left.

    Args:
        checked: the result.
        known: whether the collective was given.
    """
    page = Page()
    frontier, evidence = checked.frontier, checked.frontier.evidence
    assert evidence is not None
    about = f"{frontier.collective} on {frontier.topology.name}"
    if checked.unchecked:
        page.text(f"{about}: nothing wrong was found, but not everything was checked")
        for one in checked.unchecked:
            page.text(f"  not checked: {one.what} ({one.how})")
    else:
        page.text(f"{about}: everything claimed holds")
    page.text(
        f"  {counted(len(frontier.points), 'algorithm')} replayed, "
        f"{counted(len(evidence.certificates), 'certificate')} checked"
    )
    if checked.proved_by_file:
        page.text(f"  {counted(len(checked.proved_by_file), 'refutation')} checked step by step")
    page.text("If that is so, it is proved that:" if checked.unchecked else "Proved:")
    among = "" if frontier.max_chunks is None else f" with C <= {frontier.max_chunks}"
    distance = evidence.distance
    if distance is not None:
        page.text(
            f"  no algorithm{among} has fewer than {counted(distance.steps, 'step')}: so far is "
            f"node {distance.destination} from {' and '.join(map(str, distance.sources))}"
        )
    for proof in evidence.proofs:
        page.text(f"  {proof.words}")
    page.text(
        f"  no algorithm{among} of any number of steps has a bandwidth cost below "
        f"{frontier.least_bandwidth}"
    )
    if evidence.scaling:
        reason = checked.scales if known else "not checked"
        page.text(f"  for every number of chunks C per node: {reason}")
    for answer in checked.on_word:
        page.text(
            f"  on the word of {answer.backend}: no algorithm with S = {answer.steps}, "
            f"R = {answer.rounds}, C = {answer.chunks}"
        )
    return page
