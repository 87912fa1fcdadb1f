"""Checking what a file claims: every proof, without any solver."""

from syncoll.checking.compare import compare
from syncoll.checking.exports import meant_instance, require_links
from syncoll.checking.frontier import Checked, Witness, check_frontier
from syncoll.checking.refutation import FileWitness
from syncoll.checking.unchecked import Unchecked

__all__ = [
    "Checked",
    "FileWitness",
    "Unchecked",
    "Witness",
    "check_frontier",
    "compare",
    "meant_instance",
    "require_links",
]
