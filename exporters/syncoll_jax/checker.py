"""Checks modules for JAX."""

from syncoll_jax.format import FORMAT
from syncoll_tables import TableChecker

CHECKER = TableChecker(FORMAT)
