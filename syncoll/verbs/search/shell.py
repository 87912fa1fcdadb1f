"""The shell's part of searches in spec files."""

import argparse

from syncoll.verbs.pareto.shell import run_search


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    specs = arguments.session.specs
    return run_search(arguments, lambda: specs.search(arguments.what).backend)
