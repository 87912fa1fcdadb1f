"""The search of a request in grains, and its results in rounds.

Engines count whole rounds.  On a machine with several grains in a round they get the machine with a
grain as its round; their points, families, proofs and bounds are then divided by the grains.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

from syncoll.ledger.request import SearchRequest
from syncoll.model import Topology
from syncoll.model.grains import exact
from syncoll.results import Family, Frontier, Point


class InGrains:
    """A request in grains.

    Attributes:
        asked: the request for the machine with a grain as its round.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._request, self._each = request, request.topology.grains
        most, aim = request.max_rounds, request.aim
        self.asked = replace(
            request,
            topology=request.topology.in_grains,
            grains=self._each,
            max_rounds=None if most is None else int(most * self._each),
            aim=None if aim is None else replace(aim, bandwidth=aim.bandwidth * self._each),
        )
        # A frontier is reported often; its points stay the same, and so do the machines.
        self.point, self._family = cache(self._point), cache(self._family_in_rounds)
        self._machine = cache(self._in_rounds)

    def _in_rounds(self, topology: Topology) -> Topology:
        if topology is self.asked.topology:
            return self._request.topology
        return topology.in_rounds(self._each)

    def _point(self, point: Point) -> Point:
        """A point in rounds, of the machine or the reversed one."""
        factor = Fraction(1, self._each)
        return point.restated(
            point.instance.scaled(self._machine(point.instance.topology), factor),
            point.algorithm.scaled(factor),
            None if point.bound is None else point.bound * factor,
        )

    def _family_in_rounds(self, family: Family) -> Family:
        return family.scaled(self._machine(family.topology), Fraction(1, self._each))

    def frontier(self, found: Frontier) -> Frontier:
        """The frontier in rounds."""
        factor, settings = Fraction(1, self._each), dict(found.settings)
        if settings.get("max_rounds") is not None:
            settings["max_rounds"] = exact(self._request.max_rounds)
        return replace(
            found,
            topology=self._request.topology,
            points=tuple(map(self.point, found.points)),
            families=tuple(map(self._family, found.families)),
            settings=settings,
            open=tuple(claim.scaled(factor) for claim in found.open),
            least_bandwidth=found.least_bandwidth * factor,
            evidence=None if found.evidence is None else found.evidence.scaled(factor),
            refuted=tuple(one.scaled(factor) for one in found.refuted),
        )
