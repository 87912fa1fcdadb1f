"""The spec snippets of README and the language reference parse and expand."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from syncoll.plugins import PluginManager
from syncoll.spec import CheckReport, SpecLibrary, check_file

from .conftest import PAGES, WALKED, blocks, name_of, spans

EXPANDED = {
    "my-machine.syncoll": ["quad"],
    "my-collectives.syncoll": ["shift", "shift(by=2)", "Own"],
    "language.syncoll": [
        *(
            "quad(6)",
            "quad(4, 1, 2, bandwidth=3)",
            "ladder(3)",
            "timed_pod(4)",
            "pod(8)",
            "pod(6, cards=3)",
        ),
        *("sharp(4)", "sharp(4, nvls=false)", "sharp_by_bounds(3)"),
        *("shift", "shift(by=3)", "gather_up", "gather_up(root=1)", "spread", "sum_up", "header"),
        *("Scattered", "Root(2)", "Some", "Diagonal", "Other"),
        *("exchange(TOKENS)", "boards", "rows(2)", "both", "tensor_and_data"),
        *("same_bits", "same_bits_in_boxes", "together"),
        *("survivors(1)", "others", "after_failure", "overnight"),
    ],
}
NOT_EXPANDED = {"TEN", "double", "TOKENS"}


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary([record.folder for record in records])


@functools.cache
def checked(file: Path, library: SpecLibrary) -> CheckReport:
    """Every definition is tried, which takes long for all of a page."""
    return check_file(str(file), library)


@pytest.mark.parametrize("file", EXPANDED)
def test_a_file_is_right_and_every_definition_is_tried(
    file: str, folder: Path, library: SpecLibrary
) -> None:
    report = checked(folder / file, library)
    assert not report.errors
    defined = {definition.name for definition in report.definitions} - NOT_EXPANDED
    assert defined == {re.split(r"\W", name)[0] for name in EXPANDED[file]}


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, names in EXPANDED.items() for name in names]
)
def test_a_definition_expands(
    file: str, name: str, folder: Path, library: SpecLibrary, tmp_path: Path
) -> None:
    reference = f"{folder / file}:{name}"
    plain = re.split(r"\W", name)[0]
    report = checked(folder / file, library)
    kind = next(d.kind for d in report.definitions if d.name == plain)
    if kind == "topology":
        assert library.topology(reference).links
    elif kind == "collective":
        collective = library.collective(reference)
        chunks = next(c for c in range(1, 17) if collective.admits(4, c))
        assert collective.tabulate(4, chunks).post.any()
    elif kind == "relation":
        user = tmp_path / "user.syncoll"
        user.write_text(
            f'import "{folder / file}"\n'
            f"collective user {{ irregular  chunks P * C  pre {name}  post {name} }}\n",
            encoding="utf-8",
        )
        assert library.collective(f"{user}:user").tabulate(4, 2).post.any()
    else:
        assert kind == "search"  # run in test_commands


def test_every_spec_block_is_tested() -> None:
    """Snippets of the plugins page are in the package that its test installs; snippets of walked
    pages are in files that the commands there read.
    """
    for page in PAGES:
        for block in blocks(page):
            if block.language != "python" and re.match(
                r"(#.*\n)*\s*(topology|collective|relation|search|import|let) ", block.text
            ):
                assert block.language == "syncoll", f"{page.name}:{block.line}"
            if block.language != "syncoll" or name_of(page) == "language.md":
                continue
            if page in WALKED:
                assert block.file, f"{block.page}:{block.line}"
            else:
                of_plugins = "plain-for-syncoll/", "weak.syncoll"
                assert block.file in EXPANDED or block.file.startswith(of_plugins)


def test_definitions_in_running_text(library: SpecLibrary, tmp_path: Path) -> None:
    """As in `collective reducescatter = inverse allgather`."""
    seen = 0
    for page in PAGES:
        for _, span in spans(page):
            if re.match(r"(collective|relation) \w+.* = ", span):
                path = tmp_path / f"{seen}.syncoll"
                path.write_text(span, encoding="utf-8")
                assert not check_file(str(path), library).errors, span
                seen += 1
    assert seen >= 2
