"""The files that a release needs exist, and no file names a private place."""

from __future__ import annotations

import re
import subprocess

import pytest

from .conftest import PAGES, ROOT

FILES = sorted(
    subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")[:-1]
)

# Written in pieces, so that this file does not match itself.
PRIVATE = {
    "a path of somebody's machine": re.compile(
        r"(?<![\w.~$}>-])/" + r"(?:home|Users|root|work|workspace|mnt|opt|srv)/[A-Za-z0-9._-]+"
        r"|[A-Z]:\\Users" + r"\\"
    ),
    "a path of somebody's virtual environment": re.compile(r"/tmp/" + r"\w*venv"),
    "the host of a package registry": re.compile(
        r"\b(?:pypi\." + r"org|pythonhosted\." + r"org|anaconda\." + r"org|npmjs\." + r"(?:org|com)"
        r"|arti" + r"factory|nexus\.|dev" + r"pi)",
        re.IGNORECASE,
    ),
    "an index of packages": re.compile(r"--(?:extra-)?index" + r"-url|PIP_INDEX" + r"_URL"),
}


def test_there_are_files() -> None:
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"} <= set(FILES)
    assert len(FILES) > 100


@pytest.mark.parametrize("what", PRIVATE)
def test_no_file_names_a_private_place(what: str) -> None:
    found = []
    for name in FILES:
        path = ROOT / name
        if not path.is_file():  # deleted, but not yet from the index
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if PRIVATE[what].search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a path of somebody's machine", "cd /" + "home/someone/project"),
        ("a path of somebody's machine", 'open("/' + 'Users/someone")'),
        ("a path of somebody's virtual environment", "/tmp/" + "venv/bin/python"),
        ("the host of a package registry", "https://pypi." + "org/simple"),
        ("an index of packages", "pip install --index" + "-url x"),
    ],
)
def test_it_would_be_found(what: str, line: str) -> None:
    assert PRIVATE[what].search(line)


def test_the_changelog_has_a_line_for_each_entry() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    _, *versions = re.split(r"^## ", text, flags=re.MULTILINE)
    assert versions
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for version in versions:
        head, *lines = version.splitlines()
        assert re.fullmatch(r"\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)\]?", head), head
        kinds = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
        assert set(kinds) <= allowed
        assert len(set(kinds)) == len(kinds)
        for line in lines:
            assert not line or line.startswith(("### ", "- ")) or line.endswith(":"), line
            assert len(line) <= 110, line


def test_links_between_pages_lead_somewhere() -> None:
    """Those to pages that are made when the site is built are checked by the build."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and "reference/" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
