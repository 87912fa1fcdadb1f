"""Checking what a file claims: every proof, without any solver."""

from syncoll.checking.compare import compare
from syncoll.checking.frontier import Checked, Witness, check_frontier

__all__ = ["Checked", "Witness", "check_frontier", "compare"]
