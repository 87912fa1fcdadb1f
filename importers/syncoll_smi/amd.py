"""``amd-smi topology``: tables of access, weights, hops, link types and bandwidths, or as JSON."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from syncoll.errors import ImportFormatError
from syncoll.importing import TextError
from syncoll.importing.json_text import parse_json, shown
from syncoll.plugins import Imported, Options
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of
from syncoll_smi.options import link_speed, pcie_option
from syncoll_smi.pcie import named
from syncoll_smi.xgmi import machine_of, titled_matrices

_OWNER = "importer amd-smi"
_COMMAND = "amd-smi topology"
_TITLE = re.compile(r"([A-Z][A-Z -]{0,30}) TABLE:?")
_DEVICE = re.compile(
    r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]|GPU_?\d{1,4}"
)
_NEEDED = ("LINK TYPE", "HOPS", "WEIGHT", "NUMA BW")
"""Other tables state access, coherence, atomics, DMA and both directions of pairs."""


class AmdSmiImporter:
    """Reads the tables, or the JSON, of ``amd-smi topology``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        found = tables_of_json(text) if is_json(text) else _printed(text)
        return machine_of(found, speed, pcie, _COMMAND)


def _printed(text: str) -> dict[str, DeviceMatrix]:
    """The required tables, of a text as people read it, by the words of their titles."""

    def title_of(line: Line) -> tuple[str, str] | None:
        kind = _title(line)
        return (kind, f"{kind} TABLE") if kind in _NEEDED else None

    def ends(line: Line) -> bool:
        return bool(_title(line)) or line.words[-1].upper() == "LEGEND:"

    lines = lines_of(text)
    found = titled_matrices(lines, title_of, _DEVICE, ends, _COMMAND)
    if "LINK TYPE" in found:
        return found
    titles = list(dict.fromkeys(t for line in lines if (t := _title(line))))
    what = (
        f"only {named(titles)}: none of these distinguishes xGMI from PCIe"
        if titles
        else "no table at all"
    )
    raise TextError(
        f"no LINK TYPE TABLE, but {what}",
        f"the output of `{_COMMAND}`; its options -t, -o, -w and -b print the tables of "
        "link types, hops, weights and bandwidths",
    )


def _title(line: Line) -> str:
    """The words of a table's title before ``TABLE:``; empty if the line is not one."""
    match = _TITLE.fullmatch(" ".join(line.words))
    if match is None:
        return ""
    glued = match[1].replace(" ", "")  # a paste may have lost the blank between two words
    return next((title for title in _NEEDED if title.replace(" ", "") == glued), match[1])


_START = re.compile(r'^[ \t]*[\[{](?=\s*(?:[\[\]{}"]|\Z))', re.MULTILINE)  # no prompt: [root@host]#
_END = re.compile(r"^[\]}]|[\]}][ \t]*$", re.MULTILINE)
_MOST_GPUS = 1024
_FIELDS = {
    "LINK TYPE": ("link_type", "link_type"),
    "HOPS": ("num_hops", "hops"),
    "WEIGHT": ("weight", "weight"),
    "NUMA BW": ("bandwidth", "numa_bandwidth"),
}
"""For each table the field of a link, and the older name of an object for all links."""
_JSON_COMMAND = "amd-smi topology --json"
_NOWHERE = Line(0, "", ())


def is_json(text: str) -> bool:
    """Whether a text is JSON, with a command's line above it or without."""
    match = _START.search(text)
    return match is not None and "TABLE" not in text[: match.start()]


def tables_of_json(text: str) -> dict[str, DeviceMatrix]:
    """The tables in the output of ``amd-smi topology --json``, by the words of their titles.

    Since ROCm 6.1.1 each GPU has a list of links::

        [{"gpu": 0, "bdf": "0000:0c:00.0", "links": [
            {"gpu": 1, "bdf": "0000:22:00.0", "weight": 15, "link_type": "XGMI", "num_hops": 1,
             "bandwidth": "50000-50000", …}, …]}, …]

    and before that an object for each table::

        [{"gpu": 0, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"}, "hops": {…}, …}, …]

    Raises:
        ImportFormatError: if it is no such JSON, or pairs of GPUs are missing.
    """
    gpus = _gpus(parse_json(_cut(text)))
    numbers: list[int] = []
    for gpu in gpus:
        number = gpu.get("gpu")
        if type(number) is not int or not 0 <= number < _MOST_GPUS:
            raise _wrong(f"a GPU's number is {shown(number)}", '"gpu": 0 and so on')
        if number in numbers:
            raise _wrong(f"GPU {number} occurs twice", "each GPU once")
        numbers.append(number)
    if len(gpus) < 2:
        raise TextError(f"GPU {numbers[0]} is the only GPU; a collective needs at least two")
    links = [_links(gpu, f"GPU {n}") for gpu, n in zip(gpus, numbers, strict=True)]
    names = [
        bdf if isinstance(bdf := gpu.get("bdf"), str) and len(bdf) <= 40 else f"GPU{n}"
        for gpu, n in zip(gpus, numbers, strict=True)
    ]
    found = {}
    for title in _FIELDS:
        cells = [
            [_cell(own.get(b, {}).get(title), a == b) for b in numbers]
            for a, own in zip(numbers, links, strict=True)
        ]
        known = [cell for row in cells for cell in row if cell is not None]
        if len(known) == len(numbers):  # a GPU and itself only: the field is not in the text
            continue
        for a, row in enumerate(cells):
            for b, cell in enumerate(row):
                if cell is None:
                    raise _wrong(
                        f"GPU {numbers[a]} has no {_FIELDS[title][0]} for its link to GPU "
                        f"{numbers[b]}",
                        "each GPU's links to all others",
                    )
        rows = tuple(tuple(cell or "" for cell in row) for row in cells)
        found[title] = DeviceMatrix(
            tuple(names), rows, (_NOWHERE,) * len(rows), ((),) * len(rows), _NOWHERE
        )
    if "LINK TYPE" not in found:
        has = [_FIELDS[title][0] for title in found]
        what = f"but only {named(has)}" if has else "nor any other field"
        raise _wrong(f"no link_type of any link to another GPU, {what}", "all fields")
    return found


def _cut(text: str) -> str:
    """The JSON text, in the lines where it was."""
    start = _START.search(text)
    first = start.start() if start else 0
    last = max((match.end() for match in _END.finditer(text, first)), default=len(text))
    return "\n" * text.count("\n", 0, first) + text[first:last]


def _gpus(data: Any) -> Sequence[Mapping[str, Any]]:
    """The objects of the GPUs; some versions have their list inside an object."""
    if isinstance(data, dict):
        inner = [value for value in data.values() if isinstance(value, list)]
        data = inner[0] if len(inner) == 1 and "gpu" not in data else [data]
    if not isinstance(data, list) or not all(isinstance(gpu, dict) for gpu in data) or not data:
        raise _wrong("it is no list of GPUs", "an object for each GPU")
    if len(data) > _MOST_GPUS:
        raise _wrong(f"{len(data)} GPUs", f"at most {_MOST_GPUS}")
    return data


def _links(gpu: Mapping[str, Any], where: str) -> dict[int, dict[str, Any]]:
    """For each other GPU the data of the link to it, by the titles of tables."""
    found: dict[int, dict[str, Any]] = {}
    if "links" in gpu:
        links = gpu["links"]
        if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
            raise _wrong(f"{where}: its links are {shown(links)}", "a list of objects")
        for link in links:
            other = link.get("gpu")
            if type(other) is not int or other in found:
                why = "given twice" if type(other) is int else "no number of a GPU"
                raise _wrong(f"{where}: a link to gpu {shown(other)}, {why}", "one for each")
            found[other] = {title: link.get(field) for title, (field, _) in _FIELDS.items()}
        return found
    for title, (_, field) in _FIELDS.items():
        row = gpu.get(field)
        for key, value in row.items() if isinstance(row, dict) else ():
            match = re.fullmatch(r"gpu_([0-9]{1,4})", key)
            if match is None:
                raise _wrong(f"{where}: {field} of {shown(key)}", "gpu_0 and so on")
            found.setdefault(int(match[1]), {})[title] = value
    return found


def _cell(value: Any, own: bool) -> str | None:
    """As a table has it; None for missing data, which does not matter for a GPU and itself."""
    if own:
        return "SELF"
    if value is None:
        return None
    return value.strip() if isinstance(value, str) else shown(value)


def _wrong(message: str, expected: str) -> ImportFormatError:
    return TextError(message, f"{expected}: the output of `{_JSON_COMMAND}`")
