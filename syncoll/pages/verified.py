"""Pages of verified files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from syncoll.documents import StoredFile
from syncoll.pages.page import Page
from syncoll.runtime.exported import VerifiedExports
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.proofs.refutation import CheckedRefutation as _CheckedRefutation

__all__ = ["CheckedRefutation", "verified_page"]

CheckedRefutation: TypeAlias = "_CheckedRefutation"


def verified_page(found: VerifiedExports | CheckedRefutation | StoredFile) -> Page:
    """A line for each algorithm that was replayed, each verified file, or the refuted instance."""
    page = Page()
    if isinstance(found, VerifiedExports):
        return _exports(page, found)
    if not isinstance(found, StoredFile):
        page.text(f"refutation: {found.claim}")
        lemmas = counted(found.proof.lemmas_checked, "lemma")
        return page.text(f"  proved: {lemmas} checked, encoding {found.encoding}")
    page.text(f"{found.kind}: {found.collective} on {found.topology.name}")
    for one in found.algorithms:
        instance = one.instance
        page.text(
            f"  {one.where}: verified, C = {instance.chunks}, S = {instance.steps}, "
            f"R = {instance.rounds}, {counted(one.algorithm.num_sends, 'send')}"
        )
    if not found.algorithms:
        page.text("  the file has no algorithm to verify")
    return page


def _exports(page: Page, found: VerifiedExports) -> Page:
    for where, one in found.checked:
        placement = {None: "", True: ", in place", False: ", out of place"}[one.in_place]
        facts = ", ".join(f"{name} {value}" for name, value in one.facts.items())
        done = "executed" if one.result_checked else "read, but its result was NOT checked"
        meant = f", as {found.meant} asks" if found.meant is not None else ""
        page.text(
            f"{where}: {done}, {one.format}: {one.collective} of {one.num_nodes} "
            f"ranks{placement}{meant}" + (f"; {facts}" if facts else "")
        )
    return page
