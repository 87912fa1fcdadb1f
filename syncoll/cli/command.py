"""Commands: the arguments of a verb, and its run.

The arguments are the parameters of the verb and the options of its `Shell`.  Its module ``shell``
may have ``more(parser)``, which adds arguments, and ``run(arguments)``, in place of `run`.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from syncoll.cli.arguments import STANDARD_OUTPUT
from syncoll.cli.exits import Exit
from syncoll.cli.options import Usage, add, add_parameter, name_in
from syncoll.cli.output import note, print_json, print_page
from syncoll.values import picked
from syncoll.verbs.declaration import Parameter, Verb

_USAGES: dict[str, Usage] = {
    "source": ("source FILE", "a frontier, an answer or an algorithm, saved with -o"),
    "classics": ("--classics NAMES = all", "all, none, or names with commas between them"),
    "progress": (
        "--progress auto|live|plain|none",
        "on standard error (default: auto: live on a terminal, else none)",
    ),
    "in_place": "--in-place, --inplace",
    "encoding_options": (
        "--encoding-option NAME=VALUE ...",
        "an option of the encoding; `syncoll plugins --options` lists them; repeatable",
    ),
    "backend_options": (
        "--backend-option NAME=VALUE ...",
        "an option of the backend, as NAME or cpsat.NAME; `syncoll plugins --options` lists them; "
        "repeatable",
    ),
    "options": "",  # of exporters and importers: flags of their own
}

_FORMAT = {"--format table|json": "json prints one object on standard output and nothing else"}

_GROUPS = {"encoding": "solver", "store": "answers"}

_KINDS = {"Where": "topology", "What": "collective"}

_FILES: dict[str, tuple[str, Callable[[Any, Any], object]]] = {
    "output": ("saved in", lambda result, path: result.save(path)),
    "table": ("written to", lambda result, path: result.save_table(path)),
    "plot": ("drawn in", lambda result, path: result.plot().save(path)),
    "report": ("report in", lambda result, path: result.report(path)),
}
"""By option the words of its note, and a function that writes the file of a result."""


def add_verb(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Adds the arguments of a verb."""
    shell, actions = verb.shell, verb.actions
    usages, groups = _USAGES | dict(shell.usages), _GROUPS | dict(shell.groups)
    title, made = "", dict[str, argparse._ActionsContainer]({"": parser})

    def adding(name: str) -> argparse._ActionsContainer:
        """The group of an argument, which is that of the one before unless `groups` has it."""
        nonlocal title
        title = groups.get(name, title)
        if title not in made:
            made[title] = parser.add_argument_group(title)
        return made[title]

    def add_all(parameters: list[Parameter]) -> None:
        for one in parameters:
            add_parameter(adding(one.name), one, usages.get(one.name))

    add_all([one for one in verb.parameters if not one.is_setting])
    for usage, text in {**shell.options, **(_FORMAT if shell.formats else {})}.items():
        add(adding(name_in(usage)), {usage: text})
    if more := getattr(actions, "more", None):
        more(parser)
    add_all([one for one in verb.parameters if one.is_setting])
    types = {one.name: one.type.partition(" ")[0] for one in verb.parameters}
    kinds = {name: _KINDS[kind] for name, kind in types.items() if kind in _KINDS}
    parser.set_defaults(**{"kinds": kinds, **shell.defaults})
    parser.set_defaults(verb=verb, run=getattr(actions, "run", run))


def ask(arguments: argparse.Namespace, **more: Any) -> Any:
    """The result of the verb; `more`: values that take precedence over the arguments."""
    verb: Verb = arguments.verb
    names = [one.name for one in verb.parameters if not one.is_setting]
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    return verb.function(**(given | more))


def run(
    arguments: argparse.Namespace,
    then: Callable[[Any], int | None] = lambda _: None,
    asked: Callable[..., Any] = ask,
    **more: Any,
) -> int:
    """Asks, prints the result, and writes its files; the exit code.

    Files come last: a full disk must not cost the answer.

    Args:
        then: is called with the result in the end, and may return an exit code.
        asked: returns the result.
        more: see `ask`.
    """
    from syncoll.documents import require_writable

    verb: Verb = arguments.verb
    written = {one.name for one in verb.parameters}  # by the verb itself
    given = {name: getattr(arguments, name, None) for name in _FILES}
    to_stream = given["output"] == STANDARD_OUTPUT
    paths = {k: path for k, path in given.items() if path is not None and path != STANDARD_OUTPUT}
    if "table" in paths:
        from syncoll.documents.tables import table_format

        table_format(paths["table"])
    if "plot" in paths:
        from syncoll.planning import picture_format

        picture_format(paths["plot"])
    for name in paths.keys() - written:
        require_writable(paths[name])
    result = asked(arguments, **more)
    if to_stream:
        print_json(result.saved())
    elif isinstance(result, Mapping):
        print_json(result)
    elif arguments.format == "json":
        print_json(result.document(**picked(arguments, verb.shell.document)))
    else:
        print_page(result.page(**picked(arguments, verb.shell.page)))
    for name, path in paths.items():
        words, write = _FILES[name]
        if name not in written:
            write(result, path)
        note(f"{words} {path}")
    code = then(result) or getattr(result, "exit_code", None)
    if getattr(result, "interrupted", False):
        return Exit.INTERRUPTED
    return code or Exit.OK
