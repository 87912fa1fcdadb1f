"""The collective of a frontier to be repaired."""

from collections.abc import Callable

from syncoll.errors import LocatedError, UsageError
from syncoll.model import Collective, Instance
from syncoll.results import Frontier
from syncoll.wording import argument


def collective_meant(
    whole: Frontier,
    source: Collective | None,
    meant: str | Collective | None,
    find: Callable[[str | Collective], Collective],
) -> Collective:
    """The collective of a frontier.

    Args:
        source: the collective of its search, if it is known.
        meant: a name or an object in place of the name in the frontier.
        find: returns the collective of a name.

    Raises:
        SpecError: if there is no collective of the given name.
        UsageError: if the name in the frontier is unknown, or stands for another collective.
    """
    if meant is None and source is not None:
        return source
    try:
        found = find(whole.collective if meant is None else meant)
    except LocatedError as error:
        if meant is not None:
            raise
        raise UsageError(
            f"the collective {whole.collective} is unknown ({error.message}); name it with "
            f"{argument('collective')}"
        ) from None
    if not _is_of(found, whole.points[0].instance):
        if found.name == whole.collective and '"' in found.name:  # it names a file
            why = "its file has changed since the search; search it again, or"
        else:
            why = f"this is another collective than {whole.collective} in the file;"
        raise UsageError(f"{found.name}: {why} name the right one with {argument('collective')}")
    return found


def _is_of(found: Collective, instance: Instance) -> bool:
    nodes, chunks = instance.topology.num_nodes, instance.chunks
    try:
        table = found.tabulate(nodes, chunks) if found.admits(nodes, chunks) else None
    except LocatedError:  # it is for other numbers of nodes
        return False
    return (
        table is not None
        and found.combining is instance.combining
        and table.matching(instance.table) is not None
    )
