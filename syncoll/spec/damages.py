"""Damage to a topology in references: broken and slower links, nodes and switches.

``dgx1 without link 3->6 and node 4`` is the network that `syncoll repair` makes of the same words.
They are part of its name, so that a file of results can be named again.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from syncoll.damage.damage import Damage, Vertex, affected_by
from syncoll.damage.damaged import cables_of, damaged
from syncoll.errors import ModelError, SpecError, UsageError
from syncoll.model import Fabric, Topology
from syncoll.routing import as_topology
from syncoll.spec import syntax
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_NODES
from syncoll.spec.module import module_of
from syncoll.spec.parser import parse_broken
from syncoll.spec.source import Source
from syncoll.spec.values import NameScope
from syncoll.wording import argument

_SLOW = re.compile(r"(.+?)\s+by\s+([0-9]{1,9}(?:\.[0-9]{1,9}|/(?!0+$)[0-9]{1,9})?)")
_GLUED = re.compile(r"\b(link|cable|node|gpu|rank|switch)(?=[0-9])", re.IGNORECASE)


def without(
    network: Topology | Fabric, failures: Iterable[syntax.DamageClause], scope: NameScope
) -> Topology:
    """The network after these failures, one after the other.  Raises `SpecError` if a broken part
    does not exist or no node remains, and `ModelError` if the rest is not a topology."""
    topology = as_topology(network)
    for failure in failures:
        fabric, _ = cables_of(topology)
        damages = []
        for thing in failure.things:
            damage = _damage(thing, scope)
            try:
                affected_by(topology if fabric is None else fabric, [damage])
            except UsageError as error:
                raise thing.span.error(str(error)) from None
            damages.append(damage)
        try:
            topology = damaged(topology, damages).topology
        except UsageError as error:
            raise failure.span.error(str(error)) from None
        except ModelError as error:
            raise ModelError(error.message, failure.span.origin, error.expected) from None
    return topology


def parse_damage(text: str, *, slow: bool = False, called: str | None = None) -> Damage:
    """Reads a damage, such as ``link 3->6``, or with `slow` ``link 3->6 by 2``.  Raises
    `UsageError` if it names nothing.

    Other words are a label, without quotation marks.  Messages begin with `called`; if None, with
    the argument's name.
    """
    given, factor = text, None
    name = f"{argument('slow' if slow else 'without')}: " if called is None else called
    text = " ".join(text.split())
    if slow:
        match = _SLOW.fullmatch(text)
        if match is None or Fraction(match[2]) <= 1:
            raise UsageError(
                f"{name}{given!r} is not of the form PART by N, with N above 1, of at most 9 "
                "digits (9 more after a point), such as 'link 3->6 by 2': a half of its "
                "bandwidth"
            )
        text, factor = match[1], Fraction(match[2])
    source = Source.typed(_GLUED.sub(r"\1 ", text))
    try:
        found = _damage(parse_broken(source), NameScope(module_of(source), {}))
    except SpecError:
        if not re.search(r"\w", text) or "->" in text:
            raise UsageError(
                f"{name}{given!r} names no part; expected such as 'link 3->6', 'link 3<->6', "
                "'node 5', 'switch 0', or the label of a cable"
            ) from None
        found = Damage(given, label=text)
    return replace(found, text=given, factor=factor)


def _damage(thing: syntax.DamageTerm, scope: NameScope) -> Damage:
    evaluator, factor = Evaluator(Ambient("what is broken")), None
    if thing.factor is not None:
        factor = Fraction(evaluator.number(thing.factor, scope))
        if factor <= 1:
            raise thing.factor.span.error(f"slower by {factor}", "a number above 1")
    if not thing.vertices:
        try:
            return replace(parse_damage(thing.text, called=""), factor=factor)
        except UsageError as error:
            raise thing.span.error(str(error)) from None
    ends: list[Vertex] = []
    for end in thing.vertices:
        number = evaluator.whole(end.number, scope)
        if not 0 <= number < MAX_NODES:
            raise end.number.span.error(f"number {number}", f"0 to {MAX_NODES - 1}")
        ends.append((end.is_switch, int(number)))
    words = " ".join(thing.span.text.split())
    if len(ends) == 1:
        return Damage(words, vertex=ends[0], factor=factor)
    return Damage(words, (ends[0], ends[1]), thing.both_ways, factor=factor)
