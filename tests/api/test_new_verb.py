"""A verb is a folder: the shell, Python and the reference pages find it there."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import syncoll
import syncoll.verbs
from syncoll import lazy
from syncoll.cli.main import main
from syncoll.errors import UsageError

HOOKS = Path(__file__).parents[2] / "docs" / "hooks.py"

DECLARATION = '''"""Counts the links of a machine.

  syncoll links "ring(4)"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from syncoll.session.settings import SettingsOptions
from syncoll.verbs.asking import Where, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.pages import Page
    from syncoll.verbs.result import Shown

SHELL = Shell({"at_least": ("--at-least N", "smaller numbers are refused")})


@verb
def links(
    topology: Where,
    *,
    both_ways: bool = False,
    at_least: int | None = None,
    unit: Literal["link", "lane"] = "link",
    **settings: Unpack[SettingsOptions],
) -> Shown:
    """The number of links of a machine.

    Args:
        both_ways: one link in `topology` for both ways.
        at_least: of links; None for any number.
        unit: the noun of the answer.
        settings: see `Settings`.
    """
    number = len(session_for(settings).topology(topology).links) // (2 if both_ways else 1)
    return Shown(Page().text(f"{number} {unit}s"), lambda: {"links": number})
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "__init__.py").write_text(DECLARATION)
    monkeypatch.setattr(syncoll.verbs, "__path__", [*syncoll.verbs.__path__, str(tmp_path)])
    yield
    sys.modules.pop("syncoll.verbs.links", None)
    vars(syncoll.verbs).pop("links", None)


def test_shell_lists_and_runs_a_new_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert re.search(r"^ +links +the number of links of a machine$", capsys.readouterr().out, re.M)
    assert main(["links", "ring(4)"]) == 0
    assert capsys.readouterr().out == "8 links\n"
    assert main(["links", "ring(4)", "--both-ways", "--unit", "lane"]) == 0
    assert capsys.readouterr().out == "4 lanes\n"
    assert main(["links", "ring(4)", "--format", "json"]) == 0
    assert '"links": 8' in capsys.readouterr().out


def test_help_of_a_new_verb_comes_from_its_declaration(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["links", "--help"])
    help_ = " ".join(capsys.readouterr().out.split())
    for text in (
        "Counts the links of a machine.",
        'TOPOLOGY such as dgx1 or "ring(8)", FILE:NAME',
        "--both-ways one link in --topology for both ways",
        "--at-least N smaller numbers are refused",
        "--unit {link,lane} the noun of the answer (default: link)",
        "solver: --encoding NAME",
    ):
        assert text in help_


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["links", "rng(4)"], "there is no topology `rng`"),
        (["links", "ring(4)", "--units", "lane"], "did you mean --unit?"),
        (["links", "ring(4)", "--unit", "cable"], "choose from link, lane"),
    ],
)
def test_shell_refuses_wrong_arguments_of_a_new_verb(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: Any = main(words)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert error in capsys.readouterr().err


def test_python_has_a_new_verb() -> None:
    links: Callable[..., Any] = syncoll.links  # type: ignore[attr-defined]
    assert str(links("ring(3)", both_ways=True)) == "3 links"
    with pytest.raises(UsageError, match="links has no keyword at_lest; did you mean at_least"):
        links("ring(3)", at_lest=3)
    with pytest.raises(AttributeError, match="no attribute 'result'"):
        _ = syncoll.result  # type: ignore[attr-defined]


def test_first_calls_of_a_verb_in_two_threads_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    links: Callable[..., Any] = syncoll.links  # type: ignore[attr-defined]
    both, slow = Barrier(2), lazy.import_names

    def import_names(module: str) -> None:
        both.wait(timeout=30)
        slow(module)

    monkeypatch.setattr("syncoll.verbs.asking.import_names", import_names)
    with ThreadPoolExecutor(2) as threads:
        assert list(map(str, threads.map(links, ["ring(3)", "ring(4)"]))) == ["6 links", "8 links"]


def test_reference_pages_have_a_new_verb() -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", HOOKS)
    assert spec is not None
    assert spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    assert "## syncoll links\n" in hooks.commands_page()
    page = hooks.python_page()
    assert "::: syncoll.verbs.links.links\n" in page
    own = page.partition("::: syncoll.verbs.links.links\n")[2].partition(":::")[0]
    assert "| `memory_limit` | `int or str or None` | of all processes" in own
