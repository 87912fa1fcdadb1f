"""What is left of a machine when something breaks: its best algorithms, found from those known.

The machine's frontier is given, and the machine without what is broken, see `syncoll.damage`.  In
reading order: `fewer_nodes`, the collective there; `budget`, `delivery_trees` and `rip_up_reroute`,
ways around what is broken; `warm_start_seeds`, known algorithms and these as seeds of an ordinary
search; `cost_delta`; `survey`, one failure after the other.
"""
