"""Reproducible collectives: every element is added up in one association, see `associations`.

An inverse of a reproducible algorithm moves data, and has no association, so a reproducible
collective has no dual.  Of a composition the first part is reproducible.
"""

from collections.abc import Sequence
from dataclasses import replace

from syncoll.errors import ModelError, Origin
from syncoll.model.collective import Collective


def reproducible(
    collective: Collective, name: str = "", origin: Origin | None = None
) -> Collective:
    """The collective whose sums are all added up in one association.

    Args:
        name: empty for its name in the spec language.

    Raises:
        ModelError: if the collective adds nothing up, or is irregular.

    Examples:
        >>> from syncoll.api import collective
        >>> from syncoll.model.reproducible import reproducible
        >>> reproducible(collective("allreduce")).name
        'allreduce reproducible'
    """
    if collective.plain is not None:
        return replace(collective, name=name or collective.name)
    if not collective.combining or collective.irregular:
        why = "is irregular" if collective.combining else "adds nothing up"
        raise ModelError(
            f"{collective.name} {why}, so it cannot be reproducible",
            origin,
            "a regular collective that combines, such as allreduce",
        )
    spelled = f"({collective.name})" if " " in collective.name else collective.name
    return replace(
        collective,
        name=name or f"{spelled} reproducible",
        origin=origin or collective.origin,
        dual=None,
        per_dual=None,
        ways=tuple((reproducible(first), *rest) for first, *rest in collective.ways),
        terms=(),
        plain=collective,
    )


def plain_parts(
    parts: Sequence[Collective], name: str, origin: Origin | None
) -> list[Collective] | None:
    """The parts without the demand that they are reproducible; None if none has it.  Raises
    `ModelError` if only some of the parts that combine have it."""
    if all(part.plain is None for part in parts):
        return None
    for part in parts:
        if part.combining and part.plain is None:
            raise ModelError(
                f"collective {name}: {part.name} is not reproducible, and other parts are",
                origin,
                "all parts that combine reproducible, or none",
            )
    return [part.plain or part for part in parts]
