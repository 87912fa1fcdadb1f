"""The core of exporting: from a verified algorithm to the operations of every rank on its buffers.

The interface of exporters::

    import syncoll.runtime as rt                # also Action, Buffer, Hazard, Kind
    collective = rt.kind_of(request.instance)   # .kind .share (k) .root .loop_chunks .reason
    lowered = rt.lower(request)                 # or lower(request, zero_copy=True) for puts
    lowered.layout.collective                   # the same StandardCollective
    lowered.layout.input_slot(chunk, node)      # Slot(Buffer.INPUT, index) or None
    lowered.layout.output_slot(chunk, node)     # in place equal slots are equal memory

    for rank in lowered.ranks:                  # .input_chunks .output_chunks .scratch_chunks
        for operation in rank.operations:       # .action .step .chunk .contributions .sources
            ...                                 # .target .message .peer .dependencies
    for message in lowered.messages:            # .source .destination .step .send .receive
        ...                                     # .source_slot .target_slot .chunk

Collectives are recognised from pre and post, never by name or by the order of chunk numbers.  All
but the eight standard ones have the kind ``custom``.  They can be lowered out of place, and a
format that does not know them refuses them with `StandardCollective.reason`.

The result of `lower` follows these rules:

* The input is never written, except, in place, for slots that are output as well.  All scratch is
  written before it is read.
* Every message has one send and one receive.  Sends of a step read the data at its beginning; the
  list of a rank is in the order of steps, and in a step: sends, receives, reduces, copies.
* Sends of a step, and receives, are in an order in which ranks do not all begin with the same peer
  (`syncoll.runtime.values`).  A format that reorders them uses `distance`.
* ``dependencies`` name every earlier operation of the rank whose result is read (RAW), whose source
  is overwritten (WAR) or whose target is overwritten (WAW).  Dependencies and messages are the only
  necessary order; steps are no barriers.
* A receive with dependencies overwrites a slot.  A runtime that writes into the other rank's memory
  must wait for a signal that these operations are done, unless its data come from them (see
  ``unordered``).  With ``zero_copy=True`` they are of earlier steps only, so ranks cannot wait in a
  cycle.
* Messages are never received into reused scratch.
* A partial result is computed once, as soon as its parts are available, and in the slot where it is
  needed if that is free: a reduce reads two slots and may write one of them or a third.

`export_verified` verifies an algorithm, writes the files, executes them with the format's own
checker, and only then returns them.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.model.associations import bit_masks as bit_masks
    from syncoll.runtime.export import *
    from syncoll.runtime.graphs import *
    from syncoll.runtime.groups import *
    from syncoll.runtime.layout import *
    from syncoll.runtime.lowering import *
    from syncoll.runtime.streams import *
    from syncoll.runtime.tables import *
    from syncoll.runtime.values import distance as distance, in_turn as in_turn
else:
    __getattr__ = lazily(__name__)
