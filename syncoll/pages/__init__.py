"""What values look like to people, in a terminal and in a notebook."""

from syncoll.pages.page import Page

__all__ = ["Page"]
