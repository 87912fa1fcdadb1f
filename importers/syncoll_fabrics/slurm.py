"""SLURM's ``topology.conf`` (its manual page of that name), of trees or of blocks.

A tree has a link for each name behind ``Nodes`` and ``Switches``.  A block is a switch with its
nodes; one more switch joins the blocks.
"""

import re
from itertools import product

from syncoll.importing import Machine, TextError, speed_option
from syncoll.plugins import Imported, Options

_MOST = 8192
_EXPECTED = "SwitchName=… Nodes=… or Switches=…, or BlockName=… Nodes=…"
_IGNORED = {"linkspeed", "blocksizes", "blocksize"}


class SlurmImporter:
    """Reads ``topology.conf``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        machine = Machine()
        speeds = {
            kind: speed_option(options, kind, "importer slurm") for kind in ("link", "uplink")
        }
        nodes: dict[str, list[str]] = {}
        upper: dict[str, tuple[list[str], int, str]] = {}
        kinds = set()
        entries = _entries(text)
        for number, line, entry in entries:
            unknown = entry.keys() - {"switchname", "blockname", "nodes", "switches"} - _IGNORED
            names = {"switchname", "blockname"} & entry.keys()
            if unknown or (len(names) != 1 and entry.keys() - _IGNORED):
                raise TextError("no switch and no block", _EXPECTED, number, line)
            if not names:
                continue
            (kind,) = names
            kinds.add(kind)
            name = entry[kind]
            if name in nodes or len(kinds) > 1:
                why = f"a second entry of {name}" if name in nodes else "switches and blocks in one"
                raise TextError(why, "a tree of switches, or blocks", number, line)
            nodes[name] = hosts(entry.get("nodes", ""), number, line)
            upper[name] = hosts(entry.get("switches", ""), number, line), number, line
            if not nodes[name] and not upper[name][0]:
                raise TextError(f"nothing is below {name}", _EXPECTED, number, line)
        if not nodes:
            raise TextError("no line has SwitchName= or BlockName=", _EXPECTED)
        for name in dict.fromkeys(node for some in nodes.values() for node in some):
            machine.node(("node", name), name)
        for name in nodes:
            machine.switch(("switch", name), name)
        for name, some in nodes.items():
            for node in some:
                machine.join(("node", node), ("switch", name), speeds["link"])
        for name, (some, number, line) in upper.items():
            for below in some:
                if below not in nodes or below == name:
                    raise TextError(f"no line has SwitchName={below}", _EXPECTED, number, line)
                machine.join(("switch", below), ("switch", name), speeds["uplink"])
        if "blockname" in kinds and len(nodes) > 1:
            machine.switch("network", "network of the blocks")
            for name in nodes:
                machine.join(("switch", name), "network", speeds["uplink"])
            machine.note("The blocks are assumed to meet in one switch.")
        if any("linkspeed" in entry for *_, entry in entries):
            machine.note("Left out: LinkSpeed, a number without a unit (options link and uplink).")
        known = [f"{kind} {float(rate):g} GB/s" for kind, rate in speeds.items() if rate]
        if known:
            machine.note(f"Speeds in each direction as given: {' and '.join(known)}.")
        missing = [f"{kind}=100Gb/s" for kind, rate in speeds.items() if not rate]
        machine.speeds(None, f"option {' and '.join(missing)}")
        return machine.imported()


def _entries(text: str) -> list[tuple[int, str, dict[str, str]]]:
    """Each line with words: its number, and the values by their lower-case names."""
    found = []
    lines = text.removeprefix("\ufeff").split("\n")
    whole, first = "", 0
    for number, raw in enumerate(lines, 1):
        first = first if whole else number
        whole += raw.partition("#")[0].strip()
        if whole.endswith("\\") and number < len(lines):
            whole = whole[:-1] + " "
            continue
        if whole:
            words = " ".join(whole.split()).replace(" =", "=").replace("= ", "=").split()
            pairs = [word.partition("=") for word in words]
            entry = {key.lower(): value for key, _, value in pairs}
            if len(entry) < len(pairs) or not all(key and value for key, _, value in pairs):
                raise TextError("not a list of name=value", _EXPECTED, first, whole)
            found.append((first, whole, entry))
        whole = ""
    return found


def hosts(text: str, number: int = 0, line: str = "") -> list[str]:
    """The names of SLURM's list ``a[01-03,7],b[0-1]c[0-1]``; raises ImportFormatError."""
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text) if text else []:
        pieces = re.split(r"\[([^\[\]]*)\]", part)
        choices: list[list[str]] = []
        size = 1
        for i, piece in enumerate(pieces):
            if i % 2 == 0:
                choices.append([piece])
                continue
            choices.append([])
            for one in piece.split(","):
                match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", one)
                first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
                if match is None or not first <= last < first + _MOST:
                    raise TextError(f"[{one}] is no range", "such as [0-7]", number, line)
                choices[-1] += [f"{n:0{len(match[1])}}" for n in range(first, last + 1)]
            size *= len(choices[-1])
        if not part or "[" in "".join(pieces[::2]) or "]" in "".join(pieces[::2]) or size > _MOST:
            what = f"{size} names" if size > _MOST else f"{part!r} is no name"
            raise TextError(what, f"at most {_MOST} names such as node[0-7]", number, line)
        names += ["".join(words) for words in product(*choices)]
    if len(set(names)) < len(names) or len(names) > _MOST:
        raise TextError("a name twice, or too many", "each name once", number, line)
    return names
