"""What is left of a machine when something breaks: its best algorithms, found from those known.

The machine's frontier is given, and the machine without what is broken, see `syncoll.damage`.  In
reading order: `fewer_nodes` and `left`, the collective there; `remaining`, known algorithms;
`budget`, `deliveries` and `mending`, ways around what is broken; `known`, these as seeds of an
ordinary search; `losses`; `failures` and `survey`, one failure after the other.
"""
