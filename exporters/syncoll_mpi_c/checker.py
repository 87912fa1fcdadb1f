"""Checks C files for MPI."""

from __future__ import annotations

from functools import partial

from syncoll_mpi_c.format import FORMAT
from syncoll_tables import TableChecker

__all__ = ["MpiChecker"]

MpiChecker = partial(TableChecker, FORMAT)
