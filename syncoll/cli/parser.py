"""The argument parser: errors in two lines with a hint, in place of a page of usage."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from syncoll.cli.exits import Exit
from syncoll.cli.output import flush, note, write
from syncoll.wording import meant


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Has room for the longest name of a command in front of its summary."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # its names are indented once more
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """A parser of syncoll's command line.  Options cannot be abbreviated: a script that says
    ``--max`` would break on the next release."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _Formatter)
        super().__init__(**settings, allow_abbrev=False)
        # No option begins like a number: -1us is a value, and its own error refuses it.
        self._negative_number_matcher = re.compile(r"-[0-9.].*")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parses a whole command line; left over words are an error of the command.

        A command whose default `intermixed` names an argument takes words for it behind options,
        too, unlike other parsers of commands.  Without a command the help is shown, as by git, and
        the program ends.
        """
        parsed: argparse.Namespace
        rest: list[str]
        parsed, rest = self.parse_known_args(words)
        parsed.words = words
        command: argparse.ArgumentParser = getattr(parsed, "parser", self)
        if (intermixed := getattr(parsed, "intermixed", None)) is not None:
            more = [word for word in rest if not word.startswith("-")]
            rest = [word for word in rest if word.startswith("-")]
            taken = getattr(parsed, intermixed)
            if isinstance(taken, list):
                taken.extend(more)
            else:
                if taken is None and more:
                    setattr(parsed, intermixed, more.pop(0))
                rest += more
        if rest:
            command.error(
                _unknown(sorted(rest, key=lambda word: not word.startswith("-"))[0], command)
            )
        if getattr(parsed, "run", None) is None:  # a word is missing: `syncoll`, `syncoll spec`
            command.print_help()
            command.exit(int(Exit.BAD_INPUT))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        note(f"{self.prog}: {message}")
        note(f"see `{self.prog} --help`")
        sys.exit(int(Exit.BAD_INPUT))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends the program when help was printed."""
        if message:
            note(message.rstrip("\n"))
        flush()
        sys.exit(status)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(
            action,
            f"there is no {value!r}{meant(str(value), known)}; choose from {', '.join(known)}",
        )

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            write(sys.stderr if file is None else file, message)


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    if not argument.startswith("-"):
        return f"{argument!r} is one argument too many (a name with spaces needs quotes)"
    known = [option for action in parser._actions for option in action.option_strings]
    return f"there is no option {argument}{meant(argument.partition('=')[0], known)}"
