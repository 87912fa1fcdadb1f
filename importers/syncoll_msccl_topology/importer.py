"""A topology from MSCCL's topology JSON; both count chunks per round, so nothing is assumed."""

from syncoll.importing.json_text import parse_topology
from syncoll.importing.msccl_json import topology_in
from syncoll.plugins import Imported, Options


class MscclTopologyImporter:
    """Reads topology JSON of msccl-tools."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        notes = ["Bandwidths are the file's, in chunks per round."]
        return Imported(topology_in(parse_topology(text), notes), tuple(notes))
