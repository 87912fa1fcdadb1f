"""The requirements of spec libraries: files that can be used by bare name."""

from typing import ClassVar

from syncoll.plugins import PluginManager, SpecLibraryRecord
from syncoll.routing import as_topology
from syncoll.spec import Kind, SpecLibrary, check_file
from syncoll.testing.kit import Conformance, Failure, checks_of, demand, failures

__all__ = ["SPEC_LIBRARY_CHECKS", "SpecLibraryConformance", "check_spec_library"]

_KINDS: tuple[Kind, ...] = ("topology", "collective", "relation", "search")


def _with_ours(record: SpecLibraryRecord) -> list[SpecLibraryRecord]:
    """Our libraries before the one under test, as the command line has them."""
    manager = PluginManager.discover()
    libraries = manager.spec_libraries.values()
    ours = [one for one in libraries if manager.is_ours(one) and one.folder != record.folder]
    return [*ours, record]


def check_folder(record: SpecLibraryRecord) -> None:
    """Its folder is there, and defines something."""
    demand(bool(record.summary) and "\n" not in record.summary, "its summary is not one line")
    demand(record.folder.is_dir(), f"there is no folder {record.folder}")
    library = SpecLibrary([record.folder])
    found = [definition for kind in _KINDS for definition in library.names(kind)]
    demand(bool(found), f"no definition in {record.folder}; expected .syncoll files")


def check_files(record: SpecLibraryRecord) -> None:
    """Every file can be parsed, its definitions can be evaluated if values for their parameters are
    known, and no name is defined twice."""
    library = SpecLibrary([one.folder for one in reversed(_with_ours(record))])
    problems = [str(problem) for problem in SpecLibrary([record.folder]).problems()]
    demand(not problems, "; ".join(problems))
    for file in sorted(record.folder.rglob("*.syncoll")):
        errors = check_file(file, library, as_topology).errors
        demand(not errors, "; ".join(str(error) for error in errors))


def check_names(record: SpecLibraryRecord) -> None:
    """No definition has a name of syncoll's own library, which would hide it."""
    *ours, own = ([one.folder] for one in _with_ours(record))
    for kind in _KINDS:
        names = {one.name for one in SpecLibrary(own).names(kind)}
        for folder in ours:
            taken = names & {one.name for one in SpecLibrary(folder).names(kind)}
            demand(not taken, f"syncoll has its own {kind} {', '.join(sorted(taken))}")


SPEC_LIBRARY_CHECKS = checks_of(__name__)
"""Every check by its name."""


def check_spec_library(record: SpecLibraryRecord) -> list[Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    return failures(SPEC_LIBRARY_CHECKS, record)


class SpecLibraryConformance(Conformance, checks=SPEC_LIBRARY_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[SpecLibraryRecord]
