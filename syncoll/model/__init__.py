"""The types that specs, encodings, searches and files share: frozen, and checked when built."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.model.algorithm import Algorithm
    from syncoll.model.carriers import Carriers
    from syncoll.model.collective import Collective
    from syncoll.model.derivation import compose, invert, refine, renumber
    from syncoll.model.derived import inverse_of, sequence_of
    from syncoll.model.fabric import Fabric, FabricLink
    from syncoll.model.forest import Forest, Tree
    from syncoll.model.instance import Instance
    from syncoll.model.orbit_algorithm import OrbitAlgorithm
    from syncoll.model.recutting import recut
    from syncoll.model.rows import RelationTable, ranges, rows_within
    from syncoll.model.sums import Term, sum_of, within
    from syncoll.model.topology import UNREACHABLE, BandwidthBound, Counting, Link, Topology
else:
    __getattr__ = lazily(
        __name__,
        {
            "algorithm": "Algorithm",
            "carriers": "Carriers",
            "collective": "Collective",
            "derivation": "compose invert refine renumber",
            "derived": "inverse_of sequence_of",
            "fabric": "Fabric FabricLink",
            "forest": "Forest Tree",
            "instance": "Instance",
            "orbit_algorithm": "OrbitAlgorithm",
            "recutting": "recut",
            "rows": "RelationTable ranges rows_within",
            "sums": "Term sum_of within",
            "topology": "UNREACHABLE BandwidthBound Counting Link Topology",
        },
    )

__all__ = [
    "UNREACHABLE",
    "Algorithm",
    "BandwidthBound",
    "Carriers",
    "Collective",
    "Counting",
    "Fabric",
    "FabricLink",
    "Forest",
    "Instance",
    "Link",
    "OrbitAlgorithm",
    "RelationTable",
    "Term",
    "Topology",
    "Tree",
    "compose",
    "inverse_of",
    "invert",
    "ranges",
    "recut",
    "refine",
    "renumber",
    "rows_within",
    "sequence_of",
    "sum_of",
    "within",
]
