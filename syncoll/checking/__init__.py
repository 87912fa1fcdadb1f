"""Checking what a file claims: every proof, without any solver."""

from syncoll.checking.compare import compare
from syncoll.checking.frontier import Checked, Witness, check_frontier
from syncoll.checking.refutation import FileWitness

__all__ = ["Checked", "FileWitness", "Witness", "check_frontier", "compare"]
