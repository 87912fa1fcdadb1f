"""Reads the output of a tool about a machine, or a topology file of another project, and writes a
readable spec to edit, with assumptions as comments.  `syncoll plugins --options` lists the
importers with their options.

  nvidia-smi topo -m | syncoll import nvidia-smi - -o my-machine.syncoll
  syncoll import nvidia-smi topo.txt --name dgx --option gpu=h100 > dgx.syncoll
  syncoll pareto my-machine.syncoll allgather

Every command that takes a machine, and this one, also takes NAME:FILE, with options in parentheses:

  syncoll import slurm:topology.conf
  syncoll pareto "nvidia-smi(gpu=b200,pcie=no):topo.txt" allgather
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell
from syncoll.wording import argument

if TYPE_CHECKING:
    from syncoll.importing import import_spec, read_description
    from syncoll.plugins import parse_options, resolve_options

SHELL = Shell(
    {
        "importer": ("importer NAME|NAME:FILE", "such as nvidia-smi; `syncoll plugins` lists them"),
        "file": ("file [FILE]", "the output of the tool; - for standard input"),
    },
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
    file: str | Path | None = None,
    *,
    name: str | None = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """A machine's description from another tool as a spec.

    Args:
        importer: such as ``nvidia-smi`` or ``nccl-xml``, or a reference with a file, such as
            ``slurm:topology.conf``; ``syncoll plugins`` lists them.
        file: the output of the tool; ``-`` for standard input; None if the reference names it.
        name: of the topology; None for a name made from the file's.
        options: of the importer, by name.

    Raises:
        SyncollError: on a file of another tool, and on unknown options.
    """
    session, given = session_for(), dict(options or {})
    importers = session.plugins.importers
    if file is None:
        reference = session.specs.read_with(importer)
        if reference is None:
            name = importers[importer.partition(":")[0].partition("(")[0]].name
            raise UsageError(f"no file is named; expected `{name} FILE` or `{name}:FILE`")
        importer, file, settings = reference
        given = {**parse_options(settings), **given}
    record = importers[importer]
    resolve_options(record.options, given, f"importer {record.name}")
    if name == "":
        raise UsageError(f"the {argument('name')} of the topology is empty")
    text = read_description(str(file))
    label = "standard input" if str(file) == "-" else str(file)
    return import_spec(record, text, label, given, name=name or "", others=importers)
