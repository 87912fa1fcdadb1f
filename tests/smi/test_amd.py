"""``rocm-smi --showtopo`` and ``amd-smi topology``."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from syncoll.errors import ImportFormatError
from syncoll_smi import AMD_SMI, ROCM_SMI, amd as amd_module
from syncoll_smi.pcie import named

from .conftest import Import, bandwidths

# Six of the eight GPUs of a machine like LUMI's: pairs with links of their own have weight 15.
LINKS = {(0, 1), (2, 3), (4, 5), (0, 2), (1, 3), (3, 5), (2, 4)}
SIX = range(6)


def rows(names: Sequence[str], cells: Sequence[Sequence[object]]) -> list[str]:
    header = " ".join(["      ", *(f"{name:<12}" for name in names)])
    return [header, *(
        " ".join([f"{name:<6}", *(f"{cell!s:<12}" for cell in row)])
        for name, row in zip(names, cells, strict=True)
    )]  # fmt: skip


def square(own: object, linked: object, other: object) -> list[list[object]]:
    return [
        [own if a == b else linked if (min(a, b), max(a, b)) in LINKS else other for b in SIX]
        for a in SIX
    ]


WEIGHT, HOPS, TYPE = square(0, 15, 30), square(0, 1, 2), square(0, "XGMI", "XGMI")
MIXED = square(0, "XGMI", "PCIE")
TITLES = {
    "Weight between two GPUs": WEIGHT,
    "Hops between two GPUs": HOPS,
    "Link Type between two GPUs": TYPE,
}


def rocm_text(matrices: dict[str, list[list[object]]], numa: Sequence[int] = ()) -> str:
    lines = [f"{' ROCm System Management Interface ':=^80}"]
    for title, cells in matrices.items():
        lines += [f"{f' {title} ':=^80}", *rows([f"GPU{g}" for g in SIX], cells), ""]
    lines.append(f"{' Numa Nodes ':=^80}")
    for g, node in enumerate(numa):
        lines.append(f"GPU[{g}]\t\t: (Topology) Numa Node: {node}")
        lines.append(f"GPU[{g}]\t\t: (Topology) Numa Affinity: {node}")
    return "\n".join([*lines, f"{' End of ROCm SMI Log ':=^80}"]) + "\n"


BDF = [f"0000:{bus:02x}:00.0" for bus in (0x0C, 0x22, 0x38, 0x5C, 0x9F, 0xAF)]


def amd_text(tables: dict[str, list[list[object]]]) -> str:
    lines = []
    for title, cells in tables.items():
        lines += [f"{title} TABLE:", *rows(BDF, cells), ""]
    return "\n".join([*lines, "Legend:", "  SELF = Current GPU", "  N/A = Not supported"])


TABLES = {
    "ACCESS": square("ENABLED", "ENABLED", "ENABLED"),
    "WEIGHT": WEIGHT,
    "HOPS": HOPS,
    "LINK TYPE": square("SELF", "XGMI", "XGMI"),
    "NUMA BW": square("N/A", "50000-50000", "50000-50000"),
    "CACHE COHERANCY": square("SELF", "C", "NC"),
}


def both(rate: int | Fraction) -> dict[tuple[int, int], int | Fraction]:
    return {pair: rate for a, b in LINKS for pair in ((a, b), (b, a))}


@pytest.mark.parametrize("without", [None, "Weight between two GPUs", "Hops between two GPUs"])
def test_rocm_pairs_of_one_hop_have_a_link(without: str | None, rocm: Import) -> None:
    imported = rocm(rocm_text({t: m for t, m in TITLES.items() if t != without}))
    assert bandwidths(imported.machine) == both(64)
    assert imported.names == tuple(f"GPU{g}" for g in SIX)
    notes = " ".join(imported.notes)
    assert "8 of 15 pairs have no xGMI link of their own" in notes
    assert "Each xGMI link carries 64 GB/s" in notes
    assert "does not show their number" in notes


def test_rocm_with_types_alone_all_pairs_count(rocm: Import) -> None:
    imported = rocm(rocm_text({"Link Type between two GPUs": TYPE}), gpu="mi250")
    assert set(bandwidths(imported.machine).values()) == {50}
    assert len(imported.machine.links) == 30
    assert "Hops and weights are not in the text" in " ".join(imported.notes)


def test_rocm_with_pcie(rocm: Import) -> None:
    """Pairs without xGMI meet in the CPU of their NUMA node, or between CPUs."""
    halves: dict[str, list[list[object]]] = {
        "Link Type between two GPUs": [
            ["XGMI" if a // 3 == b // 3 and a != b else 0 if a == b else "PCIE" for b in SIX]
            for a in SIX
        ]
    }
    imported = rocm(rocm_text(halves, numa=[0, 0, 0, 1, 1, 1]), pcie="16", socket="20", link="50")
    assert imported.switch_names == ("CPU of GPU0 to GPU2", "CPU of GPU3 to GPU5")
    rates = bandwidths(imported.machine)
    assert rates[6, 7] == 20
    assert {rates[g, 6 + g // 3] for g in SIX} == {16}
    assert rates[0, 2] == 50
    assert (0, 3) not in rates
    one = rocm(rocm_text(halves))
    assert one.switch_names == ("CPU of GPU0 to GPU5",)
    assert "NUMA nodes are not in the text" in " ".join(one.notes)
    with pytest.raises(ImportFormatError, match=r"separate: GPU0 to GPU2 \| GPU3 to GPU5"):
        rocm(rocm_text(halves), pcie="no")
    chain = rocm(rocm_text({"Link Type between two GPUs": MIXED}))
    assert bandwidths(chain.machine) == both(64)
    assert "8 of 15 pairs are joined by PCIe" in " ".join(chain.notes)


def test_older_forms_of_numa_lines(rocm: Import) -> None:
    apart = {"Link Type between two GPUs": square(0, "PCIE", "PCIE")}
    new = rocm_text(apart, numa=[0, 0, 1, 1, 2, 2])
    old = new.replace("GPU[", "GPU ").replace("]\t\t:", "  :")
    assert "GPU 0  : (Topology) Numa Node: 0" in old
    assert rocm(old).machine == rocm(new).machine
    assert len(rocm(new).switch_names) == 2  # three NUMA nodes on two sockets
    assert len(rocm(new, sockets="3").switch_names) == 4  # and the switch between them


def test_amd_prints_speeds(amd: Import) -> None:
    imported = amd(amd_text(TABLES))
    assert bandwidths(imported.machine) == both(50)
    assert imported.names == tuple(BDF)
    assert "xGMI links have the bandwidths of the table NUMA BW" in imported.notes[0]
    assert bandwidths(amd(amd_text(TABLES), link="36").machine) == both(36)


@pytest.mark.parametrize("cell", ["0-0", "N/A"])
def test_amd_may_not_know_speeds(cell: str, amd: Import) -> None:
    tables = {**TABLES, "NUMA BW": square("N/A", cell, cell)}
    imported = amd(amd_text(tables), gpu="mi350")
    assert bandwidths(imported.machine) == both(Fraction("76.8"))
    assert "Each xGMI link carries 76.8 GB/s in each direction, as on MI350" in imported.notes[0]


def test_amd_may_know_some_speeds(amd: Import) -> None:
    slow = set(min(LINKS))
    cells = [["0-0" if {a, b} == slow else "50000-50000" for b in SIX] for a in SIX]
    imported = amd(amd_text({**TABLES, "NUMA BW": cells}))
    assert set(bandwidths(imported.machine).values()) == {50, 64}
    assert "the table NUMA BW" in imported.notes[0]
    assert imported.notes[1].startswith(f"1 of {len(LINKS)} xGMI links carry 64 GB/s in each")


def test_amd_with_pcie_alone(amd: Import) -> None:
    tables = {"HOPS": square(0, 2, 2), "LINK TYPE": square("SELF", "PCIE", "PCIE")}
    imported = amd(amd_text(tables))
    assert imported.switch_names == (f"CPU of {', '.join(BDF[:5])} and {BDF[5]}",)
    assert {x.bandwidth for x in imported.machine.links} == {63}  # PCIe 5.0 of an MI300


def test_cut_off_anywhere(rocm: Import, amd: Import) -> None:
    for call, text in ((rocm, rocm_text(TITLES)), (amd, amd_text(TABLES))):
        for end in range(0, len(text), 3):
            try:
                machine = call(text[:end]).machine
            except ImportFormatError:
                continue
            assert {(x.source, x.destination) for x in machine.links} == set(both(1))


ROCM_LINES, AMD_LINES = rocm_text(TITLES).splitlines(), amd_text(TABLES).splitlines()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", ["no matrix `Link Type between two GPUs`, but no matrix at all", "--showtopo"]),
        (rocm_text({"Hops between two GPUs": HOPS}), ["but only hops"]),
        (rocm_text(TITLES) + rocm_text(TITLES), ["a second matrix `Weight between two GPUs`"]),
        ("= Link Type between two GPUs =\n\n\n", [":1: below", "no line names the GPUs"]),
        (rocm_text(TITLES).replace("XGMI", "XMGI", 1), ["GPU0 to GPU1 is 'XMGI'", "XGMI or PCIE"]),
        (rocm_text(TITLES).replace("15", "-1", 1), [":4: GPU0 to GPU1 is '-1'"]),
        (rocm_text(TITLES).replace("15", "16", 1), [":5: GPU1 to GPU0 is 15", "is 16 (line 4)"]),
        ("\n".join(ROCM_LINES[:25]), ["the matrix is incomplete", "no rows of GPU4, GPU5"]),
        ("\n".join([*ROCM_LINES[:5], *ROCM_LINES[6:]]), [":3: the matrix is inc", "of GPU2"]),
        (
            rocm_text(TITLES).replace("GPU5", "GPU7", 2),
            ["the matrices are of different GPUs: GPU0 to GPU5 in line 21", "GPU4 and GPU7 here"],
        ),
        (
            "Link Type between two GPUs\n      GPU0\nGPU0  0\n",
            [":2: GPU0 is the only GPU; a collective needs at least two"],
        ),
    ],
)
def test_rocm_nonsense(text: str, words: list[str], rocm: Import) -> None:
    with pytest.raises(ImportFormatError) as caught:
        rocm(text)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", ["no LINK TYPE TABLE, but no table at all", "`amd-smi topology`"]),
        (amd_text({"HOPS": HOPS, "WEIGHT": WEIGHT}), ["but only HOPS and WEIGHT"]),
        (
            amd_text(
                {"ATOMICS": square("SELF", "64,32", "64,32"), "DMA": square("SELF", "T", "T")}
            ),
            ["no LINK TYPE TABLE, but only ATOMICS and DMA: none of", "-t, -o, -w and"],
        ),
        (amd_text(TABLES) + "\n" + amd_text(TABLES), ["a second matrix `WEIGHT TABLE`"]),
        ("LINK TYPE TABLE:\n  0000:0c:00.0 what\n", [":1: below `LINK TYPE TABLE` no line"]),
        ("\n".join(AMD_LINES[:30]), ["no rows of", "0000:af:00.0"]),
        (amd_text(TABLES).replace("XGMI", "SELF", 1), ["is 'SELF'", "XGMI or PCIE"]),
    ],
)
def test_amd_nonsense(text: str, words: list[str], amd: Import) -> None:
    with pytest.raises(ImportFormatError) as caught:
        amd(text)
    for word in words:
        assert word in str(caught.value)


FURTHER = {
    "CACHE COHERANCY": square("SELF", "C", "NC"),
    "ATOMICS": square("SELF", "64,32", "N/A"),
    "DMA": square("SELF", "T", "F"),
    "BI-DIRECTIONAL": square("SELF", "T", "F"),
}


def test_amd_excerpts_with_further_tables(amd: Import) -> None:
    """Of any tables in any order, with surrounding lines of a terminal."""
    rng = random.Random(14)
    every = {**TABLES, **FURTHER}
    for _ in range(40):
        titles = rng.sample(sorted(every), rng.randint(1, len(every)))
        text = amd_text({title: every[title] for title in titles})
        if rng.random() < 0.5:
            text = text.replace("\n\n", "\n").replace("TABLE:", rng.choice(["TABLE:", "TABLE"]))
        if rng.random() < 0.5:
            text = (
                f"[root@host ~]# amd-smi topology\n{text}\n\n[root@host ~]# rocm-smi\n{BDF[0]} …\n"
            )
        assert AMD_SMI.recognises(text)
        if "LINK TYPE" in titles:
            links = amd(text).machine.links
            assert len(links) == (14 if {"HOPS", "WEIGHT"} & set(titles) else 30)
            continue
        with pytest.raises(ImportFormatError) as caught:
            amd(text)
        assert f"no LINK TYPE TABLE, but only {named(titles)}" in str(caught.value)


def amd_json(titles: Sequence[str], *, older: bool = False) -> list[dict[str, Any]]:
    """The output of ``amd-smi topology --json`` for some tables."""
    new, old = zip(*(amd_module._FIELDS[title] for title in titles), strict=True)
    if older:
        return [
            {
                "gpu": a,
                "link_accessibility": {f"gpu_{b}": "ENABLED" for b in SIX},
                **{
                    field: {f"gpu_{b}": TABLES[title][a][b] for b in SIX}
                    for field, title in zip(old, titles, strict=True)
                },
            }
            for a in SIX
        ]
    return [
        {
            "gpu": a,
            "bdf": BDF[a],
            "links": [
                {
                    "gpu": b,
                    "bdf": BDF[b],
                    "link_status": "ENABLED",
                    **{f: TABLES[t][a][b] for f, t in zip(new, titles, strict=True)},
                    "coherent": "C",
                }
                for b in reversed(SIX)
            ],
        }
        for a in SIX
    ]


FIELDS = list(amd_module._FIELDS)


@pytest.mark.parametrize("titles", [FIELDS, ["LINK TYPE"], ["HOPS", "LINK TYPE"]])
def test_amd_json_equals_the_tables(titles: list[str], amd: Import) -> None:
    right = amd(amd_text({title: TABLES[title] for title in titles}))
    new = json.dumps(amd_json(titles), indent=4)
    old = amd(json.dumps(amd_json(titles, older=True)))
    wrapped = json.dumps({"gpu_data": amd_json(titles)})
    for text in (new, f"[root@host ~]# amd-smi topology --json\n{new}\n[root@host ~]# \n", wrapped):
        assert AMD_SMI.recognises(text)
        assert amd(text) == right
    assert old.machine == right.machine
    assert old.names == tuple(f"GPU{g}" for g in SIX)


def without_links(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    del data[2]["links"][0]
    return data


def otherwise(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    data[2]["links"][0]["link_type"] = "PCIE"
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], ["no list of GPUs", "`amd-smi topology --json`"]),
        ({"a": 1}, ["a GPU's number is None"]),
        ([{"gpu": 0, "links": []}], ["GPU 0 is the only GPU"]),
        ([{"gpu": 0}, {"gpu": 0}], ["GPU 0 occurs twice"]),
        ([{"gpu": 0, "links": 3}, {"gpu": 1}], ["GPU 0: its links are 3"]),
        (
            [{"gpu": a, "links": [{"gpu": 1 - a}]} for a in range(2)],
            ["no link_type of any link to another GPU, nor any other field"],
        ),
        (amd_json(["HOPS", "WEIGHT"]), ["no link_type of any link", "only num_hops and weight"]),
        (without_links(amd_json(FIELDS)), ["GPU 2 has no link_type for its link to GPU 5", "each"]),
        (otherwise(amd_json(FIELDS)), [f"to {BDF[2]} is XGMI, but {BDF[2]} to {BDF[5]} is PCIE\n"]),
    ],
)
def test_amd_json_nonsense(data: object, words: list[str], amd: Import) -> None:
    with pytest.raises(ImportFormatError) as caught:
        amd(json.dumps(data))
    for word in words:
        assert word in str(caught.value)


def test_each_recognises_its_own() -> None:
    assert ROCM_SMI.recognises(rocm_text(TITLES))
    assert not ROCM_SMI.recognises(amd_text(TABLES))
    assert AMD_SMI.recognises(amd_text(TABLES))
    assert not AMD_SMI.recognises(rocm_text(TITLES))
