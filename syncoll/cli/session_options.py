"""What a command line says about who answers: solvers, a pool of them, seeds, a store."""

from __future__ import annotations

import argparse
from dataclasses import fields

from syncoll.cli.arguments import count
from syncoll.session import Settings
from syncoll.session.settings import STORE_VARIABLE

__all__ = ["add_answers", "settings_of", "store_name"]


def store_name(text: str) -> str:
    """The name of a store, or ``none``."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty; write none for no store")
    return text


def add_answers(parser: argparse.ArgumentParser) -> None:
    """--store, --jobs and --executor."""
    group = parser.add_argument_group("answers")
    group.add_argument(
        "--store",
        type=store_name,
        metavar="FILE",
        help="where answers are kept as they come, so that a search that was stopped, or asked "
        "again, also under other node numbers, does not start anew; none: nowhere (default: "
        f"${STORE_VARIABLE}, else a file in your cache folder, see `syncoll store`)",
    )
    group.add_argument(
        "--seeds",
        metavar="NAMES",
        help="heuristics that the search starts from: auto, none, or names with commas between "
        "them, see `syncoll plugins`; as --backend NAME one is asked alone (default: auto)",
    )
    group.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="so many (S, R, C) at once, each with a solver of its own (default: 1)",
    )
    group.add_argument(
        "--executor",
        metavar="WHERE",
        help="where the solvers run: local, processes, or a Dask cluster as dask://HOST:PORT "
        "(default: local)",
    )


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What the options of `add_solver` and `add_answers` say, where the command has them.

    Raises:
        OptionError: on an option of a plugin that is not written as NAME=VALUE.
    """
    named = {field.name for field in fields(Settings)}
    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in named and value is not None
    }
    for name in ("encoding_option", "backend_option"):
        settings = getattr(arguments, name, None)
        if settings:
            from syncoll.plugins import parse_options

            given[f"{name}s"] = parse_options(settings)
    return Settings(**given)
