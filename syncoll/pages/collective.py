"""Pages of a collective: where each chunk starts and must end."""

from math import gcd

from syncoll.arrays import Bools
from syncoll.errors import LocatedError, UsageError
from syncoll.model import Collective, RelationTable
from syncoll.pages.page import Page, PageParts, paged
from syncoll.wording import counted, runs_in_words

_MOST_CHUNKS_SHOWN = 64
_FEW_NODES = 12
_MOST_NODES_TRIED = 64
_MOST_CHUNKS_TRIED = 1_000


@paged
def collective_page(collective: Collective, nodes: int, chunks: int, doc: str = "") -> PageParts:
    """The documentation of a collective, and its pre and post with P and C."""
    relation = collective.tabulate(nodes, chunks)
    if doc:
        yield doc + "\n"
    yield (
        f"{collective.name} on {counted(nodes, 'node')}, C = {chunks}: "
        f"{counted(len(relation.pre), 'chunk')} in all\n"
        + (
            "which nodes contribute to each chunk (pre) and need the result (post)\n"
            if collective.combining
            else "where each chunk starts (pre) and must end (post)\n"
        )
    )
    if collective.in_units:
        yield _about_units(relation, chunks) + "\n"
    if collective.dual is not None:
        yield f"the inverse of {collective.dual.name}\n"
    if collective.ways:
        ways = " or ".join(" then ".join(part.name for part in way) for way in collective.ways)
        yield f"composed: {ways}\n"
    shown = range(min(len(relation.pre), _MOST_CHUNKS_SHOWN))
    if nodes <= _FEW_NODES:
        marks = (".", "pre", "post", "both")
        kinds = relation.pre + 2 * relation.post
        rows = [(c, *(marks[kind] for kind in kinds[c].tolist())) for c in shown]
        yield Page().table((">chunk", *(f"node {n}" for n in range(nodes))), rows)
    else:
        rows = [(c, _ranges(relation.pre[c]), _ranges(relation.post[c])) for c in shown]
        begin, end = "starts at nodes", "must end at nodes"
        if collective.combining:
            begin, end = "contributed by nodes", "result at nodes"
        yield Page().table((">chunk", begin, end), rows)
    if len(relation.pre) > len(shown):
        more = counted(len(relation.pre) - len(shown), "more chunk")
        yield f"… and {more} (--format json shows all)"


def _about_units(relation: RelationTable, chunks: int) -> str:
    """The meaning of C and R/C for a collective with sizes."""
    common = gcd(*relation.kinds[2].tolist(), 0) // chunks
    text = (
        "C is the number of pieces of one unit (a size of 1, or of `unit` where that is given), "
        "and R/C counts rounds per unit"
    )
    if common > 1:
        text += f"; all sizes are multiples of {common}"
    return text


def _ranges(row: Bools) -> str:
    """The positions that are true, runs of them in short: ``0-3 5``."""
    return runs_in_words(row.nonzero()[0].tolist(), "-", " ") or "none"


def least_size(collective: Collective, nodes: int | None, chunks: int | None) -> tuple[int, int]:
    """P and C to show: as given, else the least for which the collective is defined.  Raises
    `UsageError` if it is defined for none."""
    failure: LocatedError | None = None
    for p in range(4, _MOST_NODES_TRIED + 1) if nodes is None else (nodes,):
        try:
            c = collective.least_chunks(p, _MOST_CHUNKS_TRIED) if chunks is None else chunks
            if c is not None and collective.admits(p, c):
                collective.tabulate(p, c)
                return p, c
        except LocatedError as error:  # for every C
            failure = failure or error
    if failure is not None:
        raise failure
    place = f" on {counted(nodes, 'node')}" if nodes is not None else ""
    which = f"C = {chunks}" if chunks is not None else "no C that was tried"
    needs = f"; it needs {collective.requirement}" if collective.requirement else ""
    negated = "not " if chunks is not None else ""
    raise UsageError(f"collective {collective.name} is {negated}defined for {which}{place}{needs}")
