"""The types that specs, encodings, searches and files share: frozen, and checked when built."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.model.algorithm import Algorithm as Algorithm
    from syncoll.model.collective import Collective as Collective
    from syncoll.model.derivation import *
    from syncoll.model.derived import inverse_of as inverse_of, sequence_of as sequence_of
    from syncoll.model.fabric import Fabric as Fabric, FabricLink as FabricLink
    from syncoll.model.forest import Forest as Forest, Tree as Tree
    from syncoll.model.instance import Instance as Instance
    from syncoll.model.orbit_algorithm import OrbitAlgorithm as OrbitAlgorithm
    from syncoll.model.orbit_carriers import Carriers as Carriers
    from syncoll.model.recutting import recut as recut
    from syncoll.model.rows import *
    from syncoll.model.sums import Term as Term, sum_of as sum_of, within as within
    from syncoll.model.topology import *
else:
    __getattr__ = lazily(__name__)
