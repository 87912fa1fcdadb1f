"""The command line.  Its start imports no solver; a command imports its modules when it runs."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.cli.arguments import *
    from syncoll.cli.command import ask as ask
    from syncoll.cli.exits import *
    from syncoll.cli.exporter_options import *
    from syncoll.cli.output import *
else:
    __getattr__ = lazily(__name__)
