"""ForestColl: provably optimal spanning trees for collectives, on networks with switches.

The algorithms of "ForestColl: Efficient Collective Communications on Heterogeneous Network
Fabrics", in exact arithmetic, fast enough for a thousand GPUs.

::

    Fabric --bottleneck--> Bottleneck (time, cut, k) --> Network of integer capacities
           --remove_switches--> direct links with paths --Packer--> Forest
           --verify_forest--> ForestPlan

The plugin packs forests for ``syncoll forest``, and proposes their algorithms as a seed.
"""

from syncoll.plugins import Option, SeedRecord, installed_distribution

RECORD = SeedRecord(
    name="forestcoll",
    summary="ForestColl: spanning trees of provably optimal throughput, pipelined",
    load="syncoll_forestcoll.seed:ForestSeed",
    options=(Option("k", 0, "trees for each root; 0: several k up to the optimal one", low=0),),
    installed=lambda: installed_distribution("ortools", "ortools"),
    fits="syncoll_forestcoll.seed:ForestSeed.fits",
    forest="syncoll_forestcoll.packer:FabricPacker",
    first_seconds=0.3,
    counts_copies=True,
)
