"""Record: the base of the records that plugins register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from syncoll.plugins.fields import Field, check_fields
from syncoll.plugins.guard import Guard, GuardedFunction
from syncoll.plugins.options import check_table


@dataclass(frozen=True)
class Record:
    """A plugin's entry: fields and options are checked, and its functions are guarded.

    Args:
        name: as written on the command line.
        summary: one line.
    """

    guards: ClassVar[Mapping[str, Guard]] = {}
    """The guard of the function in a field."""

    checks: ClassVar[Mapping[str, Field]] = {}
    """The allowed values of a field whose annotation does not define them."""

    name: str
    summary: str

    def __post_init__(self) -> None:
        check_fields(self, **self.checks)
        kind = type(self).__name__.removesuffix("Record").lower()
        who = f"{kind} {self.name}"
        check_table(getattr(self, "options", ()), who, flags=kind == "exporter")
        for field, guard in self.guards.items():
            function: Any = getattr(self, field)
            if isinstance(function, GuardedFunction):  # this record is a copy of another
                function = function.function
            if function is not None:
                object.__setattr__(self, field, guard(function, field, who))
