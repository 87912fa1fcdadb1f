"""A topology behind which stands what is broken: ``dgx1 without link 3->6 and node 4``.

It is the machine that `syncoll repair` makes of the same words, see `syncoll.damage`, and has these
words in its name, so that what is called like that in a file of results can be named again.
"""

from __future__ import annotations

from fractions import Fraction

from syncoll.damage.damage import Damage, Vertex, affected_by, parse_damage
from syncoll.damage.damaged import cables_of, damaged
from syncoll.errors import ModelError, UsageError
from syncoll.model import Fabric, Topology
from syncoll.routing import as_topology
from syncoll.spec import syntax
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_NODES
from syncoll.spec.values import NameScope

__all__ = ["without"]


def without(network: Topology | Fabric, failures: syntax.Failures, scope: NameScope) -> Topology:
    """What is left of a network when these failures happened, one after the other.

    Raises:
        SpecError: when something broken is not there, or no node is left.
        ModelError: when what is left makes no topology.
    """
    topology = as_topology(network)
    for failure in failures.failures:
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


def _damage(thing: syntax.Broken, scope: NameScope) -> Damage:
    evaluator = Evaluator(Ambient("what is broken"))
    words, factor = " ".join(thing.span.text.split()), None
    if thing.factor is not None:
        factor = Fraction(evaluator.number(thing.factor, scope))
        if factor <= 1:
            raise thing.factor.span.error(f"slower by {factor}", "a number above 1")
    if not thing.vertices:
        try:
            found = parse_damage(thing.text, called="")
        except UsageError as error:
            raise thing.span.error(str(error)) from None
        return Damage(thing.text, found.ends, found.both_ways, found.vertex, found.label, factor)
    vertices: list[Vertex] = []
    for is_switch, expr in thing.vertices:
        number = evaluator.whole(expr, scope)
        if not 0 <= number < MAX_NODES:
            raise expr.span.error(f"number {number}", f"0 to {MAX_NODES - 1}")
        vertices.append((is_switch, int(number)))
    if len(vertices) == 1:
        return Damage(words, vertex=vertices[0], factor=factor)
    return Damage(words, (vertices[0], vertices[1]), thing.both_ways, factor=factor)
