"""Session: the plugins, library, store and limits of a question, with their defaults."""

from syncoll.session.session import Session
from syncoll.session.settings import Settings

__all__ = ["Session", "Settings"]
