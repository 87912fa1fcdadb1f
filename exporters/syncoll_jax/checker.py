"""Checks modules for JAX."""

from __future__ import annotations

from functools import partial

from syncoll_jax.format import FORMAT
from syncoll_tables import TableChecker

__all__ = ["JaxChecker"]

JaxChecker = partial(TableChecker, FORMAT)
