"""The help has examples, and starts fast."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from syncoll.cli.exits import Exit
from syncoll.cli.main import build_parser

Run = Callable[..., Any]

COMMANDS = ["pareto", "search", "solve", "bounds", "verify", "show", "spec", "explain", "plugins"]
COMMANDS += ["schema", "run", "forest", "export", "import", "plan", "check", "store"]
VERBS = ["spec check", "spec list"]

HEAVY = ["ortools", "highspy", "z3", "pysat", "gurobipy", "numpy", "networkx", "lark", "rich"]
HEAVY += ["jsonschema", "msgspec", "pluggy", "scipy"]


def test_every_command_is_listed_with_one_line(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    for command in COMMANDS:
        assert re.search(rf"^    {command} +\w.+$", result.out, re.MULTILINE)
    for code in Exit:
        assert re.search(rf"\b{int(code)}\b", result.out), "every exit code is explained"
    assert "quote" in result.out


@pytest.mark.parametrize("command", [*COMMANDS, *VERBS])
def test_help_has_an_example_and_explains_every_option(command: str, run: Run) -> None:
    result = run(*command.split(), "--help")
    assert result.code == 0
    assert result.err == ""
    if command != "spec":  # its verbs have them
        assert re.search(rf"^  syncoll {command} ?", result.out, re.MULTILINE), "an example"
    assert max(len(line) for line in result.out.splitlines()) <= 100
    parser: Any = build_parser()
    for name in command.split():
        parser = parser._subparsers._group_actions[0].choices[name]
    for action in parser._actions:
        assert action.help, action.option_strings or action.dest


@pytest.mark.parametrize("command", ["pareto", "search", "solve", "explain"])
def test_defaults_are_shown(command: str, run: Run) -> None:
    text = " ".join(run(command, "--help").out.split())
    for default in (
        "usual one (default: auto)",
        "best installed ones (default: auto)",
        "(default: table)",
        "(default: 0)",
    ):
        assert default in text


@pytest.mark.parametrize("command", ["pareto", "solve", "verify", "spec check"])
def test_exit_codes_are_in_the_help(command: str, run: Run) -> None:
    assert "xit code" in run(*command.split(), "--help").out


def test_examples_of_the_help_can_be_parsed(run: Run) -> None:
    import shlex

    parser = build_parser()
    seen = 0
    for command in ["", *COMMANDS, *VERBS]:
        for line in run(*command.split(), "--help").out.splitlines():
            if match := re.match(r"^  syncoll (\S.*?)(?:  .*)?$", line):
                words = shlex.split(match[1].partition(" > ")[0])
                assert parser.parse(words).command == words[0]
                seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        *([verb, "--help"] for verb in ("pareto", "solve", "bounds", "simulate")),
        ["show"],
        ["frobnicate"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from syncoll.cli.main import main\n"
        "try:\n"
        f"    main({arguments})\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "print(len(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    *_, modules, count = done.stderr.splitlines()
    assert "syncoll" in modules.split()
    assert not set(HEAVY) & set(modules.split())
    assert int(count) < 250


def test_declarations_load_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from syncoll.verbs.declaration import verbs\n"
        "each = [one for verb in verbs() for one in verb.parts or [verb]]\n"
        "missing = [(verb.name, p.name) for verb in each for p in verb.parameters if not p.text]\n"
        "assert len(each) > 20 and not missing, missing\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not set(HEAVY) & set(done.stdout.split())


@pytest.mark.parametrize(
    "arguments", [["plugins"], ["spec", "list"], ["show", "dgx1"], ["bounds", "ring(3)", "gather"]]
)
def test_commands_that_solve_nothing_import_no_solver(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from syncoll.cli.main import main\n"
        f"assert main({arguments}) == 0\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    solvers = {"ortools", "z3", "pysat"}
    solvers |= set() if arguments[0] == "bounds" else {"highspy"}  # its linear programs
    solvers |= set() if arguments[0] == "plugins" else {"gurobipy"}  # its licence is queried
    assert not solvers & set(done.stderr.split())


def test_version(run: Run) -> None:
    import syncoll

    assert run("--version").out == f"syncoll {syncoll.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solv"], ["'solv'", "did you mean solve?"]),
        (["spec", "chek", "x"], ["did you mean check?", "syncoll spec --help"]),
        (["schema", "frontiers"], ["did you mean frontier?"]),
        (["pareto", "dgx1", "allgather", "--max-step", "3"], ["--max-step;", "--max-steps?"]),
        (["pareto", "dgx1", "allgather", "--max-step=3"], ["did you mean --max-steps?"]),
        (["pareto", "ring", "8", "allgather"], ["'allgather' is one argument too many", "quotes"]),
        (["solve", "dgx1", "allgather"], ["-C/--chunks, -S/--steps, -R/--rounds"]),
        (["pareto", "dgx1", "allgather", "--strategy", "papers"], ["did you mean paper?"]),
        (["show", "dgx1", "--format", "xml"], ["choose from table, json"]),
        (["--frobnicate"], ["no option --frobnicate"]),
    ],
)
def test_usage_errors_are_two_lines_that_help(
    arguments: list[str], words: list[str], run: Run
) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 2
    for word in words:
        assert word in result.err
    assert "--help`" in result.err


def test_without_a_command_all_commands_are_listed(run: Run) -> None:
    for arguments in ([], ["spec"]):
        result = run(*arguments)
        assert (result.code, result.err) == (2, "")
        assert result.out == run(*arguments, "--help").out


def test_options_cannot_be_abbreviated(run: Run) -> None:
    result = run("solve", "dgx1", "allgather", "-C", "1", "--step", "2", "-R", "2")
    assert result.code == 2
    assert "-S/--steps" in result.err
