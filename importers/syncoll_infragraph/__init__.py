"""InfraGraph (package ``infragraph`` 3): devices, instances of them, and edges, as JSON or YAML."""

import re

from syncoll.plugins import ImporterRecord, Option

_KEYS = [re.compile(rf"""["']?{key}["']?\s{{0,9}}:""") for key in ("instances", "devices", "ep1")]

RECORD = ImporterRecord(
    name="infragraph",
    summary="InfraGraph's JSON or YAML: devices with components, instances, edges",
    load="syncoll_infragraph.importer:InfragraphImporter",
    recognises=lambda text: all(key.search(text) for key in _KEYS),
    options=(
        Option(
            "speeds",
            "",
            "speeds of links by their names, with + between: nvlink:450GB/s+pcie:63GB/s; without "
            "any speed, each link carries one chunk per round",
        ),
        Option("lanes", 16, "lanes of a link whose speed is in GT/s", low=1, high=32),
    ),
)
