"""The plugin host: the records of plugins, and the manager that finds them."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.plugins.exporters import *
    from syncoll.plugins.guard import Answer as Answer
    from syncoll.plugins.importers import *
    from syncoll.plugins.manager import *
    from syncoll.plugins.options import *
    from syncoll.plugins.records import *
    from syncoll.plugins.registry import *
else:
    __getattr__ = lazily(__name__)
