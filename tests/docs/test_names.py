"""The pages name every plugin and definition, and all of their names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from syncoll.plugins import PluginManager
from syncoll.plugins.record import Record
from syncoll.spec import SpecLibrary, limits

from .conftest import PAGES, ROOT, blocks, spans, written_files

MANAGER = PluginManager.discover()
CODE = "\n".join(
    [span for page in PAGES for _, span in spans(page)]
    + [block.text for page in PAGES for block in blocks(page)]
)


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    record = MANAGER.spec_libraries["syncoll"]
    return SpecLibrary([record.folder])


def ours(records: dict[str, object]) -> list[str]:
    """The names of the plugins that come with syncoll."""
    return [
        name
        for name, record in records.items()
        if MANAGER.provenance(record).distribution == "syncoll"  # type: ignore[arg-type]
    ]


def test_records() -> None:
    table = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+Record)` \|", table, re.MULTILINE)
    kinds = {one.__name__ for one in Record.__subclasses__()}
    assert len(kinds) == 7
    assert sorted(rows) == sorted(kinds)


def rows_of(section: str) -> list[str]:
    """The first column of a section's table on the page of solvers, sorted."""
    text = (ROOT / "docs" / "solvers.md").read_text("utf-8")
    _, _, rest = text.partition(f"## {section}\n")
    return sorted(re.findall(r"^\| `(\w+)` \|", rest.partition("\n## ")[0], re.MULTILINE))


def test_backends() -> None:
    assert rows_of("Backends") == sorted(ours(dict(MANAGER.backends)))


def test_encodings() -> None:
    assert rows_of("Encodings") == sorted(ours(dict(MANAGER.encodings)))


@pytest.mark.parametrize("kind", ["topology", "collective", "relation"])
def test_pages_name_every_definition_of_the_library(kind: str, library: SpecLibrary) -> None:
    definitions = library.names(kind)  # type: ignore[arg-type]
    assert definitions
    missing = [d.name for d in definitions if not re.search(rf"\b{d.name}\b", CODE)]
    assert not missing


def test_names_with_arguments_can_be_used(
    library: SpecLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `ring(8, bandwidth=3/2)`, `broadcast(root=3)`."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "tutorials" / "moe.md"
    (tmp_path / "tokens.csv").write_text(written_files(page)["tokens.csv"], encoding="utf-8")
    topologies = {d.name for d in library.names("topology")}
    collectives = {d.name for d in library.names("collective")}
    seen = set()
    for page in PAGES:
        for _, span in spans(page):
            match = re.fullmatch(r"(\w+)\([^()…]*\)", span)
            if match is None:
                continue
            if match[1] in topologies:
                assert library.topology(span).num_nodes > 0
                seen.add(span)
            if match[1] in collectives:
                collective = library.collective(span)
                admitted = [c for c in range(1, 33) if collective.admits(8, c)]
                assert len(collective.tabulate(8, admitted[0]).post)
                seen.add(span)
    assert len(seen) >= 5


def test_limits_of_the_language() -> None:
    text = (ROOT / "docs" / "language.md").read_text("utf-8")
    section = " ".join(text[text.index("## Limits") :].split())
    assert f"{limits.MAX_NODES} nodes" in section
    assert f"2^{limits.MAX_LINKS.bit_length() - 1} links" in section
    assert f"2^{limits.MAX_CHUNKS.bit_length() - 1} chunks" in section
    assert f"{limits.MAX_CELLS // 1_000_000} million relation cells" in section
    assert f"files of {limits.MAX_FILE_BYTES >> 20} MiB" in section
    assert f"{limits.MAX_IMPORTS} imports" in section
