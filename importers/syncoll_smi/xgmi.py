"""The output of ``rocm-smi`` and ``amd-smi``, in different forms, as one machine.

Both print for each pair of GPUs whether xGMI or PCIe joins them, the number of hops and the weight,
but not the number of links.  A pair that xGMI joins in one hop has a link; more hops use others.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from syncoll.importing import Machine, TextError
from syncoll.plugins import Imported, Options
from syncoll_smi.matrices import DeviceMatrix, Line, lines_of, read_matrix
from syncoll_smi.options import Pcie, Speed, link_speed, pcie_option
from syncoll_smi.pcie import Level, add_pcie, named

_XGMI = "XGMI"
_PCIE = ("PCIE", "PCI")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def titled_matrices(
    lines: Sequence[Line],
    title_of: Callable[[Line], tuple[str, str] | None],
    device: re.Pattern[str],
    ends: Callable[[Line], bool],
    command: str,
) -> dict[str, DeviceMatrix]:
    """The matrices below titles, by the key that `title_of` gives with a title's words: LINK TYPE,
    HOPS, WEIGHT or NUMA BW (MB/s as least-most).

    Raises ImportFormatError if one is cut off, occurs twice, or has no title; `command` prints all.
    """
    found: dict[str, DeviceMatrix] = {}
    for i, line in enumerate(lines):
        title = title_of(line)
        if title is None:
            continue
        key, words = title
        if key in found:
            raise line.wrong(
                f"a second matrix `{words}`", "the output of one command on one machine"
            )
        start = next((j for j in range(i + 1, len(lines)) if lines[j].words), None)
        columns = () if start is None else lines[start].words
        wrong = next((word for word in columns if not device.fullmatch(word)), "")
        if start is None or wrong:
            at = f": {wrong!r} in line {lines[start].number} is no name of one" if start else ""
            raise line.wrong(
                f"below `{words}` no line names the GPUs{at}", f"the whole output of `{command}`"
            )
        rest = lines[start + 1 :]
        found[key] = read_matrix(
            lines[start],
            columns,
            columns,
            rest,
            device=device,
            cell=lambda word: True,
            ends=ends,
            again=command,
        )
    above = None
    for line in filter(lambda line: line.words, lines):
        header = len(line.words) > 1 and all(map(device.fullmatch, line.words[-2:]))
        if header and (above is None or not ends(above) or not device.fullmatch(line.words[0])):
            raise line.wrong(
                "the columns of a matrix, and no title above them",
                f"the whole output of `{command}`",
            )
        above = line
    return found


def machine_of(
    found: Mapping[str, DeviceMatrix],
    speed: Speed,
    pcie: Pcie,
    command: str,
    sockets: tuple[str, ...] = (),
) -> Imported:
    """The machine of `titled_matrices`, with the NUMA node of each GPU if known; ImportFormatError
    if a cell is malformed, or GPUs are not joined."""
    matrix = found["LINK TYPE"]
    for other in found.values():
        if other.names != matrix.names:
            raise other.header.wrong(
                f"the matrices are of different GPUs: {named(matrix.names)} in line "
                f"{matrix.header.number}, and {named(other.names)} here",
                "the output of one command",
            )
    if len(matrix.names) < 2:
        raise matrix.header.wrong(
            f"{matrix.names[0]} is the only GPU; a collective needs at least two"
        )
    direct, levels, indirect = _pairs(found, sockets)
    machine = Machine()
    for gpu, name in enumerate(matrix.names):
        machine.node(gpu, name)
    table = None if speed.given else found.get("NUMA BW")
    rated = {} if table is None else _rates(table)
    for a, b in direct:
        machine.join(a, b, rated.get((a, b), speed.rate), "xGMI")
    notes = machine.notes
    if direct:
        assumed = sum(pair not in rated for pair in direct)
        if assumed < len(direct):
            notes.append("xGMI links have the bandwidths of the table NUMA BW, in each direction.")
        if assumed:
            some = f"{assumed} of {len(direct)} xGMI links carry" * (assumed < len(direct))
            notes.append(
                f"{some or 'Each xGMI link carries'} {float(speed.rate):g} GB/s in each direction, "
                f"{speed.reason}; the output has no speeds of them."
            )
            notes.append(
                "Every pair that xGMI joins is assumed to have one link; the output does not "
                "show their number (MI250 has 1, 2 or 4 of them)."
            )
        if found.keys().isdisjoint(("HOPS", "WEIGHT")):
            notes.append(
                "Hops and weights are not in the text: every pair that xGMI joins is assumed to "
                f"be joined directly. `{command}` prints them."
            )
    if indirect:
        notes.append(
            f"{len(indirect)} of {len(matrix.pairs)} pairs have no xGMI link of their own: the "
            "tool counts more than one hop between them, or twice the weight."
        )
    words = "xGMI links", "are joined by PCIe, and have no link"
    host, above = add_pcie(machine, matrix, levels, lambda: sockets, pcie, words)
    if above and not sockets:
        notes.append("NUMA nodes are not in the text: all GPUs are assumed to be on one CPU.")
    return machine.imported(host=host, interconnect="xGMI")


def _rates(table: DeviceMatrix) -> dict[tuple[int, int], Fraction]:
    """GB/s of the pairs with both directions in the table; cells are MB/s, least-most."""
    rates: dict[tuple[int, int], Fraction] = {}
    for a, b in table.pairs:
        for x, y in ((a, b), (b, a)):
            if re.fullmatch("[0-9-]+", cell := table.cells[x][y]) and not _RANGE.fullmatch(cell):
                raise table.wrong_cell(x, y, "a range in MB/s such as 50000-50000")
        there, back = (_RANGE.fullmatch(table.cells[x][y]) for x, y in ((a, b), (b, a)))
        if there is not None and back is not None:
            most = min(max(int(m[1]), int(m[2])) for m in (there, back))
            if most:  # some drivers write 0-0 if they do not know
                rates[a, b] = Fraction(most, 1000)
    return rates


def _pairs(
    found: Mapping[str, DeviceMatrix], sockets: tuple[str, ...]
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], Level], list[tuple[int, int]]]:
    """Pairs with an xGMI link, where those without meet, and pairs joined over other GPUs."""
    kinds = _checked(found["LINK TYPE"], _kind, "XGMI or PCIE")
    hops, weights = (
        _checked(found[title], _whole, "a whole number") if title in found else {}
        for title in ("HOPS", "WEIGHT")
    )
    joined = [pair for pair, kind in kinds.items() if kind]
    least = min((weights[pair] for pair in joined), default=0) if weights else 0
    direct, levels, indirect = [], dict[tuple[int, int], Level](), []
    for pair, xgmi in kinds.items():
        if not xgmi:
            a, b = pair
            apart = bool(sockets) and sockets[a] != sockets[b]
            levels[pair] = Level.SOCKETS if apart else Level.SOCKET
        elif (hops and hops[pair] > 1) or (weights and least and weights[pair] >= 2 * least):
            indirect.append(pair)
        else:
            direct.append(pair)
    return direct, levels, indirect


def _checked(
    matrix: DeviceMatrix, meaning: Callable[[str], int | None], expected: str
) -> dict[tuple[int, int], int]:
    """The meaning of each pair's cells."""
    for a, row in enumerate(matrix.cells):
        for b, cell in enumerate(row):
            if a != b and meaning(cell) is None:
                raise matrix.wrong_cell(a, b, expected)
            if a == b and _kind(cell) is not None:
                raise matrix.wrong_cell(a, b, "no link from a GPU to itself")
    found: dict[tuple[int, int], int] = {}
    for a, b in matrix.pairs:
        there, back = (meaning(matrix.cells[x][y]) for x, y in ((a, b), (b, a)))
        if there != back:
            raise matrix.difference(a, b)
        assert there is not None
        found[a, b] = there
    return found


def _kind(cell: str) -> int | None:
    word = cell.upper()
    return 1 if word == _XGMI else 0 if word in _PCIE else None


def _whole(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"[0-9]{1,6}", cell) else None


_OWNER = "importer rocm-smi"
_COMMAND = "rocm-smi --showtopo"
_GPU = re.compile(r"GPU\d{1,4}")
_TITLE = re.compile(
    r"\b(Weight|Hops|Link Type|Link accessibility) between two GPUs\b", re.IGNORECASE
)
_NUMA = re.compile(r"GPU\s*\[?\s*(\d{1,4})\s*\]?\s*:\s*\(Topology\)\s*Numa Node:\s*(-?\d{1,4})\b")


class RocmSmiImporter:
    """Reads the matrices of ``rocm-smi --showtopo`` or ``--showtopotype``."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""

        def title_of(line: Line) -> tuple[str, str] | None:
            title = _TITLE.search(line.text)
            return None if title is None else (title[1].upper(), title[0])

        def ends(line: Line) -> bool:
            return "==" in line.text or title_of(line) is not None

        pcie = pcie_option(options, _OWNER)
        speed = link_speed(options, _OWNER)
        lines = lines_of(text)
        found = titled_matrices(lines, title_of, _GPU, ends, _COMMAND)
        if "LINK TYPE" not in found:
            what = "only " + " and ".join(found).lower() if found else "no matrix at all"
            raise TextError(
                f"no matrix `Link Type between two GPUs`, but {what}", f"the output of `{_COMMAND}`"
            )
        sockets = _sockets(lines, found["LINK TYPE"])
        found.pop("LINK ACCESSIBILITY", None)
        return machine_of(found, speed, pcie, _COMMAND, sockets)


def _sockets(lines: Sequence[Line], types: DeviceMatrix) -> tuple[str, ...]:
    """The NUMA node of each GPU; empty if the text has none, or an unknown one (-1)."""
    numa = {f"GPU{int(m[1])}": m[2] for line in lines if (m := _NUMA.search(line.text))}
    odd = set(numa) ^ set(types.names) if numa else set()
    if odd:
        name = min(odd, key=lambda name: (len(name), name))
        raise types.header.wrong(
            f"{name} has a NUMA node, but no column in the matrix"
            if name in numa
            else f"{name} has no line `Numa Node`, but others have",
            f"the whole output of `{_COMMAND}`",
        )
    sockets = tuple(numa.get(name, "-") for name in types.names)
    return () if any(socket.startswith("-") for socket in sockets) else sockets
