"""Pages of values: text for terminals, HTML for notebooks."""

from syncoll.pages.page import Page

__all__ = ["Page"]
