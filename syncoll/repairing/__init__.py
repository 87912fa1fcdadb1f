"""The best algorithms of a damaged machine, found from the algorithms of the whole machine.

The frontier of the whole machine and the damaged machine (`syncoll.damage`) are given.  In
reading order: `fewer_nodes`, the collective there; `budget`, `delivery_trees` and `rip_up_reroute`,
ways around the damage; `warm_start_seeds`, known and rerouted algorithms as seeds of an ordinary
search; `cost_delta`; `survey`, one failure after the other.
"""
