"""Duties of the core, which importers can leave to it."""

from __future__ import annotations

import io
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.errors import ImportFormatError, ModelError, OptionError, PluginError
from syncoll.importing import (
    LARGEST_FILE,
    Machine,
    TextError,
    import_machine,
    import_spec,
    parse_rate,
    rate_option,
    read_description,
)
from syncoll.model import Fabric, Topology
from syncoll.plugins import Imported, ImporterRecord, Option, Options


class Given:
    """An importer with a fixed answer."""

    def __init__(self, answer: Imported | Exception) -> None:
        self.answer = answer

    def read(self, text: str, label: str, options: Options) -> Imported:
        del text, label
        assert set(options) == {"link"}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def record(answer: Imported | Exception, name: str = "given") -> ImporterRecord:
    return ImporterRecord(
        name,
        "",
        lambda: Given(answer),
        lambda text: text.startswith(name),
        (Option("link", "25", ""),),
    )


def ring(length: int, nodes: int = 0) -> Fabric:
    links = [(node, (node + 1) % length, 1) for node in range(length)]
    return Fabric.from_links("ring", nodes or length, 0, links)


def refusal(answer: Imported | Exception, text: str = "given") -> str:
    with pytest.raises(ImportFormatError) as caught:
        import_machine(record(answer), text, "topo.txt")
    return str(caught.value)


def test_separate_parts_are_listed_by_name() -> None:
    names = ("a", "b", "c", "d", "e")
    assert refusal(Imported(ring(3, 5), names=names)) == (
        "topo.txt: no links join all compute nodes; these parts are separate: a, b, c | d | e"
    )
    topology = Topology.from_links("t", 2, {(0, 1): 1})
    assert "separate: node 0 | node 1" in refusal(Imported(topology))


def test_a_way_in_one_direction_is_not_enough() -> None:
    links = [(0, 3, 1), (3, 1, 1), (1, 0, 1), (3, 2, 1)]
    assert "node 0, node 1 | node 2" in refusal(Imported(Fabric.from_links("f", 3, 1, links)))
    whole = Fabric.from_links("f", 3, 1, [*links, (2, 0, 1)])
    import_machine(record(Imported(whole)), "given", "topo.txt")


def test_one_node_is_no_machine() -> None:
    assert "one compute node, GPU7" in refusal(Imported(Fabric("f", 1, 0, ()), names=("GPU7",)))


def test_too_large() -> None:
    assert "at most 8192" in refusal(Imported(ring(8193)))
    links = [(a, b, 10**6 + 320 * a + b) for a in range(320) for b in range(a)]
    irregular = Fabric.from_links("irregular", 320, 0, links, both_ways=True)
    with pytest.raises(ImportFormatError, match="KiB; at most 2048"):
        import_spec(record(Imported(irregular)), "given", "topo.txt")


def test_numbers_without_room_in_the_language() -> None:
    tiny = Fabric.from_links("f", 2, 0, [(0, 1, Fraction(1, 3**60))], both_ways=True)
    with pytest.raises(ImportFormatError, match=r"topo\.txt: as a spec, this machine is refused"):
        import_spec(record(Imported(tiny)), "given", "topo.txt")


def test_errors_of_an_importer_name_the_file() -> None:
    assert refusal(RecursionError()) == (
        "topo.txt: it is nested too deeply for a description of a machine"
    )
    assert "topo.txt: fabric f has 0 compute nodes" in refusal(
        ModelError("fabric f has 0 compute nodes")
    )


def test_a_wrong_number_of_names_blames_the_plugin() -> None:
    for imported in (Imported(ring(3), names=("a",)), Imported(ring(3), switch_names=("a",))):
        with pytest.raises(PluginError, match="names for"):
            import_machine(record(imported), "given", "topo.txt")


def test_a_hint_at_the_importer_that_recognises_the_text() -> None:
    others = {n: record(ImportFormatError("x"), n) for n in ("given", "other", "third")}
    for text, hint in (("other …", "\nit looks like a file for the importer other"), ("?", "")):
        with pytest.raises(ImportFormatError) as caught:
            import_machine(others["given"], text, "topo.txt", others=others)
        assert str(caught.value) == f"x{hint}"
    with pytest.raises(ImportFormatError) as caught:  # its own text, but broken
        import_machine(others["given"], "given", "topo.txt", others=others)
    assert str(caught.value) == "x"


def test_options_are_checked() -> None:
    right = record(Imported(ring(3)))
    with pytest.raises(OptionError, match="importer given has no option 'lnk'; it has: link"):
        import_machine(right, "given", "topo.txt", {"lnk": "3"})
    text = import_spec(right, "given", "topo.txt", {"link": "3"}, name="mine")
    assert text.startswith("# Imported from topo.txt (importer given, link=3).\ntopology mine {")


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25", 25), ("25GB/s", 25), (" 20.6 GB/s ", Fraction("20.6")), ("200Gb/s", 25),
        ("200 Gbps", 25), ("0.4TB/s", 400), ("500MB/s", 0.5), ("8Mb/s", Fraction("0.001")),
    ],
)  # fmt: skip
def test_rates(text: str, rate: Fraction) -> None:
    assert parse_rate(text) == rate
    assert rate_option({"link": text}, "link", "importer x") == rate


@pytest.mark.parametrize(
    "text", ["", "0", "0.0GB/s", "-1", "1e3", "nan", "25 XB/s", "1/2", "9" * 12]
)
def test_no_rates(text: str) -> None:
    assert parse_rate(text) is None
    with pytest.raises(OptionError, match="option link of importer x"):
        rate_option({"link": text}, "link", "importer x")


def test_parallel_cables_add_up() -> None:
    machine = Machine()
    machine.node(0, "A")
    machine.node(1, "B")
    machine.join(0, 1, Fraction(2), "a")
    machine.join(1, 0, Fraction(3), "b", both_ways=False)
    machine.join(0, 1, Fraction(1, 2), "a")
    links = Fabric.of(machine.imported().machine).links
    assert [(x.source, x.destination, x.bandwidth, x.label) for x in links] == [
        (0, 1, Fraction(5, 2), "a"),
        (1, 0, Fraction(11, 2), "a + b"),
    ]


def test_an_error_shows_the_line() -> None:
    error = TextError("wrong", "right", 3, "a\x1b[4m\tb  ")
    assert str(error.of("t.txt")) == "t.txt:3: wrong\n3 | a [4m b\nexpected right"
    assert str(TextError("wrong").of("t.txt")) == "t.txt: wrong"
    assert len(str(TextError("wrong", line=1, text="x" * 10**6).of("t.txt"))) < 300


# Files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("GPU0 →\r\nGPU1\rGPU2\n".encode(encoding))
    assert read_description(str(tmp_path / "f")) == "GPU0 →\nGPU1\nGPU2\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf \n", "it is empty"),
        (b"a\nb\xff", ":2: byte 0xff is not utf-8 text"),
        (b"\xef\xbb\xbfa\nb\xff", ":2: byte 0xff is not utf-8 text"),
        (b"\xff\xfeabc", "is not utf-16-le text"),
        (b"a\n\0", ":2: a NUL byte"),
        (b" " * (LARGEST_FILE + 1), "larger than 16 MiB"),
    ],
    ids=["empty", "blank", "latin", "marked", "odd", "nul", "large"],
)
def test_no_text(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ImportFormatError) as caught:
        read_description(str(tmp_path / "f"))
    assert words in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="does not exist"):
        read_description(str(tmp_path / "f"))
    with pytest.raises(ImportFormatError, match="is a folder"):
        read_description(str(tmp_path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"GPU0\n")))
    assert read_description("-") == "GPU0\n"
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ImportFormatError, match="standard input is closed"):
        read_description("-")
