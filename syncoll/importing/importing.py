"""Runs an importer: its options, the check of its result, and the spec made from that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from syncoll.errors import ImportFormatError, LocatedError, PluginError
from syncoll.importing.clusters import join_boxes
from syncoll.importing.description import LARGEST_FILE, TextError, read_description, shortened
from syncoll.importing.latencies import with_latencies
from syncoll.importing.writer import spec_text, topology_name
from syncoll.model import Fabric, Topology
from syncoll.model.fabric import reached
from syncoll.plugins import Imported, ImporterRecord, Options, parse_options, resolve_options
from syncoll.spec import SpecLibrary, limits
from syncoll.wording import counted

_MOST_NAMES_SHOWN = 12


def import_machine(
    record: ImporterRecord,
    text: str,
    label: str,
    given: Mapping[str, object] | None = None,
    *,
    others: Mapping[str, ImporterRecord] | None = None,
) -> Imported:
    """Imports and checks the machine of a text; errors name one of `others` that recognises it.

    Raises OptionError for an unknown option or a bad value; ImportFormatError if the text describes
    no machine for which a search is possible.
    """
    options = resolve_options(record.options, given or {}, f"importer {record.name}")
    try:
        imported = _read(record, text, label, options)
        if "boxes" in options:
            imported = join_boxes(imported, options, label, f"importer {record.name}")
        imported = with_latencies(imported)
        _check(imported)
    except ImportFormatError as found:
        error = found.of(label) if isinstance(found, TextError) else found
        names, failed = _recognising(text, {**(others or {}), record.name: record})
        if record.name in names or not (names or failed):
            raise error from None
        hints = [f"it looks like a file for the importer {' or '.join(names)}"] * bool(names)
        raise ImportFormatError("\n".join([str(error), *hints, *failed])) from None
    return imported


def _read(record: ImporterRecord, text: str, label: str, options: Options) -> Imported:
    if len(text) > LARGEST_FILE:
        raise TextError(f"longer than {LARGEST_FILE} characters")
    try:
        return record.load().read(text, label, options)
    except PluginError as error:
        if not isinstance(error.__cause__, RecursionError):
            raise
        raise TextError("it is nested too deeply for a description of a machine") from None
    except LocatedError as error:
        raise TextError(str(error)) from None


def _recognising(text: str, importers: Mapping[str, ImporterRecord]) -> tuple[list[str], list[str]]:
    """The importers that recognise a text, and the errors of importers that failed."""
    names, failed = [], []
    for name, one in sorted(importers.items()):
        try:
            if one.recognises(text):
                names.append(name)
        except PluginError as error:
            failed.append(str(error))
    return names, failed


def recognised(importers: Mapping[str, ImporterRecord], file: str) -> list[str]:
    """The names of the importers that recognise a file's contents; empty if it is not text."""
    try:
        return _recognising(read_description(file), importers)[0]
    except ImportFormatError:
        return []


def _check(imported: Imported) -> None:
    """Raises an error for a machine that is too small, too large, or disconnected."""
    machine = imported.machine
    nodes = machine.num_nodes
    names = imported.names or [f"node {n}" for n in range(nodes)]
    if len(names) != nodes:
        raise PluginError(f"the importer gave {len(names)} names for {nodes} nodes")
    switches = machine.num_switches if isinstance(machine, Fabric) else 0
    if imported.switch_names and len(imported.switch_names) != switches:
        raise PluginError(
            f"the importer gave {len(imported.switch_names)} names for {switches} switches"
        )
    if nodes < 2:
        raise TextError(f"it has one compute node, {names[0]}; a collective needs at least two")
    if max(nodes, switches) > limits.MAX_NODES or len(machine.links) > limits.MAX_LINKS:
        raise TextError(
            f"{counted(nodes, 'compute node')}, {counted(switches, 'switch')} and "
            f"{counted(len(machine.links), 'link')}; "
            f"at most {limits.MAX_NODES}, {limits.MAX_NODES} and {limits.MAX_LINKS} can be handled"
        )
    parts = _parts(machine)
    if len(parts) > 1:
        shown = " | ".join(
            shortened([names[n] for n in part], _MOST_NAMES_SHOWN) for part in parts[:8]
        )
        raise TextError(
            f"no links join all compute nodes; these parts are separate: {shown}"
            f"{' | …' if len(parts) > 8 else ''}"
        )


def _parts(machine: Fabric | Topology) -> list[list[int]]:
    """The compute nodes in groups; within each, paths lead from every node to every other."""
    pairs = list(machine.bandwidths if isinstance(machine, Fabric) else machine.links)
    nodes = range(machine.num_nodes)
    if reached(pairs, 0) & reached([(b, a) for a, b in pairs], 0) >= set(nodes):
        return [list(nodes)]
    import networkx as nx  # only for error messages

    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(nodes)
    components = nx.strongly_connected_components(graph)
    parts = ([node for node in sorted(part) if node in nodes] for part in components)
    return sorted(part for part in parts if part)


def import_spec(
    record: ImporterRecord,
    text: str,
    label: str,
    given: Mapping[str, object] | None = None,
    *,
    name: str = "",
    others: Mapping[str, ImporterRecord] | None = None,
    tell: Callable[[str], None] | None = None,
) -> str:
    """The spec of the machine that a text describes, read back to check it.

    Args:
        name: name of the topology; by default made from the label.
        tell: receives a message if the network cards of the machine are left out.

    Raises:
        OptionError: for an unknown option or a bad value.
        ImportFormatError: see `import_machine`; also if the spec would be too long.
        SpecError: if the name is not valid in the language.
    """
    imported = import_machine(record, text, label, given, others=others)
    chosen = "".join(f", {key}={value}" for key, value in (given or {}).items())
    heading = f"Imported from {label} (importer {record.name}{chosen})."
    name = name or topology_name(label)
    spec = spec_text(imported, name, heading)
    if len(spec.encode()) > limits.MAX_FILE_BYTES:
        raise ImportFormatError(
            f"{label}: {len(imported.machine.links)} links of many kinds make a spec of "
            f"{len(spec) >> 10} KiB; at most {limits.MAX_FILE_BYTES >> 10} can be handled"
        )
    _read_back(spec, label, name, imported)
    if tell is not None and imported.cards and "boxes" not in (given or {}):
        known = all(card.bandwidth is not None for card in imported.cards)
        options = [f"{key}={value}" for key, value in (given or {}).items()]
        options += ["boxes=2"] if known or "card" in (given or {}) else ["boxes=2", "card=50GB/s"]
        tell(
            f"{label}: {counted(len(imported.cards), 'network card')} left out; "
            f'"{record.name}({",".join(options)}):{label}" joins two such machines by them'
        )
    return spec


def _read_back(spec: str, label: str, name: str, imported: Imported) -> None:
    """Reads a spec and compares."""
    machine = imported.machine
    if isinstance(machine, Topology) and machine.fabric is not None:
        machine = machine.fabric
    library = SpecLibrary((), {"import": lambda *_: spec})
    try:
        read = library.topology("import:spec")
    except LocatedError as error:
        raise ImportFormatError(f"{label}: as a spec, this machine is refused: {error}") from None
    if isinstance(machine, Fabric):
        read = Fabric.of(read)
    if read != replace(machine, name=name):
        raise AssertionError(f"the spec of {label} reads as another machine:\n{spec}")


def readers(
    importers: Mapping[str, ImporterRecord], tell: Callable[[str], None] | None = None
) -> dict[str, Callable[[str, Sequence[str]], str]]:
    """For each importer a function from a file and ``NAME=VALUE`` options to a spec; `tell`
    receives a message if it leaves out network cards.

    The functions raise as `read_description`, `parse_options` and `import_spec`.
    """

    def read(record: ImporterRecord, file: str, settings: Sequence[str]) -> str:
        given = parse_options(settings)
        text = read_description(file)
        label = "standard input" if file == "-" else file
        return import_spec(record, text, label, given, others=importers, tell=tell)

    return {name: partial(read, record) for name, record in importers.items()}
