"""The session that a function of `syncoll` asks."""

from __future__ import annotations

from functools import cache

from syncoll.session import Session, Settings
from syncoll.session.settings import SettingsOptions

__all__ = ["session_for", "session_of"]


@cache
def _usual() -> Session:
    """With every default; what is installed and the library are looked up once."""
    return Session()


def session_for(options: SettingsOptions) -> Session:
    """A session with these settings; the usual one where nothing is set.

    Raises:
        UsageError: on a setting that does not exist.
    """
    if not options:
        return _usual()
    session = Session(Settings.of(options))
    session.plugins = _usual().plugins
    session.specs = _usual().specs
    return session


def session_of(value: object) -> Session:
    """The session that a value came from; the usual one where it does not say."""
    found = getattr(value, "session", None)
    return found if isinstance(found, Session) else _usual()
