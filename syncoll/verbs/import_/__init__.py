"""Reads the output of a tool about a machine, or a topology file of another project, and writes a
readable spec to edit, with assumptions as comments.  `syncoll plugins --options` lists the
importers with their options.

  nvidia-smi topo -m | syncoll import nvidia-smi - -o my-machine.syncoll
  syncoll import nvidia-smi topo.txt --name dgx --option gpu=h100 > dgx.syncoll
  syncoll pareto my-machine.syncoll allgather

Every command that takes a machine also takes NAME:FILE, with options in parentheses:

  syncoll pareto nvidia-smi:topo.txt allgather
  syncoll pareto "nvidia-smi(gpu=b200,pcie=no):topo.txt" allgather
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell
from syncoll.wording import argument

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from syncoll.importing import import_spec, read_description
    from syncoll.plugins import resolve_options

__all__ = ["import_topology"]

SHELL = Shell(
    {"importer": "importer NAME"},
    {
        "-o, --output FILE": "write the spec to a file (default: -, standard output)",
        "--plot PICTURE": "draw the machine; a name that ends in .png or .svg",
        "--option NAME=VALUE ...": "an option of the importer, such as link=25GB/s; repeatable",
    },
    formats=False,
)


@verb
def import_topology(
    importer: str,
    file: str | Path,
    *,
    name: str | None = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """A machine's description from another tool as a spec.

    Args:
        importer: such as ``nvidia-smi`` or ``nccl-xml``; ``syncoll plugins`` lists them.
        file: the output of the tool; ``-`` for standard input.
        name: of the topology; None for a name made from the file's.
        options: of the importer, by name.

    Raises:
        SyncollError: on a file of another tool, and on unknown options.
    """
    importers = session_for().plugins.importers
    record, given = importers[importer], dict(options or {})
    resolve_options(record.options, given, f"importer {record.name}")
    if name == "":
        raise UsageError(f"the {argument('name')} of the topology is empty")
    text = read_description(str(file))
    label = "standard input" if str(file) == "-" else str(file)
    return import_spec(record, text, label, given, name=name or "", others=importers)
