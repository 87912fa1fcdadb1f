"""What exported files were found to do, for people."""

from __future__ import annotations

from syncoll.pages.page import Page
from syncoll.runtime.exported import VerifiedExports

__all__ = ["exports_page"]


def exports_page(found: VerifiedExports) -> Page:
    """A line for each of the files that are right."""
    page = Page()
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
