"""Channels: memory channels within a box, and port channels over a network."""

from syncoll.errors import ExportError
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, kind_of


class Channels:
    """The kind of channel between two ranks: the chosen one, or by the link that joins them.

    Raises ExportError if memory channels would have to pass a network, or a gather in place would
    need port channels.
    """

    def __init__(self, request: ExportRequest, chosen: str) -> None:
        topology = request.instance.topology
        self.chosen, self.box = chosen, shared_memory_boxes(topology)
        self.between: tuple[int, int] | None = None
        if self.box.any():
            ends = request.algorithm.sends[:, 1:3]
            passing = ends[self.box[ends[:, 0]] != self.box[ends[:, 1]]]
            self.between = tuple(passing[0].tolist()) if len(passing) else None
        if chosen == "memory" and self.between is not None:
            raise ExportError(
                "memory channels do not cross a network, and {} has only a network between ranks "
                "{} and {}, which exchange data; expected channel=auto, which takes port "
                "channels there, or channel=port".format(topology.name, *self.between)
            )
        ports = chosen == "port" or self.between is not None
        if request.in_place and ports and kind_of(request.instance).kind is Kind.GATHER:
            raise ExportError(
                "MSCCL++ cannot express gather in place with port channels: the input begins at "
                "another offset at each rank, and a proxy reads from the beginning of the "
                "allocation; export it out of place"
                + (", or with memory channels" if self.between is None else "")
            )

    def kind(self, one: int, other: int) -> str:
        """The kind of the channel between two ranks: memory or port."""
        if self.chosen == "auto":
            return "memory" if self.box[one] == self.box[other] else "port"
        return self.chosen
