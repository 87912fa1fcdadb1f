"""Checks C files for MPI."""

from syncoll_mpi_c.format import FORMAT
from syncoll_tables import TableChecker

CHECKER = TableChecker(FORMAT)
