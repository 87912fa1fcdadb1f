"""Session: everything that a question needs, put together in one place.

The command line and the functions of `syncoll` are two faces of it: what neither says has its
default here.
"""

from syncoll.session.session import Session
from syncoll.session.settings import Settings

__all__ = ["Session", "Settings"]
