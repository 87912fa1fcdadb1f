"""Reads a spec file, checks every definition, and tries definitions without required arguments.
Errors have a line and a column.  Exit code 0 without errors, else 2.

  syncoll spec check my-machine.syncoll
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.routing import as_topology
    from syncoll.spec import CheckReport, check_file

SHELL = Shell(formats=False)


@verb
def check_spec(file: str | Path) -> CheckReport:
    """Every error in a spec file, and its definitions.

    Args:
        file: a .syncoll file.

    Raises:
        UsageError: if there is no such file.
        SpecError: if the file cannot be read.
    """
    if not Path(file).is_file():
        what = "a folder" if Path(file).is_dir() else "no file"
        raise UsageError(f"{file} is {what}; expected a .syncoll file")
    return check_file(str(file), session_for().specs, as_topology)
