"""The core of exporting: from a verified algorithm to what every rank does with its buffers.

What an exporter uses::

    from syncoll.runtime import Action, Buffer, Hazard, Kind, kind_of, lower

    collective = kind_of(request.instance)      # .kind .share (k) .root .loop_chunks .reason
    lowered = lower(request)                    # or lower(request, zero_copy=True) for puts
    lowered.layout.collective                   # the same StandardCollective
    lowered.layout.input_slot(chunk, node)      # Slot(Buffer.INPUT, index) or None
    lowered.layout.output_slot(chunk, node)     # in place both names are one: equal slots are
                                                # equal memory; layout.shift translates
    for rank in lowered.ranks:                  # .input_chunks .output_chunks .scratch_chunks
        for operation in rank.operations:       # .action .step .chunk .contributions .sources
            ...                                 # .target .message .peer .dependencies
    for message in lowered.messages:            # .source .destination .step .send .receive
        ...                                     # .source_slot .target_slot .chunk

Collectives are recognised from pre and post, never by name, whatever the order of chunk numbers.
What is not one of the eight standard ones has the kind ``custom``; it can be lowered out of place,
and a format that does not know it refuses it with `StandardCollective.reason`.

Rules that hold for what `lower` returns:

* The input is never written, but for those slots that in place are output as well.  All scratch is
  written before it is read.
* Every message has one send and one receive.  Sends of a step read what is there when it begins;
  the list of a rank is in the order of steps, and in a step: sends, receives, reduces, copies.
* Sends of a step, and receives, are in an order in which ranks do not all begin at the same one
  (`syncoll.runtime.values`).  A format that orders them anew uses `distance` for it.
* ``dependencies`` name every earlier operation of the rank whose result is read (RAW), whose source
  is overwritten (WAR) or whose target is overwritten (WAW).  They and the messages are all the
  order that is needed; steps are no barriers.
* A receive whose dependencies are not empty overwrites something.  A runtime that writes into the
  other rank's memory must first hear from there that these are done.  With ``zero_copy=True`` they
  are of earlier steps only, so that such waiting cannot go in a circle.
* Scratch is never reused for what is received.
* A partial result is computed once, as soon as its parts are there, and in the slot where it is
  needed if that is free: a reduce reads two slots and may write one of them or a third.

`export_verified` is how files are handed out: verify, write, read back with the format's own
checker and execute, and only then return.
"""

from syncoll.runtime.export import *
from syncoll.runtime.graphs import *
from syncoll.runtime.groups import *
from syncoll.runtime.layout import *
from syncoll.runtime.lowering import *
from syncoll.runtime.values import (
    bit_masks as bit_masks,
    distance as distance,
    in_turn as in_turn,
)
