"""Mutated texts end in a machine or in one clear error, and soon; real dumps import."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import import_spec, read_description
from syncoll.plugins import ImporterRecord
from syncoll_smi import AMD_SMI, NVIDIA_SMI, ROCM_SMI

from .conftest import nvidia_text, uniform
from .test_amd import FIELDS, TABLES, TITLES, amd_json, amd_text, rocm_text
from .test_nvidia import MESH

DUMPS = Path(__file__).parents[3] / "shared" / "reference" / "topology-dumps"
RECORDS = {record.name: record for record in (NVIDIA_SMI, ROCM_SMI, AMD_SMI)}
TEXTS = {
    "mesh": (NVIDIA_SMI, nvidia_text(MESH, nics={"NIC0": ["PIX"] * 8})),
    "switch": (NVIDIA_SMI, nvidia_text(uniform(8, "NV12"))),
    "pcie": (NVIDIA_SMI, nvidia_text(uniform(4, "PXB"))),
    "rocm": (ROCM_SMI, rocm_text(TITLES, numa=[0, 0, 1, 1, 2, 2])),
    "amd": (AMD_SMI, amd_text(TABLES)),
    "json": (AMD_SMI, json.dumps(amd_json(FIELDS), indent=1)),
}
BITS = [
    "\n",
    "\t",
    " ",
    "X",
    "NV9",
    "SYS",
    "GPU0",
    "0",
    "9999999999",
    "=",
    "\x1b[",
    "N/A",
    ":",
    "\0",
]


def mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.choice([0, 1, 3, 40]))
        c = rng.randrange(len(text) + 1)
        lines = text.split("\n")
        rng.shuffle(lines)
        text = rng.choice(
            [
                text[:a] + text[b:],
                text[:a] + rng.choice(BITS) + text[b:],
                text[:a] + text[b:c] + text[a:],
                text[:a] + chr(rng.randrange(1, 0x2100)) + text[a:],
                "\n".join(lines) if rng.random() < 0.1 else text[:a],
            ]
        ) or "x"  # fmt: skip
    return text


@pytest.mark.parametrize("name", list(TEXTS))
def test_mutations(name: str) -> None:
    record, text = TEXTS[name]
    rng = random.Random(name)
    imported = refused = 0
    for _ in range(150):
        broken = mutated(text, rng)
        began = time.process_time()
        message = ""
        try:
            import_spec(record, broken, "t.txt", {}, others=RECORDS)
            imported += 1
        except ImportFormatError as error:
            message = str(error)
            refused += 1
        assert time.process_time() - began < 5
        assert not message or message.startswith("t.txt")
        assert len(message) < 1500
    assert min(imported, refused) > 5


@pytest.mark.parametrize("record", list(RECORDS.values()), ids=list(RECORDS))
@pytest.mark.parametrize(
    "text",
    [
        "GPU0 " * 200_000,
        "GPU0\t" + "\n".join(f"GPU{i} X" for i in range(50_000)),
        " " * 500_000 + "GPU0",
        ">|" * 300_000,
        "\x1b[" * 200_000,
        "\x1b]" * 200_000,
        "GPU0 X \n" * 50_000,
        "Link Type between two GPUs\n" * 20_000,
        "LINK TYPE TABLE:\n\n" * 20_000,
        "=" * 500_000,
        "GPU[" * 100_000,
        "A " * 300_000,
        "[" * 30_000,
        "{\n" * 20_000,
        "[4m" * 30_000,
        "\\x1b" * 30_000,
    ],
    ids=range(16),
)
def test_large_nonsense_is_refused_soon(record: ImporterRecord, text: str) -> None:
    began = time.process_time()
    with pytest.raises(ImportFormatError):
        import_spec(record, text, "t.txt", {}, others=RECORDS)
    assert time.process_time() - began < 5


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the dumps are not next to the repository")
def test_real_dumps() -> None:
    files = sorted([*(DUMPS / "nvidia_smi").iterdir(), *(DUMPS / "rocm_smi").iterdir()])
    assert len(files) >= 12
    for path in files:
        text = read_description(str(path))
        right = [record for record in RECORDS.values() if record.recognises(text)]
        assert len(right) == 1, path
        for record in RECORDS.values():
            if record is right[0] and "TRUNCATED" not in path.name:
                assert f"importer {record.name}" in import_spec(record, text, path.name)
                continue
            words = "is incomplete" if record is right[0] else f"for the importer {right[0].name}"
            with pytest.raises(ImportFormatError, match=words):
                import_spec(record, text, path.name, others=RECORDS)
